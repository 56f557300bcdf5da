//! Patches that explode, contradict themselves or are invalid.

use http::Method;
use serde_json::{Value, json};

use super::Target;
use crate::http_client::{APPLY, Answer, JSON_PATCH, MAPS, MERGE, STRATEGIC};

const REJECTED: &str = "the server rejected our request due to an error in our request";

async fn patch(target: &Target, content_type: &str, body: impl Into<bytes::Bytes>) -> Answer {
    target
        .http
        .send(
            Method::PATCH,
            &format!("{MAPS}/a?fieldManager=me"),
            content_type,
            body,
        )
        .await
}

#[tokio::test]
async fn patches_that_cannot_be_read_are_bad_requests() {
    let target = Target::new().await;
    for (content_type, body, message) in [
        (
            JSON_PATCH,
            "{}",
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            MERGE,
            "[]",
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (
            MERGE,
            "{",
            "error decoding patch: unexpected end of JSON input",
        ),
    ] {
        patch(&target, content_type, body)
            .await
            .refused_with(400, message);
    }
    for body in ["[", "a: [1,2", "- a", "7"] {
        patch(&target, APPLY, body).await.refused(400);
    }
    target.unharmed().await;
}

#[tokio::test]
async fn a_json_patch_that_cannot_be_done_is_invalid() {
    let target = Target::new().await;
    for body in [
        json!([{"op": "nope", "path": "/a"}]),
        json!([{"op": "remove", "path": "/data/zz"}]),
        json!([{"op": "move", "from": "/data", "path": "/data/x"}]),
        json!([{"op": "test", "path": "/data/value", "value": "2"}]),
        json!([{"op": "add", "path": "no-slash", "value": "2"}]),
        json!([{"op": "move", "from": "/data/zz", "path": "/data/y"}]),
    ] {
        patch(&target, JSON_PATCH, body.to_string())
            .await
            .refused_with(422, REJECTED);
    }
    target.unharmed().await;
}

#[tokio::test]
async fn a_json_patch_has_at_most_ten_thousand_operations() {
    let target = Target::new().await;
    let operations = vec![json!({"op": "add", "path": "/data/b", "value": "c"}); 10_001];
    let status = patch(&target, JSON_PATCH, Value::from(operations).to_string()).await.refused_with(
        413,
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
    );
    assert_eq!(status["reason"], "RequestEntityTooLarge");
    target.unharmed().await;
}

#[tokio::test]
async fn a_json_patch_cannot_copy_itself_large() {
    let target = Target::new().await;
    let mut operations =
        vec![json!({"op": "add", "path": "/data/c0", "value": "x".repeat(100_000)})];
    for i in 1..100 {
        operations.push(json!({"op": "copy", "from": "/data/c0", "path": format!("/data/c{i}")}));
    }
    patch(&target, JSON_PATCH, Value::from(operations).to_string())
        .await
        .refused_with(422, REJECTED);
    // Doubling forty times over would be a terabyte.
    let mut operations =
        vec![json!({"op": "add", "path": "/metadata/annotations", "value": {"a": "x"}})];
    for i in 0..40 {
        operations.push(json!({"op": "copy", "from": "/metadata", "path": format!("/metadata/annotations/m{i}")}));
    }
    let answer = patch(&target, JSON_PATCH, Value::from(operations).to_string()).await;
    assert!((400..500).contains(&answer.code), "{}", answer.message());
    target.unharmed().await;
}

#[tokio::test]
async fn nesting_in_patches_ends_at_ten_thousand_levels() {
    let target = Target::new().await;
    for levels in [10_000, 100_000] {
        let objects = format!(
            "{{\"data\":{}1{}}}",
            "{\"a\":".repeat(levels),
            "}".repeat(levels)
        );
        patch(&target, MERGE, objects.clone()).await.refused_with(
            400,
            "error decoding patch: invalid character '{' exceeded max depth",
        );
        patch(&target, STRATEGIC, objects)
            .await
            .refused_with(400, "invalid character '{' exceeded max depth");
        let arrays = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let body = format!(r#"[{{"op":"add","path":"/data/x","value":{arrays}}}]"#);
        patch(&target, JSON_PATCH, body).await.refused_with(
            400,
            "error decoding patch: invalid character '[' exceeded max depth",
        );
        let body = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{x: {arrays}}}"
        );
        let status = patch(&target, APPLY, body).await.refused(400);
        let message = status["message"].as_str().unwrap();
        assert!(message.contains("exceeded max depth"), "{message}");
    }
    target.unharmed().await;
}

