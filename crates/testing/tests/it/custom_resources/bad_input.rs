//! Definitions that nobody should send: the right refusal, and nothing stored by half.

use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use super::{CRDS, definition, simple, spec, version};
use crate::http_client::Http;

async fn refuse(crd: Value, code: u16, text: &str) {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let before = cluster.revision().await;
    let answer = http.post(CRDS, crd).await;
    let message = answer.refused(code)["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(message.contains(text), "{message:.600}");
    assert_eq!(cluster.revision().await, before);
    assert!(http.get(CRDS).await.names().is_empty());
}

#[tokio::test]
async fn a_schema_of_ten_megabytes_is_too_large() {
    let long = "x".repeat(10 << 20);
    refuse(
        simple(json!({"a": {"type": "string", "description": long}})),
        413,
        "Request entity too large",
    )
    .await;
}

#[tokio::test]
async fn a_thousand_levels_are_too_deep() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let mut schema = String::from("{\"type\":\"string\"}");
    for _ in 0..1000 {
        schema = format!("{{\"type\":\"object\",\"properties\":{{\"a\":{schema}}}}}");
    }
    let body = definition(json!([version("v1", true, json!("HERE"))]))
        .to_string()
        .replace("\"HERE\"", &schema);
    let answer = http
        .send(http::Method::POST, CRDS, "application/json", body)
        .await;
    answer.refused(400);
    assert!(http.get(CRDS).await.names().is_empty());
}

#[tokio::test]
async fn references_are_refused() {
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#"}}});
    let text =
        "spec.validation.openAPIV3Schema.properties[a].$ref: Forbidden: $ref is not supported";
    refuse(definition(json!([version("v1", true, schema)])), 422, text).await;
}

#[tokio::test]
async fn patterns_that_explode_are_refused() {
    let bad = simple(json!({"a": {"type": "string", "pattern": "(?=a)"}}));
    refuse(bad, 422, "invalid or unsupported Perl syntax: `(?=`").await;
    let huge = simple(json!({"a": {"type": "string", "pattern": "((\\pL{900}){900}){900}"}}));
    refuse(huge, 422, "must be a valid regular expression").await;
}

#[tokio::test]
async fn two_storage_versions_are_one_too_many() {
    let both = json!([
        version("v1", true, spec(json!({}))),
        version("v2", true, spec(json!({"a": {"type": "string"}})))
    ]);
    refuse(
        definition(both),
        422,
        "must have exactly one version marked as storage version",
    )
    .await;
}

#[tokio::test]
async fn defaults_that_do_not_fit_are_refused() {
    let text = "spec.validation.openAPIV3Schema.properties[spec].properties[a].default: Invalid value: \"integer\": default in body must be of type string";
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let answer = http
        .post(CRDS, simple(json!({"a": {"type": "string", "default": 1}})))
        .await
        .refused(422);
    let message = answer["message"].as_str().unwrap();
    assert!(
        message.contains("properties[a].default: Invalid value: \"integer\""),
        "{message} {text}"
    );
}

#[tokio::test]
async fn rules_that_would_run_for_minutes_are_refused() {
    let schema = spec(json!({"l": {"type": "array", "items": {"type": "string"},
        "x-kubernetes-validations": [{"rule": "self.all(a, self.all(b, a == b))"}]}}));
    refuse(
        definition(json!([version("v1", true, schema)])),
        422,
        "estimated rule cost exceeds budget by factor of",
    )
    .await;
}

#[tokio::test]
async fn a_rule_that_does_not_compile_is_refused() {
    let schema = spec(
        json!({"a": {"type": "string", "x-kubernetes-validations": [{"rule": "self.zip == 1"}]}}),
    );
    refuse(
        definition(json!([version("v1", true, schema)])),
        422,
        "compilation failed: ERROR: <input>:1:5: ",
    )
    .await;
}
