//! Generates the ServiceAccount of the operator and its role bindings.

use serde_json::{Value, json};

use super::{
    super::{model::text, naming::Naming},
    API,
};

/// Returns the ServiceAccount of the operator.
pub(in super::super) fn service_account(naming: &Naming) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {
            "name": naming.account(),
            "namespace": naming.namespace,
            "labels": naming.labels(),
        },
    })
}

/// Returns a binding of the ServiceAccount for each role.
pub(in super::super) fn bindings(roles: &[Value], naming: &Naming) -> Vec<Value> {
    roles.iter().map(|role| binding(role, naming)).collect()
}

fn binding(role: &Value, naming: &Naming) -> Value {
    let (kind, role_name) = (text(&role["kind"]), text(&role["metadata"]["name"]));
    let mut metadata = json!({"name": format!("{role_name}binding"), "labels": naming.labels()});
    if let Some(namespace) = role["metadata"].get("namespace") {
        metadata["namespace"] = namespace.clone();
    }
    json!({
        "apiVersion": API,
        "kind": format!("{kind}Binding"),
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role_name},
        "subjects": [{
            "kind": "ServiceAccount",
            "name": naming.account(),
            "namespace": naming.namespace,
        }],
    })
}
