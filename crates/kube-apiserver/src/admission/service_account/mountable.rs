//! The secrets that an account lists: if it asks for it, its pods can use no others.

use std::collections::BTreeSet;

use kubewright_machinery::json::Read;
use serde_json::Value;

/// The annotation of accounts that ask for it.
const ENFORCE: &str = "kubernetes.io/enforce-mountable-secrets";

/// Returns whether the account limits its pods to the secrets that it lists.
pub(super) fn are_enforced(account: &Value) -> bool {
    let value = account["metadata"]["annotations"][ENFORCE].text();
    // The texts that Go takes for true.
    matches!(value, "1" | "t" | "T" | "TRUE" | "true" | "True")
}

/// Checks the secrets of volumes, environment variables and image pulls.
pub(super) fn check_pod(account: &Value, pod: &Value) -> Result<(), String> {
    let (name, spec) = (account["metadata"]["name"].text(), &pod["spec"]);
    let listed = names(&account["secrets"]);
    for volume in spec["volumes"].items() {
        let secret = &volume["secret"];
        if secret.is_set() && !listed.contains(secret["secretName"].text()) {
            let secret = secret["secretName"].text();
            return Err(format!(
                "volume with secret.secretName=\"{secret}\" is not allowed because service account {name} does not \
                 reference that secret"
            ));
        }
    }
    check_containers(account, &spec["initContainers"], "init container")?;
    check_containers(account, &spec["containers"], "container")?;
    let pull = names(&account["imagePullSecrets"]);
    for (i, reference) in spec["imagePullSecrets"].items().iter().enumerate() {
        let secret = reference["name"].text();
        if !pull.contains(secret) {
            return Err(format!(
                "imagePullSecrets[{i}].name=\"{secret}\" is not allowed because service account {name} does not reference \
                 that imagePullSecret"
            ));
        }
    }
    Ok(())
}

/// Checks the secrets of environment variables of ephemeral containers.
pub(super) fn check_ephemeral_containers(account: &Value, pod: &Value) -> Result<(), String> {
    let containers = &pod["spec"]["ephemeralContainers"];
    check_containers(account, containers, "ephemeral container")
}

fn check_containers(account: &Value, containers: &Value, what: &str) -> Result<(), String> {
    let account_name = account["metadata"]["name"].text();
    let listed = names(&account["secrets"]);
    let refusal = |container: &Value, source: String, secret: &str| {
        let container = container["name"].text();
        format!(
            "{what} {container} with {source} referencing secret.secretName=\"{secret}\" is not allowed because service \
             account {account_name} does not reference that secret"
        )
    };
    for container in containers.items() {
        for variable in container["env"].items() {
            let reference = &variable["valueFrom"]["secretKeyRef"];
            let secret = reference["name"].text();
            if reference.is_set() && !listed.contains(secret) {
                let source = format!("envVar {}", variable["name"].text());
                return Err(refusal(container, source, secret));
            }
        }
        for source in container["envFrom"].items() {
            let reference = &source["secretRef"];
            let secret = reference["name"].text();
            if reference.is_set() && !listed.contains(secret) {
                return Err(refusal(container, "envFrom".to_owned(), secret));
            }
        }
    }
    Ok(())
}

fn names(references: &Value) -> BTreeSet<&str> {
    let references = references.items().iter();
    references
        .map(|reference| reference["name"].text())
        .collect()
}
