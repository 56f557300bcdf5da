//! Custom objects: pruned, defaulted, validated, printed, selected.

use http::Method;
use serde_json::{Value, json};

use super::{CRD, WIDGETS, at, cluster, definition, simple, spec, version, widget};
use crate::http_client::{APPLY, JSON_PATCH, STRATEGIC, TABLE, YAML};

#[tokio::test]
async fn unknown_fields_are_dropped_and_reported_as_requested() {
    let properties = json!({
        "a": {"type": "string"},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    });
    let (_cluster, http) = cluster(simple(properties)).await;
    let object = widget("one", json!({"a": "x", "zip": 1, "open": {"any": [1]}}));
    let answer = http.post(WIDGETS, object.clone()).await;
    assert_eq!(
        answer.warnings(),
        ["299 - \"unknown field \\\"spec.zip\\\"\""]
    );
    assert_eq!(answer.ok()["spec"], json!({"a": "x", "open": {"any": [1]}}));
    let strict = http
        .post(&format!("{WIDGETS}?fieldValidation=Strict"), object)
        .await;
    strict.refused_with(
        400,
        "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown field \"spec.zip\"",
    );
    let silent = http
        .patch(
            &format!("{}?fieldValidation=Ignore", at("one")),
            json!({"spec": {"zip": 2}}),
        )
        .await;
    assert!(silent.warnings().is_empty());
}

#[tokio::test]
async fn defaults_are_filled_in_on_write_and_on_read() {
    let (_cluster, http) = cluster(simple(json!({"a": {"type": "string", "default": "A"}}))).await;
    let made = http.post(WIDGETS, widget("one", json!({}))).await.ok();
    assert_eq!(made["spec"], json!({"a": "A"}));
    let later = json!([{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b",
        "value": {"type": "integer", "default": 5}}]);
    http.send(Method::PATCH, CRD, JSON_PATCH, later.to_string())
        .await
        .ok();
    assert_eq!(
        http.get(&at("one")).await.ok()["spec"],
        json!({"a": "A", "b": 5})
    );
    assert_eq!(http.get(WIDGETS).await.ok()["items"][0]["spec"]["b"], 5);
    let mut events = http.watch(WIDGETS, "").await;
    assert_eq!(events.next().await.unwrap()["object"]["spec"]["b"], 5);
    // The object itself did not change.
    assert_eq!(http.get(&at("one")).await.ok()["metadata"]["generation"], 1);
}

#[tokio::test]
async fn null_is_dropped_where_it_is_not_allowed() {
    let properties = json!({
        "may": {"type": "string", "nullable": true},
        "not": {"type": "string"},
        "defaulted": {"type": "string", "default": "d"},
    });
    let (_cluster, http) = cluster(simple(properties)).await;
    let made = http
        .post(
            WIDGETS,
            widget("one", json!({"may": null, "not": null, "defaulted": null})),
        )
        .await;
    assert_eq!(made.ok()["spec"], json!({"may": null, "defaulted": "d"}));
}

#[tokio::test]
async fn values_are_validated_by_the_schema() {
    let properties = json!({
        "n": {"type": "integer", "minimum": 2},
        "s": {"type": "string", "maxLength": 3, "pattern": "^a"},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "port": {"x-kubernetes-int-or-string": true},
    });
    let (_cluster, http) = cluster(simple(properties)).await;
    http.post(
        WIDGETS,
        widget(
            "ok",
            json!({"n": 2, "s": "ab", "set": ["x"], "port": "http"}),
        ),
    )
    .await
    .ok();
    for (spec, message) in [
        (
            json!({"n": 1}),
            "spec.n: Invalid value: 1: spec.n in body should be greater than or equal to 2",
        ),
        (
            json!({"n": "x"}),
            "spec.n: Invalid value: \"string\": spec.n in body must be of type integer: \"string\"",
        ),
        (
            json!({"s": "abcd"}),
            "spec.s: Too long: may not be more than 3 bytes",
        ),
        (
            json!({"s": "b"}),
            "spec.s: Invalid value: \"b\": spec.s in body should match '^a'",
        ),
        (
            json!({"set": ["x", "x"]}),
            "spec.set[1]: Duplicate value: \"x\"",
        ),
        (
            json!({"port": 1.5}),
            "spec.port: Invalid value: \"number\": spec.port in body must be of type integer,string: \"number\"",
        ),
    ] {
        let message = format!("Widget.example.com \"n\" is invalid: {message}");
        http.post(WIDGETS, widget("n", spec))
            .await
            .refused_with(422, &message);
    }
}

