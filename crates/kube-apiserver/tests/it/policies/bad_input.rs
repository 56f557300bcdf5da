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

#[tokio::test]
async fn expressions_that_do_not_compile_are_refused() {
    let server = Server::start().await;
    let validation = json!([{"expression": "object.spec."}]);
    let condition = json!([{"name": "c", "expression": "object.a ="}]);
    let fine = json!([{"expression": "true"}]);
    let patch = |expression: &str| json!([{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}]);
    let hook = |conditions: &Value| {
        json!([{
            "name": "h.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://example.com"}, "matchConditions": conditions,
        }])
    };
    for (plural, object, field) in [
        (
            "validatingadmissionpolicies",
            json!({"spec": {"validations": validation}}),
            "spec.validations[0].expression",
        ),
        (
            "validatingadmissionpolicies",
            json!({"spec": {"validations": fine, "matchConditions": condition}}),
            "spec.matchConditions[0].expression",
        ),
        (
            "validatingadmissionpolicies",
            json!({"spec": {"validations": fine, "variables": [{"name": "v", "expression": "1 +"}]}}),
            "spec.variables[0].expression",
        ),
        (
            "mutatingadmissionpolicies",
            json!({"spec": {"reinvocationPolicy": "Never", "mutations": patch("[1 +]")}}),
            "spec.mutations[0].jsonPatch.expression",
        ),
        (
            "validatingwebhookconfigurations",
            json!({"webhooks": hook(&condition)}),
            "webhooks[0].matchConditions[0].expression",
        ),
    ] {
        let mut object = object;
        object["metadata"] = json!({"name": "broken"});
        if object["spec"].is_object() {
            object["spec"]["matchConstraints"] = constraints("configmaps");
        }
        let refused = server
            .ask(ADMIN, &format!("POST {GROUP}/{plural}"), object)
            .await;
        assert_eq!(refused.code, 422, "{field}: {}", refused.text);
        let causes = &refused.json()["details"]["causes"];
        let cause = causes
            .as_array()
            .into_iter()
            .flatten()
            .find(|c| c["field"] == field);
        let message = cause.unwrap_or_else(|| panic!("{field}: {causes}"))["message"].to_string();
        assert!(message.contains("Syntax error"), "{message}");
    }
}

#[tokio::test]
async fn invalid_selectors_are_refused() {
    let server = Server::start().await;
    let wrong = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
    let policy = |selector: &str| {
        let mut constraints = constraints("configmaps");
        constraints[selector] = wrong.clone();
        json!({"spec": {"validations": [{"expression": "true"}], "matchConstraints": constraints}})
    };
    let hook = json!({"webhooks": [{
        "name": "h.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://example.com"}, "objectSelector": wrong,
    }]});
    let reference = json!({"spec": {
        "policyName": "p", "validationActions": ["Deny"],
        "paramRef": {"selector": wrong, "parameterNotFoundAction": "Deny"},
    }});
    for (plural, object, field) in [
        (
            "validatingadmissionpolicies",
            policy("namespaceSelector"),
            "spec.matchConstraints.namespaceSelector.matchExpressions[0].operator",
        ),
        (
            "validatingadmissionpolicies",
            policy("objectSelector"),
            "spec.matchConstraints.objectSelector.matchExpressions[0].operator",
        ),
        (
            "validatingwebhookconfigurations",
            hook,
            "webhooks[0].objectSelector.matchExpressions[0].operator",
        ),
        (
            "validatingadmissionpolicybindings",
            reference,
            "spec.paramRef.selector.matchExpressions[0].operator",
        ),
    ] {
        let mut object = object;
        object["metadata"] = json!({"name": "broken"});
        let refused = server
            .ask(ADMIN, &format!("POST {GROUP}/{plural}"), object)
            .await;
        assert_eq!(refused.code, 422, "{field}: {}", refused.text);
        let causes = &refused.json()["details"]["causes"];
        let mut fields = causes.as_array().into_iter().flatten();
        assert!(
            fields.any(|cause| cause["field"] == field),
            "{field}: {causes}"
        );
    }
}

#[tokio::test]
async fn a_thousand_policies_are_bearable() {
    let server = Server::start().await;
    for i in 0..1000 {
        let spec = json!({"validations": [{
            "expression": format!("object.metadata.name != 'denied-{i}'"),
        }]});
        validating(&server, &format!("p{i}"), spec).await;
    }
    assert_eq!(create(&server, "fine", json!({})).await.code, 201);
    let denied = create(&server, "denied-999", json!({})).await;
    assert!(
        denied
            .message()
            .contains("ValidatingAdmissionPolicy 'p999' with binding 'p999' denied request"),
        "{}",
        denied.text
    );
    let secret = json!({"metadata": {"name": "s"}});
    server
        .admin("POST /api/v1/namespaces/default/secrets", secret)
        .await;
}
