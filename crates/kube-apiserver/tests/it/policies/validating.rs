//! Validating policies: denials, warnings, audit annotations, the variables of expressions.

use std::sync::Arc;

use kubewright_apiserver::audit::{Level, Policy, Ring};
use kubewright_kube_apiserver::{AuthorizationMode, KubeApiServer};
use serde_json::{Value, json};

use super::{ADMIN, CONFIG_MAPS, GROUP, constraints, create, validating};
use crate::rbac::{Server, rule, user};

#[tokio::test]
async fn a_validation_denies_at_once_and_until_the_binding_is_gone() {
    let server = Server::start().await;
    let spec = json!({"validations": [{"expression": "object.data.a == 'ok'"}]});
    validating(&server, "guard", spec).await;
    let denied = create(&server, "x", json!({"a": "no"})).await;
    assert_eq!(denied.code, 422);
    let message = "ValidatingAdmissionPolicy 'guard' with binding 'guard' denied request: failed expression: object.data.a == 'ok'";
    let status = denied.json();
    assert_eq!(
        status["message"],
        format!("configmaps \"x\" is forbidden: {message}")
    );
    assert_eq!(status["reason"], "Invalid");
    assert_eq!(
        status["details"],
        json!({"name": "x", "kind": "configmaps", "causes": [{"message": message}]})
    );
    assert_eq!(create(&server, "x", json!({"a": "ok"})).await.code, 201);
    let failed = create(&server, "y", json!({})).await;
    assert!(
        failed.message().ends_with("denied request: expression 'object.data.a == 'ok'' resulted in error: no such key: data"),
        "{}",
        failed.text
    );
    server
        .admin(
            &format!("DELETE {GROUP}/validatingadmissionpolicybindings/guard"),
            Value::Null,
        )
        .await;
    assert_eq!(create(&server, "y", json!({"a": "no"})).await.code, 201);
}

#[tokio::test]
async fn updates_and_deletes_have_the_stored_object() {
    let server = Server::start().await;
    let spec = json!({"validations": [
        {"expression": "oldObject == null || object == null || oldObject.data == object.data", "message": "data is final"},
        {"expression": "object != null || oldObject.metadata.name != 'kept'", "message": "it stays", "reason": "Forbidden"},
    ]});
    validating(&server, "final", spec).await;
    assert_eq!(create(&server, "kept", json!({"a": "b"})).await.code, 201);
    let one = format!("{CONFIG_MAPS}/kept");
    let change = json!({"data": {"a": "c"}});
    let changed = server.ask(ADMIN, &format!("PATCH {one}"), change).await;
    assert_eq!(
        (changed.code, changed.message().contains("data is final")),
        (422, true)
    );
    let labels = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(
        server
            .ask(ADMIN, &format!("PATCH {one}"), labels)
            .await
            .code,
        200
    );
    let deleted = server
        .ask(ADMIN, &format!("DELETE {one}"), Value::Null)
        .await;
    assert_eq!(
        (deleted.code, deleted.message().contains("it stays")),
        (403, true)
    );
    assert_eq!(deleted.json()["reason"], "Forbidden");
}

#[tokio::test]
async fn policies_are_evaluated_in_the_order_of_their_names() {
    let server = Server::start().await;
    for name in ["b", "a", "c"] {
        let spec = json!({"validations": [{"expression": "false", "message": name}]});
        validating(&server, name, spec).await;
    }
    let denied = create(&server, "x", json!({})).await;
    assert!(
        denied
            .message()
            .contains("'a' with binding 'a' denied request: a"),
        "{}",
        denied.text
    );
}

#[tokio::test]
async fn warnings_and_audit_annotations() {
    let users = KubeApiServer::builder().authorization([AuthorizationMode::AlwaysAllow]);
    let ring = Ring::new(100);
    let policy = Policy::everything(Level::Metadata);
    let server = Server::of(users.audit(policy, Arc::new(ring.clone()))).await;
    let spec = json!({
        "matchConstraints": constraints("configmaps"),
        "validations": [{"expression": "true"}, {"expression": "false", "message": "m"}],
        "auditAnnotations": [
            {"key": "name", "valueExpression": "' ' + object.metadata.name"},
            {"key": "none", "valueExpression": "null"},
        ],
    });
    let policy = json!({"metadata": {"name": "watching"}, "spec": spec});
    server
        .admin(&format!("POST {GROUP}/validatingadmissionpolicies"), policy)
        .await;
    let binding = json!({
        "metadata": {"name": "b"},
        "spec": {"policyName": "watching", "validationActions": ["Warn", "Audit"]},
    });
    server
        .admin(
            &format!("POST {GROUP}/validatingadmissionpolicybindings"),
            binding,
        )
        .await;
    ring.clear();
    let created = create(&server, "x", json!({})).await;
    assert_eq!(created.code, 201, "{}", created.text);
    let warning = created.headers.get("warning").unwrap().to_str().unwrap();
    assert_eq!(
        warning,
        "299 - \"Validation failed for ValidatingAdmissionPolicy 'watching' with binding 'b': m\""
    );
    let events = ring.events();
    let event = serde_json::to_value(&**events.last().unwrap()).unwrap();
    let annotations = &event["annotations"];
    assert_eq!(annotations["watching/name"], "x");
    assert!(annotations.get("watching/none").is_none());
    assert_eq!(
        annotations["validation.policy.admission.k8s.io/validation_failure"],
        r#"[{"message":"m","policy":"watching","binding":"b","expressionIndex":1,"validationActions":["Warn","Audit"]}]"#
    );
}