#[tokio::test]
async fn rules_are_run_and_may_look_back() {
    let properties = json!({
        "n": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0", "message": "positive"}]},
        "fixed": {"type": "string", "maxLength": 9, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
    });
    let (_cluster, http) = cluster(simple(properties)).await;
    http.post(WIDGETS, widget("one", json!({"n": 1, "fixed": "a"})))
        .await
        .ok();
    http.post(WIDGETS, widget("n", json!({"n": 0})))
        .await
        .refused_with(
            422,
            "Widget.example.com \"n\" is invalid: spec.n: Invalid value: 0: positive",
        );
    http.patch(&at("one"), json!({"spec": {"fixed": "b"}})).await.refused_with(
        422,
        "Widget.example.com \"one\" is invalid: spec.fixed: Invalid value: \"b\": failed rule: self == oldSelf",
    );
}

#[tokio::test]
async fn an_update_may_keep_what_newer_rules_refuse() {
    let (_cluster, http) = cluster(simple(
        json!({"a": {"type": "string"}, "b": {"type": "string"}}),
    ))
    .await;
    http.post(WIDGETS, widget("one", json!({"a": "long"})))
        .await
        .ok();
    let tighter = json!([{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a/maxLength", "value": 2}]);
    http.send(Method::PATCH, CRD, JSON_PATCH, tighter.to_string())
        .await
        .ok();
    http.patch(&at("one"), json!({"spec": {"b": "new"}}))
        .await
        .ok();
    http.patch(&at("one"), json!({"spec": {"a": "longer"}}))
        .await
        .refused(422);
    http.post(WIDGETS, widget("two", json!({"a": "long"})))
        .await
        .refused(422);
}

#[tokio::test]
async fn embedded_objects_have_a_type_and_sound_metadata() {
    let (_cluster, http) = cluster(simple(json!({"t": {
        "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
    }}))).await;
    let fine = json!({"t": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "bogus": 1}, "spec": {"x": 1}}});
    let made = http.post(WIDGETS, widget("one", fine)).await.ok();
    assert_eq!(made["spec"]["t"]["metadata"], json!({"name": "p"}));
    http.post(WIDGETS, widget("n", json!({"t": {"kind": "Pod"}})))
        .await
        .refused_with(
            422,
            "Widget.example.com \"n\" is invalid: spec.t.apiVersion: Required value",
        );
}

#[tokio::test]
async fn apply_follows_the_schema() {
    let properties = json!({
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "v": {"type": "string"}}}},
        "atom": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
    });
    let (_cluster, http) = cluster(simple(properties)).await;
    let apply = |manager: &str, spec: Value| {
        let (http, path) = (
            http.clone(),
            format!("{}?fieldManager={manager}", at("one")),
        );
        async move {
            http.send(Method::PATCH, &path, APPLY, widget("one", spec).to_string())
                .await
        }
    };
    apply(
        "one",
        json!({"map": [{"name": "x", "v": "1"}], "atom": {"a": "1"}}),
    )
    .await
    .ok();
    let merged = apply("two", json!({"map": [{"name": "y", "v": "2"}]}))
        .await
        .ok();
    assert_eq!(merged["spec"]["map"].as_array().unwrap().len(), 2);
    let conflict = apply("two", json!({"atom": {"b": "2"}})).await.refused(409);
    assert_eq!(conflict["details"]["causes"][0]["field"], ".spec.atom");
    let unknown = apply("two", json!({"zip": 1})).await.refused(500);
    assert!(
        unknown["message"]
            .as_str()
            .unwrap()
            .ends_with(".spec.zip: field not declared in schema")
    );
    http.send(Method::PATCH, &at("one"), STRATEGIC, "{}").await.refused_with(
        415,
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
    );
}

