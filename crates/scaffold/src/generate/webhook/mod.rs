//! Generates the objects of webhooks: their configurations, as controller-gen writes them, the Service, and the network policy.
//!
//! | module | contents |
//! |---|---|
//! | `certificate` | the certificate of the server: the roles of an operator that keeps its own, or cert-manager's objects |
//! | `conversion` | the conversion of CRDs |
//! | `kustomize` | the files of the tree |

mod certificate;
mod conversion;
mod kustomize;

use kubewright_operator::{Model, WebhookModel, WebhookType};
use serde_json::{Value, json};

pub(super) use certificate::{SERVING_CERTS, annotations, certificate, roles};
pub(super) use conversion::{conversion, converts};
pub(super) use kustomize::{crd_patches, files, tree};

use super::{Settings, manager::pod_labels, model::text, naming::Naming};
use crate::project::WebhookCertificates;

/// The port of the webhook server.
const PORT: u16 = 9443;
/// The name of the Service, without the prefix.
pub(super) const SERVICE: &str = "webhook-service";

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

/// Returns the webhook configurations of an operator as they are in a cluster, for the project with a name. There is no
/// `caBundle`.
///
/// ```
/// use kubewright_operator::{Model, WebhookModel, WebhookType};
/// use kubewright_scaffold::generate::webhook_configurations;
/// use serde_json::json;
///
/// let mut model = Model::new("crew");
/// model.webhooks.push(WebhookModel {
///     type_: WebhookType::Validating,
///     path: "/validate--v1-pod".into(),
///     webhook: json!({"name": "vpod-v1.kb.io", "rules": [{"apiGroups": [""], "resources": ["pods"]}]}),
/// });
/// let configurations = webhook_configurations(&model, "crew");
/// let webhook = &configurations[0]["webhooks"][0];
/// assert_eq!(webhook["clientConfig"]["service"]["name"], "crew-webhook-service");
/// // Pods of the operator itself start while it is down.
/// assert_eq!(webhook["namespaceSelector"]["matchExpressions"][0]["values"], json!(["crew-system"]));
/// ```
pub fn webhook_configurations(model: &Model, project: &str) -> Vec<Value> {
    configurations(model, &Naming::whole(project, false))
}

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
            "name": naming.name(SERVICE),
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

/// Reports whether a webhook is called for objects that the operator needs itself, such as its pods.
///
/// ```
/// use kubewright_scaffold::generate::concerns_operator;
/// use serde_json::json;
///
/// assert!(concerns_operator(&json!({"rules": [{"apiGroups": [""], "resources": ["pods"]}]})));
/// assert!(!concerns_operator(&json!({"rules": [{"apiGroups": [""], "resources": ["nodes"]}]})));
/// ```
pub fn concerns_operator(webhook: &Value) -> bool {
    OWN.iter()
        .any(|(group, resource)| has_rule_for(webhook, group, resource, true))
}

/// Reports whether a webhook is called for a resource, with its subresource if there is one. `namespaced` is the scope of the
/// resource.
///
/// ```
/// use kubewright_scaffold::generate::has_rule_for;
/// use serde_json::json;
///
/// // As in a cluster, all subresources of pods include the pods themselves.
/// let webhook = json!({"rules": [{"apiGroups": [""], "resources": ["pods/*"], "scope": "Namespaced"}]});
/// assert!(has_rule_for(&webhook, "", "pods", true));
/// assert!(has_rule_for(&webhook, "", "pods/status", true));
/// assert!(!has_rule_for(&webhook, "", "nodes", false));
/// ```
pub fn has_rule_for(webhook: &Value, group: &str, resource: &str, namespaced: bool) -> bool {
    let other_scope = if namespaced { "Cluster" } else { "Namespaced" };
    let rules = webhook["rules"].as_array().into_iter().flatten();
    let items = |rule: &Value, list: &str, covers: &dyn Fn(&str) -> bool| {
        let items = rule[list].as_array().into_iter().flatten();
        items.map(text).any(covers)
    };
    let mut rules = rules.filter(|rule| rule["scope"] != other_scope);
    rules.any(|rule| {
        items(rule, "apiGroups", &|item| item == "*" || item == group)
            && items(rule, "resources", &|item| covers(item, resource))
    })
}

/// Reports whether an item of a rule matches a resource: each of its parts is equal, or `*`. `*` alone matches no subresource.
fn covers(item: &str, resource: &str) -> bool {
    let (any, any_subresource) = item.split_once('/').unwrap_or((item, ""));
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let matches = |item: &str, part: &str| item == "*" || item == part;
    matches(any, resource) && matches(any_subresource, subresource)
}

/// Returns the Service that the cluster calls.
pub(super) fn service(naming: &Naming) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": naming.name(SERVICE),
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

/// Lets the Deployment of the operator serve webhooks.
pub(super) fn serve(deployment: &mut Value, settings: &Settings, naming: &Naming) {
    let spec = &mut deployment["spec"]["template"]["spec"];
    let argument = match settings.webhook_certificates {
        WebhookCertificates::Operator => {
            format!("--webhook-service={}", naming.installed_name(SERVICE))
        }
        WebhookCertificates::CertManager | WebhookCertificates::Files => {
            let secret = certificate::secret(naming);
            spec["volumes"] = json!([{"name": "webhook-certs", "secret": {"secretName": secret}}]);
            spec["containers"][0]["volumeMounts"] =
                json!([{"mountPath": SERVING_CERTS, "name": "webhook-certs", "readOnly": true}]);
            format!("--webhook-cert-path={SERVING_CERTS}")
        }
    };
    let container = &mut spec["containers"][0];
    if let Some(args) = container["args"].as_array_mut() {
        args.push(json!(argument));
    }
    if let Some(ports) = container["ports"].as_array_mut() {
        let port = json!({"containerPort": PORT, "name": "webhook-server", "protocol": "TCP"});
        ports.push(port);
    }
}

/// Returns the objects around the webhooks of an installation, in an order that can be applied.
pub(super) fn objects(model: &Model, settings: &Settings, naming: &Naming) -> Vec<Value> {
    let mut objects = vec![service(naming), network_policy(naming)];
    objects.extend(certificate(settings, naming));
    // Last, so that nothing of the above waits for webhooks that are not there yet.
    let configurations = configurations(model, naming).into_iter();
    objects.extend(configurations.map(|mut configuration| {
        if let Some(annotations) = annotations(settings, naming) {
            configuration["metadata"]["annotations"] = annotations;
        }
        configuration
    }));
    objects
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
            (&[""], &["pods/*"]),
        ] {
            assert!(concerns_operator(&rules(groups, resources)));
        }
        for (groups, resources) in [
            (&["crew.example.com"][..], &["*"][..]),
            (&[""], &["nodes"]),
            (&["apps"], &["statefulsets"]),
            (&[""], &["pods/exec"]),
            (&[""], &["*/status"]),
        ] {
            assert!(!concerns_operator(&rules(groups, resources)));
        }
        let mut cluster = rules(&["*"], &["*"]);
        cluster["rules"][0]["scope"] = json!("Cluster");
        assert!(!concerns_operator(&cluster));
    }
}
