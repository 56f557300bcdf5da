//! Server-side apply of custom objects: fields that the schema leaves open, and checks that apply to the merged object
//! only.
//!
//! The expectations are the answers of a real server.

use http::Method;
use serde_json::{Value, json};

use super::{WIDGETS, at, cluster, definition, spec, version, widget};
use crate::http_client::{APPLY, Answer, Http, JSON_PATCH, TABLE};

const V2: &str = "/apis/example.com/v2/namespaces/default/widgets";

/// Two versions whose statuses differ, with every subresource.
fn open() -> Value {
    let with_status = |name: &str, storage: bool, status: Value| {
        let mut schema = spec(json!({
            "anything": {"type": "object"},
            "date": {"type": "string", "format": "date"},
            "text": {"type": "string"},
        }));
        schema["properties"]["status"] = status;
        let mut version = version(name, storage, schema);
        version["subresources"] = json!({"status": {}, "scale": {
            "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
        }});
        version
    };
    let mut first = with_status("v1", true, json!({"x-kubernetes-int-or-string": true}));
    first["deprecated"] = json!(true);
    first["additionalPrinterColumns"] = json!([
        {"name": "A", "type": "string", "jsonPath": ".spec.text"},
        {"name": "B", "type": "string", "jsonPath": ".spec[\"text\"]"},
        {"name": "C", "type": "string", "jsonPath": ".spec.text"},
    ]);
    let second = with_status("v2", false, json!({"type": "number", "default": 2.5}));
    definition(json!([first, second]))
}

async fn apply(http: &Http, name: &str, spec: Value) -> Answer {
    let path = format!("{}?fieldManager=m", at(name));
    let body = widget(name, spec).to_string();
    http.send(Method::PATCH, &path, APPLY, body).await
}

#[tokio::test]
async fn an_object_that_says_nothing_of_its_fields_takes_any_and_keeps_none() {
    let (_cluster, http) = cluster(open()).await;
    let spec = json!({"anything": {"zz": 1}});
    let applied = apply(&http, "a", spec.clone()).await.ok();
    assert_eq!(applied["spec"], json!({"anything": {}}));
    assert_eq!(
        applied["metadata"]["managedFields"][0]["fieldsV1"],
        json!({"f:spec": {"f:anything": {"f:zz": {}}}})
    );
    // It is new each time: what is stored has no such field.
    let again = apply(&http, "a", spec).await.ok();
    assert_eq!(again["metadata"]["generation"], 2);
    assert_eq!(again["spec"], json!({"anything": {}}));
    apply(&http, "b", json!({"unknown": 1})).await.refused_with(
        500,
        "failed to create typed patch object (/b; example.com/v1, Kind=Widget): .spec.unknown: field not declared in schema",
    );
}

#[tokio::test]
async fn texts_of_a_format_are_validated_with_the_object() {
    let (_cluster, http) = cluster(open()).await;
    apply(&http, "a", json!({"date": 5})).await.refused_with(
        422,
        "Widget.example.com \"a\" is invalid: spec.date: Invalid value: \"int64\": spec.date in body must be of type date: \"int64\"",
    );
    apply(&http, "a", json!({"date": [5]})).await.refused_with(
        500,
        "failed to create typed patch object (/a; example.com/v1, Kind=Widget): .spec.date: expected any scalar, got &{[5]}",
    );
}

#[tokio::test]
async fn null_is_dropped_when_it_is_created_and_refused_when_it_is_applied() {
    let (_cluster, http) = cluster(open()).await;
    apply(&http, "a", json!({"text": null})).await.refused_with(
        422,
        "Widget.example.com \"a\" is invalid: spec.text: Invalid value: \"null\": spec.text in body must be of type string: \"null\"",
    );
    let created = http.post(WIDGETS, widget("a", json!({"text": null}))).await;
    assert_eq!(created.ok()["spec"], json!({}));
}

#[tokio::test]
async fn an_integer_or_a_text_may_be_anything_to_its_managers() {
    let (_cluster, http) = cluster(open()).await;
    let mut object = widget("a", json!({"text": "x"}));
    object["status"] = json!([1, {"a": 2}]);
    let created = http.post(WIDGETS, object).await.ok();
    assert_eq!(
        created["metadata"]["managedFields"][0]["fieldsV1"],
        json!({"f:spec": {".": {}, "f:text": {}}})
    );
}

