//! Invalid CustomResourceDefinitions: the right error, and nothing stored partially.

use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use super::{CRDS, WIDGETS, cluster, definition, simple, spec, version, widget};
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
        "Request entity too large: limit is 3145728",
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
    // kube-apiserver takes as many as ten thousand: this server has a stack to keep.
    let message = answer.refused(400)["message"].to_string();
    assert!(message.contains("exceeded max depth"), "{message}");
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
    refuse(
        huge,
        422,
        "must be a valid regular expression, but isn't: error parsing regexp: invalid repeat count: `{900}`",
    )
    .await;
}

#[tokio::test]
async fn a_pattern_of_a_hundred_thousand_alternatives_is_refused_at_once() {
    let words: Vec<_> = (0..100_000).map(|i| format!("word{i}")).collect();
    let started = std::time::Instant::now();
    let huge = simple(json!({"a": {"type": "string", "pattern": words.join("|")}}));
    refuse(
        huge,
        422,
        "error parsing regexp: expression too large: `word0|",
    )
    .await;
    let distinct = |i: usize| json!({"type": "string", "pattern": format!("^(.{{1000}}|{i})$")});
    let many: serde_json::Map<_, _> = (0..10_000)
        .map(|i| (format!("p{i}"), distinct(i)))
        .collect();
    refuse(
        simple(Value::Object(many)),
        422,
        "must not have regular expressions that are too large together",
    )
    .await;
    assert!(started.elapsed().as_secs() < 30);
}

#[tokio::test]
async fn defaults_that_multiply_are_refused() {
    let text = json!({"type": "string", "default": "x".repeat(100_000)});
    let item = json!({"type": "object", "properties": {"text": text}});
    let (_cluster, http) = cluster(simple(json!({"l": {"type": "array", "items": item}}))).await;
    let items = vec![json!({}); 100_000];
    let answer = http
        .post(WIDGETS, widget("large", json!({"l": items})))
        .await;
    assert_eq!(
        answer.refused(500)["message"],
        "etcdserver: request is too large"
    );
    assert!(http.get(WIDGETS).await.names().is_empty());
}

#[tokio::test]
async fn errors_of_an_object_do_not_outgrow_it() {
    let list = json!({"type": "array", "items": {"type": "integer"}});
    let map = json!({"type": "object", "additionalProperties": list});
    let (_cluster, http) = cluster(simple(json!({"m": map}))).await;
    let spec = json!({"m": {"k".repeat(1 << 20): vec!["x"; 100_000]}, "unknown": 1});
    let answer = http.post(WIDGETS, widget("large", spec)).await;
    assert!(answer.refused(422).to_string().len() < 16 << 20);
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
        "must have exactly one version marked as storage version, status.storedVersions: Invalid value: [\"v1\"]: must have the storage version v2",
    )
    .await;
}

#[tokio::test]
async fn defaults_that_do_not_fit_are_refused() {
    refuse(
        simple(json!({"a": {"type": "string", "default": 1}})),
        422,
        "spec.validation.openAPIV3Schema.properties[spec].properties[a].default: Invalid value: \"integer\":  in body must be of type string: \"integer\"",
    )
    .await;
}

#[tokio::test]
async fn rules_that_would_run_for_minutes_are_refused() {
    let schema = spec(json!({"l": {"type": "array", "items": {"type": "string"},
        "x-kubernetes-validations": [{"rule": "self.all(a, self.all(b, a == b))"}]}}));
    refuse(
        definition(json!([version("v1", true, schema)])),
        422,
        "spec.validation.openAPIV3Schema.properties[spec].properties[l].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)",
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

#[tokio::test]
async fn references_that_go_round_in_circles_are_refused() {
    let circle = json!({"$ref": "#/definitions/a"});
    let schema =
        json!({"type": "object", "definitions": {"a": circle}, "properties": {"a": circle}});
    let text = "[spec.validation.openAPIV3Schema.definitions: Forbidden: definitions is not supported, spec.validation.openAPIV3Schema.properties[a].$ref: Forbidden: $ref is not supported, spec.validation.openAPIV3Schema.definitions[a].$ref: Forbidden: $ref is not supported]";
    refuse(definition(json!([version("v1", true, schema)])), 422, text).await;
}

#[tokio::test]
async fn collections_cannot_be_patched_in_any_format() {
    let (_cluster, http) = cluster(simple(json!({}))).await;
    for (content_type, code, message) in [
        (
            "text/plain",
            415,
            "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        ),
        ("application/merge-patch+json", 400, "name must be provided"),
    ] {
        let answer = http
            .send(http::Method::PATCH, WIDGETS, content_type, "{}")
            .await;
        answer.refused_with(code, message);
    }
}