#[tokio::test]
async fn printer_columns_are_a_table() {
    let mut only = version(
        "v1",
        true,
        spec(json!({"a": {"type": "string"}, "n": {"type": "integer"}})),
    );
    only["additionalPrinterColumns"] = json!([
        {"name": "A", "type": "string", "jsonPath": ".spec.a"},
        {"name": "N", "type": "integer", "jsonPath": ".spec.n", "priority": 1},
        {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
        {"name": "Made", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]);
    let (_cluster, http) = cluster(definition(json!([only]))).await;
    http.post(WIDGETS, widget("one", json!({"a": "x", "n": 5})))
        .await
        .ok();
    let table = http.get_as(WIDGETS, TABLE).await.ok();
    let names: Vec<&str> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|c| c["name"].as_str())
        .collect();
    assert_eq!(names, ["Name", "A", "N", "Ready", "Made"]);
    assert_eq!(
        table["rows"][0]["cells"],
        json!(["one", "x", 5, null, "0s"])
    );
}

#[tokio::test]
async fn selectors_may_name_the_fields_that_the_definition_says() {
    let mut only = version(
        "v1",
        true,
        spec(json!({"color": {"type": "string"}, "n": {"type": "integer"}})),
    );
    only["selectableFields"] = json!([{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.n"}]);
    let (_cluster, http) = cluster(definition(json!([only]))).await;
    http.post(WIDGETS, widget("red", json!({"color": "red", "n": 1})))
        .await
        .ok();
    http.post(WIDGETS, widget("blue", json!({"color": "blue", "n": 2})))
        .await
        .ok();
    assert_eq!(
        http.get(&format!("{WIDGETS}?fieldSelector=spec.color=red"))
            .await
            .names(),
        ["red"]
    );
    assert_eq!(
        http.get(&format!("{WIDGETS}?fieldSelector=spec.n=2"))
            .await
            .names(),
        ["blue"]
    );
    http.get(&format!("{WIDGETS}?fieldSelector=spec.other=2"))
        .await
        .refused_with(400, "field label not supported: spec.other");
    http.delete(&format!("{WIDGETS}?fieldSelector=spec.color=red"))
        .await
        .ok();
    assert_eq!(http.get(WIDGETS).await.names(), ["blue"]);
}

#[tokio::test]
async fn yaml_is_read_and_protobuf_is_not() {
    let (_cluster, http) = cluster(simple(json!({"a": {"type": "string"}}))).await;
    let yaml = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: one}\nspec: {a: x}\n";
    http.send(Method::POST, WIDGETS, YAML, yaml).await.ok();
    let answer = http
        .get_as(&at("one"), "application/vnd.kubernetes.protobuf")
        .await;
    assert_eq!(answer.code, 406);
    let both = http
        .get_as(
            &at("one"),
            "application/vnd.kubernetes.protobuf,application/json",
        )
        .await;
    assert_eq!(both.ok()["spec"]["a"], "x");
}

#[tokio::test]
async fn a_body_of_another_kind_is_validated_with_the_object() {
    let (_cluster, http) = cluster(simple(json!({}))).await;
    let mut other = widget("one", json!({}));
    other["kind"] = json!("Gadget");
    http.post(WIDGETS, other).await.refused_with(
        422,
        "Gadget.example.com \"one\" is invalid: kind: Invalid value: \"Gadget\": must be Widget",
    );
    http.post(WIDGETS, json!({"metadata": {"name": "x"}})).await.refused_with(
        400,
        "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '{\"metadata\":{\"name\":\"x\"}}' ({\"metadata\":{\"name\":\"x\"}})",
    );
}

#[tokio::test]
async fn metadata_of_all_kinds_is_read_by_its_type() {
    let (_cluster, http) = cluster(simple(json!({}))).await;
    for kind in ["Widget", "Gadget"] {
        let object = json!({"apiVersion": "example.com/v1", "kind": kind, "metadata": "x"});
        let status = http.post(WIDGETS, object).await.refused(400);
        let text = "json: cannot unmarshal string into Go value of type v1.ObjectMeta";
        assert!(status["message"].as_str().unwrap().ends_with(text));
    }
}