#[tokio::test]
async fn replicas_that_the_schema_does_not_know_are_not_stored() {
    let (_cluster, http) = cluster(open()).await;
    http.post(WIDGETS, widget("a", json!({}))).await.ok();
    let scale = json!({"spec": {"replicas": 3}});
    let answer = http.patch(&format!("{}/scale", at("a")), scale).await.ok();
    assert_eq!(answer["spec"], json!({}));
    assert_eq!(http.get(&at("a")).await.ok()["spec"], json!({}));
}

#[tokio::test]
async fn only_defaults_of_the_stored_version_are_seen_by_readers() {
    let (_cluster, http) = cluster(open()).await;
    let mut object = widget("a", json!({}));
    object["apiVersion"] = json!("example.com/v2");
    let created = http.post(V2, object).await.ok();
    assert_eq!(created["status"], Value::Null);
    let read = http.get(&format!("{V2}/a")).await.ok();
    assert_eq!(read["status"], Value::Null);
}

#[tokio::test]
async fn an_empty_list_of_managers_keeps_all_managers() {
    let (_cluster, http) = cluster(open()).await;
    let created = http
        .post(WIDGETS, widget("a", json!({"text": "x"})))
        .await
        .ok();
    let managers = &created["metadata"]["managedFields"];
    let none = json!({"metadata": {"managedFields": []}});
    let kept = http.patch(&at("a"), none).await.ok();
    assert_eq!(&kept["metadata"]["managedFields"], managers);
    let patch = r#"[{"op":"replace","path":"/metadata/managedFields","value":[]}]"#;
    let kept = http
        .send(Method::PATCH, &at("a"), JSON_PATCH, patch)
        .await
        .ok();
    assert_eq!(&kept["metadata"]["managedFields"], managers);
    // An empty manager does.
    let all = json!({"metadata": {"managedFields": [{}]}});
    let forgotten = http.patch(&at("a"), all).await.ok();
    assert_eq!(forgotten["metadata"]["managedFields"], Value::Null);
}

#[tokio::test]
async fn a_subresource_that_is_not_there_is_deprecated_too() {
    let (_cluster, http) = cluster(open()).await;
    let answer = http.get(&format!("{}/nothing", at("a"))).await;
    answer.refused_with(404, "widgets.example.com \"a\" not found");
    let warning = "299 - \"example.com/v1 Widget is deprecated; use example.com/v2 Widget\"";
    assert_eq!(answer.warnings(), [warning]);
}

#[tokio::test]
async fn columns_end_where_a_path_cannot_be_read() {
    let (_cluster, http) = cluster(open()).await;
    let table = http.get_as(WIDGETS, TABLE).await.ok();
    let names: Vec<&str> = table["columnDefinitions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|column| column["name"].as_str())
        .collect();
    assert_eq!(names, ["Name", "A"]);
}

#[tokio::test]
async fn a_default_that_the_version_of_another_manager_does_not_declare_fails_an_apply() {
    let list = |item: Value| {
        let items = json!({"type": "object", "properties": item});
        spec(json!({"x": {"type": "string"}, "l": {"type": "array", "items": items}}))
    };
    let text = json!({"type": "string"});
    let defaulted = json!({"type": "string", "default": "d"});
    let (_cluster, http) = cluster(definition(json!([
        version("v1", false, list(json!({"a": text}))),
        version("v2", true, list(json!({"a": text, "b": defaulted}))),
    ])))
    .await;
    let apply_v2 = async |manager: &str, spec: Value| {
        let mut body = widget("a", spec);
        body["apiVersion"] = json!("example.com/v2");
        let path = format!("{V2}/a?fieldManager={manager}");
        http.send(Method::PATCH, &path, APPLY, body.to_string())
            .await
    };
    apply(&http, "a", json!({"x": "1"})).await.ok();
    apply_v2("z", json!({"l": [{"a": "1", "b": "2"}]}))
        .await
        .refused_with(
            500,
            "failed to convert new object: .spec.l[0].b: field not declared in schema",
        );
    let applied = apply_v2("z", json!({"l": [{"a": "1"}]})).await.ok();
    assert_eq!(applied["spec"]["l"], json!([{"a": "1", "b": "d"}]));
    apply_v2("z", json!({"l": [{"a": "1"}]}))
        .await
        .refused_with(500, ".spec.l[0].b: field not declared in schema");
    // Through the version without the field, the object has none.
    apply(&http, "a", json!({"x": "2"})).await.ok();
}
