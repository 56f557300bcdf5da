//! The volume with a token, the certificate authority and the namespace, for clients inside of a pod.

use kubewright_machinery::{generate_name::generate_name, json::Read, json::Write};
use serde_json::{Value, json};

use crate::admission::fields::push;

/// The directory in which clients look for their token.
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// The start of the volume's name.
const PREFIX: &str = "kube-api-access-";
/// The lifetime of the token. API servers know it, and extend the lifetime of tokens that ask for it.
const EXPIRATION_SECONDS: u64 = 3607;
/// Readable by all users.
const MODE: u64 = 0o644;

/// Mounts the volume into every container that mounts nothing at its path, and adds the volume if one needs it.
pub(super) fn mount(pod: &mut Value) {
    let volumes = pod["spec"]["volumes"].items().iter();
    let existing = volumes
        .map(|volume| volume["name"].text())
        .find(|name| name.starts_with(PREFIX))
        .map(str::to_owned);
    let exists = existing.is_some();
    let name =
        existing.unwrap_or_else(|| generate_name(PREFIX, |count| rand::random_range(0..count)));
    let mut needed = false;
    pod.with("spec", |spec| {
        for list in ["initContainers", "containers"] {
            spec.each(list, |container| needed |= mount_into(container, &name));
        }
    });
    if needed && !exists {
        push(pod, &["spec", "volumes"], volume(&name));
    }
}

/// Adds the mount, and returns whether it was missing.
fn mount_into(container: &mut Value, volume: &str) -> bool {
    let mounts = container["volumeMounts"].items();
    if mounts.iter().any(|mount| mount["mountPath"] == MOUNT_PATH) {
        return false;
    }
    let mount = json!({"name": volume, "readOnly": true, "mountPath": MOUNT_PATH});
    push(container, &["volumeMounts"], mount);
    true
}

fn volume(name: &str) -> Value {
    json!({
        "name": name,
        "projected": {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": EXPIRATION_SECONDS, "path": "token"}},
                {"configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }},
                {"downwardAPI": {"items": [{
                    "path": "namespace",
                    "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                }]}},
            ],
            "defaultMode": MODE,
        },
    })
}
