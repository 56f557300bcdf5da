//! Generates the objects of kinds that the program serves itself: APIServices, their Service, network policy and permissions.
//!
//! | module | contents |
//! |---|---|
//! | `kustomize` | the files of the tree |

mod kustomize;

use kubewright_operator::Model;
use serde_json::{Value, json};

pub(super) use kustomize::{files, replacements, tree};

use super::{manager::pod_labels, naming::Naming, rbac};

/// The port of the server.
const PORT: u16 = 6443;
/// The name of the Service, without the prefix.
pub(super) const SERVICE: &str = "apiserver";
/// The role of the server.
const ROLE: &str = "apiserver-role";
/// The binding in `kube-system`, without the prefix.
const READER: &str = "apiserver-auth-reader";
/// The annotation with the namespace of an object that kustomize would move to that of the operator.
const NAMESPACE: &str = "kubewright.dev/namespace";

/// Returns the roles of the server, and their bindings: those of its own, and those to the roles by which every extension server
/// delegates authentication and authorization.
pub(super) fn roles(model: &Model, naming: &Naming) -> (Vec<Value>, Vec<Value>) {
    if !model.serves_aggregated_apis() {
        return (Vec::new(), Vec::new());
    }
    // kustomize does not know names in rules.
    let service = naming.installed_name(SERVICE);
    let rules = model.apiserver_rules(&naming.namespace, &service);
    let rules = rules.into_iter().map(|rule| rule.role(ROLE));
    let roles = rbac::cluster_wide_roles_of(&rules.collect::<Vec<_>>(), naming);
    let mut bindings = rbac::bindings(&roles, naming);
    bindings.push(json!({
        "apiVersion": rbac::API,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": naming.name("apiserver-auth-delegator"), "labels": naming.labels()},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "system:auth-delegator",
        },
        "subjects": [{
            "kind": "ServiceAccount",
            "name": naming.account(),
            "namespace": naming.namespace,
        }],
    }));
    bindings.push(json!({
        "apiVersion": rbac::API,
        "kind": "RoleBinding",
        "metadata": {
            "name": naming.name(READER),
            "namespace": "kube-system",
            "labels": naming.labels(),
            "annotations": {NAMESPACE: "kube-system"},
        },
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "Role",
            "name": "extension-apiserver-authentication-reader",
        },
        // kustomize does not know names in other namespaces.
        "subjects": [{
            "kind": "ServiceAccount",
            "name": naming.installed_account(),
            "namespace": naming.installed_namespace(),
        }],
    }));
    (roles, bindings)
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
            // A pod whose controllers watch its own kinds is not ready before the cluster serves them.
            "publishNotReadyAddresses": true,
            "selector": pod_labels(naming),
        },
    })
}

/// Returns the network policy that lets the cluster call the server. The API server is no pod, so its address is not known.
fn network_policy(naming: &Naming) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {
            "name": naming.name("allow-apiserver-traffic"),
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

/// Returns the APIServices. The program writes their `caBundle`.
fn api_services(model: &Model, naming: &Naming) -> Vec<Value> {
    let mut services = model.api_services(&naming.namespace, &naming.name(SERVICE));
    for service in &mut services {
        service["metadata"]["labels"] = naming.labels();
    }
    services
}

/// Lets the Deployment serve the kinds.
pub(super) fn serve(deployment: &mut Value, naming: &Naming) {
    let container = &mut deployment["spec"]["template"]["spec"]["containers"][0];
    if let Some(args) = container["args"].as_array_mut() {
        let service = naming.installed_name(SERVICE);
        args.push(json!(format!("--apiserver-service={service}")));
    }
    if let Some(ports) = container["ports"].as_array_mut() {
        ports.push(json!({"containerPort": PORT, "name": "apiserver", "protocol": "TCP"}));
    }
}

/// Returns the objects around the server of an installation, in an order that can be applied.
pub(super) fn objects(model: &Model, naming: &Naming) -> Vec<Value> {
    let mut objects = vec![service(naming), network_policy(naming)];
    objects.extend(api_services(model, naming));
    objects
}
