//! Policies that cannot be evaluated, and the failure policy.

use serde_json::{Value, json};

use super::{ADMIN, GROUP, constraints, create, validating};
use crate::rbac::Server;

#[tokio::test]
async fn errors_are_ignored_if_the_policy_says_so() {
    let server = Server::start().await;
    let spec = json!({"failurePolicy": "Ignore", "validations": [
        {"expression": "object.data.missing == 'x'"},
        {"expression": "object.metadata.name != 'denied'"},
    ]});
    validating(&server, "lenient", spec).await;
    assert_eq!(create(&server, "x", json!({})).await.code, 201);
    assert_eq!(create(&server, "denied", json!({})).await.code, 422);
}

#[tokio::test]
async fn expressions_run_out_of_budget() {
    let server = Server::start().await;
    let loops = "variables.l.all(a, variables.l.all(b, variables.l.all(c, variables.l.all(d, variables.l.all(e, a + b + c + d + e > 0 || true)))))";
    let mut validations = vec![json!({"expression": loops}); 20];
    let spec = |validations: &Value| {
        json!({
            "variables": [{"name": "l", "expression": "[1,2,3,4,5,6,7,8,9]"}],
            "validations": validations,
        })
    };
    validating(&server, "all", spec(&json!(validations))).await;
    let denied = create(&server, "x", json!({})).await;
    assert!(
        denied.message().ends_with("denied request: validation failed due to running out of cost budget, no further validation rules will be run"),
        "{}",
        denied.text
    );
    validations.truncate(1);
    validations[0]["expression"] = json!(format!("variables.l.all(x, {loops})"));
    server
        .admin(
            &format!("PATCH {GROUP}/validatingadmissionpolicies/all"),
            json!({"spec": {"validations": validations}}),
        )
        .await;
    let denied = create(&server, "x", json!({})).await;
    assert!(
        denied
            .message()
            .ends_with("resulted in error: operation cancelled: actual cost limit exceeded"),
        "{}",
        denied.text
    );
}

#[tokio::test]
async fn broken_variables_matter_only_if_they_are_used() {
    let server = Server::start().await;
    let spec = json!({
        "variables": [{"name": "broken", "expression": "object.data.missing"}],
        "validations": [{"expression": "object.metadata.name == 'x' || variables.broken == 'y'"}],
    });
    validating(&server, "lazy", spec).await;
    assert_eq!(create(&server, "x", json!({})).await.code, 201);
    let denied = create(&server, "y", json!({"a": "b"})).await;
    assert!(
        denied
            .message()
            .ends_with("composited variable \"broken\" fails to evaluate: no such key: missing"),
        "{}",
        denied.text
    );
}

#[tokio::test]
async fn match_conditions_with_errors() {
    let server = Server::start().await;
    let spec = json!({
        "matchConditions": [
            {"name": "a", "expression": "object.metadata.name != 'skipped'"},
            {"name": "b", "expression": "object.data.b == 'x'"},
            {"name": "c", "expression": "object.data.c == 'x'"},
        ],
        "validations": [{"expression": "false", "message": "evaluated"}],
    });
    validating(&server, "conditional", spec).await;
    assert_eq!(
        create(&server, "skipped", json!({"q": "r"})).await.code,
        201
    );
    let denied = create(&server, "two", json!({"q": "r"})).await;
    assert!(
        denied.message().ends_with("denied request: [expression 'object.data.b == 'x'' resulted in error: no such key: b, expression 'object.data.c == 'x'' resulted in error: no such key: c]"),
        "{}",
        denied.text
    );
    let denied = create(&server, "hit", json!({"b": "x", "c": "x"})).await;
    assert!(denied.message().ends_with("denied request: evaluated"));
    assert_eq!(create(&server, "miss", json!({"b": "z"})).await.code, 201);
}

#[tokio::test]
async fn policies_do_not_see_policies_and_reviews() {
    let server = Server::start().await;
    let spec =
        json!({"matchConstraints": constraints("*/*"), "validations": [{"expression": "false"}]});
    validating(&server, "everything", spec).await;
    assert_eq!(create(&server, "x", json!({})).await.code, 422);
    let review = json!({"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}});
    let reviews = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    assert_eq!(server.ask(ADMIN, reviews, review).await.code, 201);
    let hooks = format!("POST {GROUP}/validatingwebhookconfigurations");
    let object = json!({"metadata": {"name": "w"}});
    assert_eq!(server.ask(ADMIN, &hooks, object).await.code, 422);
    let policy = format!("DELETE {GROUP}/validatingadmissionpolicies/everything");
    server.admin(&policy, Value::Null).await;
    assert_eq!(create(&server, "x", json!({})).await.code, 201);
}