#[tokio::test]
async fn deep_patches_below_the_bound_do_not_fit_the_type() {
    let target = Target::new().await;
    for levels in [100, 1_000, 5_000] {
        let objects = format!(
            "{{\"data\":{}1{}}}",
            "{\"a\":".repeat(levels),
            "}".repeat(levels)
        );
        let arrays = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let operation = format!(r#"[{{"op":"add","path":"/data/x","value":{arrays}}}]"#);
        let apply = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{x: {arrays}}}"
        );
        for (content_type, body) in [
            (MERGE, objects.clone()),
            (STRATEGIC, objects),
            (JSON_PATCH, operation),
            (APPLY, apply),
        ] {
            let answer = patch(&target, content_type, body).await;
            assert!(
                matches!(answer.code, 400 | 422 | 500),
                "{content_type} {levels}: {}",
                answer.message()
            );
        }
    }
    target.unharmed().await;
}

#[tokio::test]
async fn a_long_pointer_leads_nowhere() {
    let target = Target::new().await;
    let body = json!([{"op": "add", "path": "/a".repeat(100_000), "value": 1}]).to_string();
    patch(&target, JSON_PATCH, body)
        .await
        .refused_with(422, REJECTED);
    target.unharmed().await;
}

#[tokio::test]
async fn directives_of_the_wrong_type_are_refused_or_ignored() {
    let target = Target::new().await;
    let answer = patch(&target, STRATEGIC, r#"{"data":{"$patch":7}}"#).await;
    answer.refused_with(
        500,
        "unknown patch type: %!s(int64=7) in map: map[$patch:7]",
    );
    let body = r#"{"metadata":{"$deleteFromPrimitiveList/finalizers":7}}"#;
    assert_eq!(patch(&target, STRATEGIC, body).await.code, 200);
    target.unharmed().await;
}

#[tokio::test]
async fn bad_patch_options_are_refused() {
    let target = Target::new().await;
    let invalid = "PatchOptions.meta.k8s.io \"\" is invalid: ";
    let path = format!("{MAPS}/a");
    target
        .http
        .send(Method::PATCH, &path, APPLY, "x")
        .await
        .refused_with(
            422,
            &format!("{invalid}fieldManager: Required value: is required for apply patch"),
        );
    target
        .http
        .send(Method::PATCH, &format!("{path}?force=true"), MERGE, "{}")
        .await
        .refused_with(
            422,
            &format!("{invalid}force: Forbidden: may not be specified for non-apply patch"),
        );
    let long = "m".repeat(200);
    target
        .http
        .send(
            Method::PATCH,
            &format!("{path}?fieldManager={long}"),
            MERGE,
            "{}",
        )
        .await
        .refused_with(
            422,
            &format!("{invalid}fieldManager: Too long: may not be more than 128 bytes"),
        );
    target.unharmed().await;
}

#[tokio::test]
async fn patched_objects_must_fit_their_type() {
    let target = Target::new().await;
    for (content_type, body) in [
        (MERGE, r#"{"data":{"a":5}}"#),
        (
            JSON_PATCH,
            r#"[{"op":"replace","path":"/data","value":"x"}]"#,
        ),
    ] {
        let status = patch(&target, content_type, body).await.refused(422);
        let message = status["message"].as_str().unwrap();
        assert!(message.starts_with(" \"\" is invalid: patch: Invalid value: \"{\\\"apiVersion\\\":\\\"v1\\\",\\\"data\\\":"), "{message}");
    }
    target.unharmed().await;
}

#[tokio::test]
async fn ten_thousand_managers_come_down_to_those_who_own_something() {
    let target = Target::new().await;
    for operation in ["Update", "Apply"] {
        let entries: Vec<Value> = (0..10_000)
            .map(|i| {
                json!({
                    "manager": format!("m{i}"), "operation": operation, "apiVersion": "v1",
                    "time": "2020-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:value": {}}},
                })
            })
            .collect();
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "many", "managedFields": entries}, "data": {"value": "2"},
        });
        // A dry run, so that the cluster comes through unchanged. Nobody owned the value before it was there.
        let path = format!("{MAPS}?dryRun=All&fieldManager=me");
        let made = target.http.post(&path, map).await.ok();
        let managers = made["metadata"]["managedFields"].as_array().unwrap();
        let names: Vec<_> = managers.iter().map(|m| m["manager"].as_str()).collect();
        assert_eq!(names, [Some("me")], "{operation}");
    }
    target.unharmed().await;
}