#[tokio::test]
async fn the_authorizer_decides_by_roles() {
    let server = Server::start().await;
    let all = json!([rule(&["*"], "", &["configmaps"])]);
    server.grant("default", "editor", all, user("alice")).await;
    let spec = json!({"validations": [{
        "expression": "authorizer.group('').resource('secrets').namespace(request.namespace).check('get').allowed()",
        "message": "needs access to secrets",
    }]});
    validating(&server, "secrets", spec).await;
    let request = format!("POST {CONFIG_MAPS}");
    let object = json!({"metadata": {"name": "x"}});
    let denied = server.ask("alice", &request, object.clone()).await;
    assert!(
        denied.message().contains("needs access to secrets"),
        "{}",
        denied.text
    );
    let secrets = json!([rule(&["get"], "", &["secrets"])]);
    server
        .grant("default", "reader", secrets, user("alice"))
        .await;
    assert_eq!(server.ask("alice", &request, object).await.code, 201);
}

#[tokio::test]
async fn expressions_see_the_request_and_the_namespace() {
    let server = Server::start().await;
    let spec = json!({
        "variables": [{"name": "who", "expression": "request.userInfo.username"}],
        "validations": [{
            "expression": "false",
            "messageExpression": "[variables.who, request.operation, request.name, request.namespace, namespaceObject.metadata.name, namespaceObject.status.phase].join(' ')",
        }],
    });
    validating(&server, "shown", spec).await;
    let denied = create(&server, "x", json!({})).await;
    assert!(
        denied
            .message()
            .ends_with("denied request: root CREATE x default default Active"),
        "{}",
        denied.text
    );
}

#[tokio::test]
async fn equivalent_resources_are_converted() {
    let server = Server::start().await;
    let spec = json!({
        "matchConstraints": {"resourceRules": [{
            "apiGroups": ["autoscaling"], "apiVersions": ["v1"], "operations": ["*"],
            "resources": ["horizontalpodautoscalers"],
        }]},
        // Conditions see the resource that the client named.
        "matchConditions": [{
            "name": "resource",
            "expression": "request.resource.version == 'v2' && request.kind.version == 'v1' && object.apiVersion == 'autoscaling/v1'",
        }],
        "validations": [{
            "expression": "object.spec.targetCPUUtilizationPercentage < 50 || request.resource.version != 'v1'",
            "messageExpression": "object.apiVersion + ' ' + request.kind.version + ' ' + request.requestKind.version",
        }],
    });
    validating(&server, "cpu", spec).await;
    let metric = json!([{"type": "Resource", "resource": {
        "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80},
    }}]);
    let scaler = json!({"metadata": {"name": "h"}, "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 3, "metrics": metric,
    }});
    let request = "POST /apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
    let denied = server.ask(ADMIN, request, scaler).await;
    assert!(
        denied
            .message()
            .ends_with("denied request: autoscaling/v1 v1 v2"),
        "{}",
        denied.text
    );
}

#[tokio::test]
async fn plugins_can_be_switched_off() {
    let builder = KubeApiServer::builder()
        .authorization([AuthorizationMode::Rbac])
        .disable_admission_plugins(["ValidatingAdmissionPolicy".parse().unwrap()]);
    let server = Server::of(builder).await;
    validating(
        &server,
        "off",
        json!({"validations": [{"expression": "false"}]}),
    )
    .await;
    assert_eq!(create(&server, "x", json!({})).await.code, 201);
}

#[tokio::test]
async fn a_repeated_apply_is_evaluated_again() {
    let server = Server::start().await;
    let request = format!("APPLY {CONFIG_MAPS}/x?fieldManager=me");
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "b"}});
    for _ in 0..3 {
        server.admin(&request, object.clone()).await;
    }
    validating(
        &server,
        "no",
        json!({"validations": [{"expression": "false"}]}),
    )
    .await;
    assert_eq!(server.ask(ADMIN, &request, object).await.code, 422);
}

#[tokio::test]
async fn a_connect_has_its_options_as_the_object() {
    let server = Server::start().await;
    let pods = "/api/v1/namespaces/default/pods";
    let accounts = "POST /api/v1/namespaces/default/serviceaccounts";
    let account = json!({"metadata": {"name": "default"}});
    server.admin(accounts, account).await;
    let pod =
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    server.admin(&format!("POST {pods}"), pod).await;
    let spec = json!({
        "matchConstraints": constraints("pods/exec"),
        "validations": [
            {"expression": "object.kind == 'PodExecOptions' && oldObject == null && request.options == null"},
            {"expression": "request.operation == 'CONNECT' && request.kind.kind == 'PodExecOptions'"},
            {
                "expression": "!('rm' in object.command)",
                "messageExpression": "object.container + ' must keep its files'",
            },
        ],
    });
    validating(&server, "exec", spec).await;
    let exec =
        |command: &str| format!("POST {pods}/p/exec?command={command}&container=c&stdout=true");
    let denied = server.ask(ADMIN, &exec("rm"), Value::Null).await;
    assert_eq!(denied.code, 422, "{}", denied.text);
    assert!(
        denied
            .message()
            .ends_with("denied request: c must keep its files"),
        "{}",
        denied.text
    );
    // It is admitted, and fails because it is not upgraded.
    let admitted = server.ask(ADMIN, &exec("ls"), Value::Null).await;
    assert_eq!(admitted.code, 400, "{}", admitted.text);
}
