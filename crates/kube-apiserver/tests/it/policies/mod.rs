//! Admission policies. A policy takes effect with the write that makes it, so no test waits.

mod bad_input;
mod metrics;
mod mutating;
mod params;
mod validating;

use serde_json::{Value, json};

use crate::rbac::{Answer, Server};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const ADMIN: &str = "root system:masters";

/// Returns constraints that select requests for one resource of the core group.
fn constraints(resource: &str) -> Value {
    json!({"resourceRules": [{
        "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": [resource],
    }]})
}

/// Creates a validating policy for config maps, and a binding of the same name that denies.
async fn validating(server: &Server, name: &str, mut spec: Value) {
    spec["matchConstraints"] = match spec["matchConstraints"].take() {
        Value::Null => constraints("configmaps"),
        given => given,
    };
    let policy = json!({"metadata": {"name": name}, "spec": spec});
    server
        .admin(&format!("POST {GROUP}/validatingadmissionpolicies"), policy)
        .await;
    let binding = json!({
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    });
    server
        .admin(
            &format!("POST {GROUP}/validatingadmissionpolicybindings"),
            binding,
        )
        .await;
}

/// Creates a config map as an administrator.
async fn create(server: &Server, name: &str, data: Value) -> Answer {
    let object = json!({"metadata": {"name": name}, "data": data});
    server
        .ask(ADMIN, &format!("POST {CONFIG_MAPS}"), object)
        .await
}
