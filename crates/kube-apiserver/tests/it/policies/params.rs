//! Parameters of policies, and who may refer to them.

use serde_json::{Value, json};

use super::{ADMIN, CONFIG_MAPS, GROUP, constraints};
use crate::rbac::{Answer, Server, rule, user};

const SECRETS: &str = "/api/v1/namespaces/default/secrets";

async fn policy(server: &Server, kind: Value) {
    let policy = json!({"metadata": {"name": "p"}, "spec": {
        "paramKind": kind,
        "matchConstraints": constraints("secrets"),
        "validations": [{
            "expression": "params == null || object.metadata.name.startsWith(params.data.prefix)",
            "messageExpression": "params.metadata.name + ' wants ' + params.data.prefix",
        }],
    }});
    server
        .admin(&format!("POST {GROUP}/validatingadmissionpolicies"), policy)
        .await;
}

async fn bind(server: &Server, name: &str, reference: Value) {
    let binding = json!({"metadata": {"name": name}, "spec": {
        "policyName": "p", "validationActions": ["Deny"], "paramRef": reference,
    }});
    server
        .admin(
            &format!("POST {GROUP}/validatingadmissionpolicybindings"),
            binding,
        )
        .await;
}

async fn secret(server: &Server, name: &str) -> Answer {
    let object = json!({"metadata": {"name": name}});
    server.ask(ADMIN, &format!("POST {SECRETS}"), object).await
}

fn config_map(name: &str, prefix: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"use": "rule"}}, "data": {"prefix": prefix}})
}

#[tokio::test]
async fn a_parameter_is_found_by_name() {
    let server = Server::start().await;
    policy(&server, json!({"apiVersion": "v1", "kind": "ConfigMap"})).await;
    bind(
        &server,
        "b",
        json!({"name": "rules", "parameterNotFoundAction": "Deny"}),
    )
    .await;
    let denied = secret(&server, "x").await;
    assert!(
        denied.message().ends_with("'p' with binding 'b' denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"),
        "{}",
        denied.text
    );
    server
        .admin(&format!("POST {CONFIG_MAPS}"), config_map("rules", "a-"))
        .await;
    let denied = secret(&server, "x").await;
    assert!(
        denied.message().ends_with("rules wants a-"),
        "{}",
        denied.text
    );
    assert_eq!(secret(&server, "a-x").await.code, 201);
    let change = json!({"data": {"prefix": "b-"}});
    server
        .admin(&format!("PATCH {CONFIG_MAPS}/rules"), change)
        .await;
    assert_eq!(secret(&server, "b-x").await.code, 201);
}

#[tokio::test]
async fn every_selected_parameter_is_evaluated() {
    let server = Server::start().await;
    policy(&server, json!({"apiVersion": "v1", "kind": "ConfigMap"})).await;
    let selector =
        json!({"selector": {"matchLabels": {"use": "rule"}}, "parameterNotFoundAction": "Allow"});
    bind(&server, "b", selector).await;
    assert_eq!(secret(&server, "x").await.code, 201);
    for (name, prefix) in [("one", "a"), ("two", "ab")] {
        server
            .admin(&format!("POST {CONFIG_MAPS}"), config_map(name, prefix))
            .await;
    }
    let denied = secret(&server, "ac").await;
    assert!(
        denied.message().ends_with("two wants ab"),
        "{}",
        denied.text
    );
    assert_eq!(secret(&server, "abc").await.code, 201);
}

#[tokio::test]
async fn parameters_can_be_custom_objects() {
    let server = Server::start().await;
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let crd = json!({"metadata": {"name": "rules.example.com"}, "spec": {
        "group": "example.com", "scope": "Cluster",
        "names": {"plural": "rules", "kind": "Rule"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
    }});
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    server.admin(&format!("POST {crds}"), crd).await;
    let object = json!({"apiVersion": "example.com/v1", "kind": "Rule", "metadata": {"name": "r"}, "data": {"prefix": "z"}});
    server
        .admin("POST /apis/example.com/v1/rules", object)
        .await;
    policy(
        &server,
        json!({"apiVersion": "example.com/v1", "kind": "Rule"}),
    )
    .await;
    bind(
        &server,
        "b",
        json!({"name": "r", "parameterNotFoundAction": "Deny"}),
    )
    .await;
    assert!(secret(&server, "x").await.message().ends_with("r wants z"));
    server
        .admin(&format!("DELETE {crds}/rules.example.com"), Value::Null)
        .await;
    let gone = || async {
        server
            .ask(ADMIN, &format!("GET {crds}/rules.example.com"), Value::Null)
            .await
            .code
    };
    while gone().await != 404 {
        tokio::task::yield_now().await;
    }
    let denied = secret(&server, "x").await;
    assert!(
        denied.message().ends_with("ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Rule'"),
        "{}",
        denied.text
    );
}

#[tokio::test]
async fn references_to_parameters_need_permission_to_read_them() {
    let server = Server::start().await;
    let write = json!([rule(&["*"], "admissionregistration.k8s.io", &["*"])]);
    server.grant("", "writer", write, user("alice")).await;
    let policy = json!({"metadata": {"name": "p"}, "spec": {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": constraints("secrets"),
        "validations": [{"expression": "true"}],
    }});
    let policies = format!("POST {GROUP}/validatingadmissionpolicies");
    let denied = server.ask("alice", &policies, policy.clone()).await;
    assert_eq!(denied.code, 422);
    assert_eq!(
        denied.message(),
        "ValidatingAdmissionPolicy.admissionregistration.k8s.io \"p\" is invalid: spec.paramKind: Forbidden: user &{alice  [system:authenticated] map[]} must have \"get\" permission on all objects of the referenced paramKind (kind=ConfigMap, apiVersion=v1)"
    );
    server.admin(&policies, policy.clone()).await;
    let binding = json!({"metadata": {"name": "b"}, "spec": {
        "policyName": "p", "validationActions": ["Deny"],
        "paramRef": {"name": "x", "parameterNotFoundAction": "Deny"},
    }});
    let bindings = format!("POST {GROUP}/validatingadmissionpolicybindings");
    let denied = server.ask("alice", &bindings, binding.clone()).await;
    assert!(
        denied.message().ends_with("spec.paramRef: Forbidden: user &{alice  [system:authenticated] map[]} does not have \"get\" permission on the object referenced by paramRef"),
        "{}",
        denied.text
    );
    let read = json!([rule(&["get"], "", &["configmaps"])]);
    server.grant("", "reader", read, user("alice")).await;
    assert_eq!(server.ask("alice", &bindings, binding).await.code, 201);
}
