//! Defaulters and validators of a typed kind.

use kubewright_webhook::{SchemaValidator, Webhooks};
use serde_json::json;

use crate::captain::{Captain, MUTATE, VALIDATE, ask, captain, patch, review, webhooks};

#[tokio::test]
async fn a_defaulter_changes_only_what_it_sets() {
    let object = captain(json!({"mates": 1, "unknown": {"kept": true}}));
    let response = ask(&webhooks(), MUTATE, &review("CREATE", Some(object), None)).await;
    assert_eq!(response["allowed"], true);
    assert_eq!(
        patch(&response),
        json!([{"op": "add", "path": "/spec/ship", "value": "pequod"}])
    );
}

#[tokio::test]
async fn a_defaulter_sees_the_old_object() {
    let (new, old) = (captain(json!({})), captain(json!({"ship": "rachel"})));
    let response = ask(&webhooks(), MUTATE, &review("UPDATE", Some(new), Some(old))).await;
    assert_eq!(patch(&response)[0]["value"], "rachel");
}

#[tokio::test]
async fn an_object_that_needs_no_defaults_is_not_patched() {
    let object = captain(json!({"ship": "pequod"}));
    let review = review("CREATE", Some(object), None);
    let response = ask(&webhooks(), MUTATE, &review).await;
    let uid = &review["request"]["uid"];
    assert_eq!(
        response,
        json!({"uid": uid, "allowed": true, "status": {"metadata": {}, "code": 200}})
    );
}

#[tokio::test]
async fn deletions_are_not_defaulted_and_connections_not_validated() {
    let old = captain(json!({}));
    let deleted = review("DELETE", None, Some(old));
    assert_eq!(ask(&webhooks(), MUTATE, &deleted).await["allowed"], true);
    let connected = review("CONNECT", None, None);
    assert_eq!(
        ask(&webhooks(), VALIDATE, &connected).await["allowed"],
        true
    );
}

#[tokio::test]
async fn field_errors_are_a_422_with_causes_and_keep_warnings() {
    let object = captain(json!({"mates": 21}));
    let response = ask(&webhooks(), VALIDATE, &review("CREATE", Some(object), None)).await;
    assert_eq!(response["allowed"], false);
    let status = &response["status"];
    assert_eq!(
        (&status["code"], &status["reason"]),
        (&json!(422), &json!("Invalid"))
    );
    assert_eq!(
        status["message"],
        "Captain.crew.example.com \"ahab\" is invalid: \
         [spec.mates: Invalid value: 21: must be at most 20, spec.ship: Required value]"
    );
    assert_eq!(
        status["details"]["causes"],
        json!([
            {"reason": "FieldValueInvalid", "field": "spec.mates", "message": "Invalid value: 21: must be at most 20"},
            {"reason": "FieldValueRequired", "field": "spec.ship", "message": "Required value"},
        ])
    );
    let alone = ask(
        &webhooks(),
        VALIDATE,
        &review("CREATE", Some(captain(json!({}))), None),
    )
    .await;
    assert_eq!(
        alone["warnings"],
        json!(["a captain without mates steers alone"])
    );
    assert_eq!(alone["auditAnnotations"], json!({"alone": "true"}));
    assert_eq!(alone["status"]["code"], 422);
}

#[tokio::test]
async fn other_errors_deny_the_request() {
    let (old, new) = (captain(json!({"ship": "a"})), captain(json!({"ship": "b"})));
    let response = ask(
        &webhooks(),
        VALIDATE,
        &review("UPDATE", Some(new), Some(old)),
    )
    .await;
    assert_eq!(
        response["status"],
        json!({
            "metadata": {}, "message": "a captain does not leave the ship", "reason": "Forbidden", "code": 403,
        })
    );
}

#[tokio::test]
async fn a_deletion_is_validated_with_the_old_object_and_the_user() {
    let old = captain(json!({"ship": "a", "mates": 2}));
    let mut deleted = review("DELETE", None, Some(old));
    let denied = ask(&webhooks(), VALIDATE, &deleted).await;
    assert_eq!(denied["status"]["message"], "the mates need a captain");
    deleted["request"]["userInfo"]["groups"] = json!(["system:masters"]);
    assert_eq!(ask(&webhooks(), VALIDATE, &deleted).await["allowed"], true);
}

#[tokio::test]
async fn the_schema_of_a_type_is_a_validator() {
    let webhooks = Webhooks::builder().validator(SchemaValidator::<Captain>::new());
    let webhooks = webhooks.build().unwrap();
    let empty = captain(json!({"ship": "", "mates": 1}));
    let response = ask(&webhooks, VALIDATE, &review("CREATE", Some(empty), None)).await;
    assert_eq!(response["status"]["code"], 422);
    assert_eq!(
        response["status"]["details"]["causes"][0]["field"],
        "spec.ship"
    );
    let good = captain(json!({"ship": "pequod", "mates": 1}));
    let update = review("UPDATE", Some(good.clone()), Some(good));
    assert_eq!(ask(&webhooks, VALIDATE, &update).await["allowed"], true);
}
