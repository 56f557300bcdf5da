//! Generates the objects of admission webhooks: their configurations, as controller-gen writes them, the Service, the network
//! policy, and the certificate, which cert-manager issues.

use kubewright_operator::{Model, WebhookModel, WebhookType};
use serde_json::{Value, json};

use super::{manager::pod_labels, model::text, naming::Naming};

/// The port of the webhook server.
const PORT: u16 = 9443;
/// The directory with the certificate of the server.
const CERTIFICATES: &str = "/tmp/k8s-webhook-server/serving-certs";

/// The resources that an operator needs to start and to serve its webhooks: its own pods, and what they mount and write. A
/// webhook for them must not apply in the namespace of the operator, or an operator that is down could never come up.
const OWN: [(&str, &str); 10] = [
    ("", "pods"),
    ("", "secrets"),
    ("", "configmaps"),
    ("", "serviceaccounts"),
    ("", "services"),
    ("", "events"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("coordination.k8s.io", "leases"),
    ("discovery.k8s.io", "endpointslices"),
];

/// Returns the configurations of the webhooks: one for each type that there is.
pub(super) fn configurations(model: &Model, naming: &Naming) -> Vec<Value> {
    let types = [
        (WebhookType::Mutating, "Mutating", "mutating"),
        (WebhookType::Validating, "Validating", "validating"),
    ];
    types
        .into_iter()
        .filter_map(|(type_, kind, name)| {
            let webhooks = model.webhooks.iter().filter(|it| it.type_ == type_);
            let mut entries: Vec<Value> = webhooks.map(|it| entry(it, naming)).collect();
            entries.sort_by(|a, b| text(&a["name"]).cmp(text(&b["name"])));
            (!entries.is_empty()).then(|| {
                json!({
                    "apiVersion": "admissionregistration.k8s.io/v1",
                    "kind": format!("{kind}WebhookConfiguration"),
                    "metadata": {"name": naming.name(&format!("{name}-webhook-configuration"))},
                    "webhooks": entries,
                })
            })
        })
        .collect()
}

/// Returns the entry of a webhook, with the Service that reaches it.
fn entry(webhook: &WebhookModel, naming: &Naming) -> Value {
    let mut entry = webhook.webhook.clone();
    entry["clientConfig"] = json!({
        "service": {
            "name": naming.name("webhook-service"),
            "namespace": naming.namespace,
            "path": webhook.path,
        },
    });
    if entry["namespaceSelector"].is_null() && concerns_operator(&entry) {
        entry["namespaceSelector"] = json!({
            "matchExpressions": [{
                "key": "kubernetes.io/metadata.name",
                "operator": "NotIn",
                "values": [naming.installed_namespace()],
            }],
        });
    }
    entry
}

/// Reports whether a webhook is called for objects that the operator needs itself.
pub(super) fn concerns_operator(webhook: &Value) -> bool {
    let rules = webhook["rules"].as_array().into_iter().flatten();
    let mut rules = rules.filter(|rule| rule["scope"] != "Cluster");
    let lists = |rule: &Value, list: &str, name: &str| {
        let items = rule[list].as_array().into_iter().flatten();
        let mut items = items.map(text);
        items.any(|item| item == "*" || item == "*/*" || item == name)
    };
    rules.any(|rule| {
        OWN.iter().any(|(group, resource)| {
            lists(rule, "apiGroups", group) && lists(rule, "resources", resource)
        })
    })
}

/// Returns the Service that the cluster calls.
pub(super) fn service(naming: &Naming) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": naming.name("webhook-service"),
            "namespace": naming.namespace,
            "labels": naming.labels(),
        },
        "spec": {
            "ports": [{"port": 443, "protocol": "TCP", "targetPort": PORT}],
            "selector": pod_labels(naming),
        },
    })
}

/// Returns the network policy that lets the cluster call the webhooks. The API server is no pod, so its address is not known.
pub(super) fn network_policy(naming: &Naming) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {
            "name": naming.name("allow-webhook-traffic"),
            "namespace": naming.namespace,
            "labels": naming.labels(),
        },
        "spec": {
            "podSelector": {"matchLabels": pod_labels(naming)},
            "policyTypes": ["Ingress"],
            "ingress": [{"ports": [{"port": PORT, "protocol": "TCP"}]}],
        },
    })
}

/// Returns the issuer and the certificate of the server, for cert-manager.
pub(super) fn certificate(naming: &Naming) -> [Value; 2] {
    let metadata = |name: &str| {
        json!({
            "name": naming.name(name),
            "namespace": naming.namespace,
            "labels": naming.labels(),
        })
    };
    let host = format!(
        "{}.{}.svc",
        naming.installed_name("webhook-service"),
        naming.installed_namespace()
    );
    [
        json!({
            "apiVersion": "cert-manager.io/v1",
            "kind": "Issuer",
            "metadata": metadata("selfsigned-issuer"),
            "spec": {"selfSigned": {}},
        }),
        json!({
            "apiVersion": "cert-manager.io/v1",
            "kind": "Certificate",
            "metadata": metadata("serving-cert"),
            "spec": {
                "dnsNames": [host, format!("{host}.cluster.local")],
                "issuerRef": {"kind": "Issuer", "name": naming.installed_name("selfsigned-issuer")},
                "secretName": secret(naming),
            },
        }),
    ]
}

/// Returns the annotation by which cert-manager puts its authority into a configuration.
pub(super) fn injection(naming: &Naming) -> Value {
    let (namespace, name) = (
        naming.installed_namespace(),
        naming.installed_name("serving-cert"),
    );
    json!({"cert-manager.io/inject-ca-from": format!("{namespace}/{name}")})
}

/// Lets the Deployment of the operator serve webhooks.
pub(super) fn serve(deployment: &mut Value, naming: &Naming) {
    let spec = &mut deployment["spec"]["template"]["spec"];
    spec["volumes"] = json!([{"name": "webhook-certs", "secret": {"secretName": secret(naming)}}]);
    let container = &mut spec["containers"][0];
    container["volumeMounts"] =
        json!([{"mountPath": CERTIFICATES, "name": "webhook-certs", "readOnly": true}]);
    if let Some(args) = container["args"].as_array_mut() {
        args.push(json!(format!("--webhook-cert-path={CERTIFICATES}")));
    }
    if let Some(ports) = container["ports"].as_array_mut() {
        let port = json!({"containerPort": PORT, "name": "webhook-server", "protocol": "TCP"});
        ports.push(port);
    }
}

fn secret(naming: &Naming) -> String {
    naming.installed_name("webhook-server-cert")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(groups: &[&str], resources: &[&str]) -> Value {
        json!({"rules": [{"apiGroups": groups, "resources": resources}]})
    }

    #[test]
    fn webhooks_for_what_an_operator_needs_concern_it() {
        for (groups, resources) in [
            (&[""][..], &["pods"][..]),
            (&["*"], &["*"]),
            (&["apps"], &["*/*"]),
            (&["", "crew.example.com"], &["secrets"]),
        ] {
            assert!(concerns_operator(&rules(groups, resources)));
        }
        for (groups, resources) in [
            (&["crew.example.com"][..], &["*"][..]),
            (&[""], &["nodes"]),
            (&["apps"], &["statefulsets"]),
            (&[""], &["pods/exec"]),
        ] {
            assert!(!concerns_operator(&rules(groups, resources)));
        }
        let mut cluster = rules(&["*"], &["*"]);
        cluster["rules"][0]["scope"] = json!("Cluster");
        assert!(!concerns_operator(&cluster));
    }
}
