//! Config maps, secrets, namespaces, quotas.

use serde_json::json;

use crate::{created, errors_of_create, named, updated};

#[test]
fn plain_secret_data_is_encoded_and_wins() {
    let secret =
        json!({"metadata": named("s"), "data": {"k": "b2xk"}, "stringData": {"k": "new", "l": ""}});
    let stored = created("", "Secret", secret);
    assert_eq!(stored["data"], json!({"k": "bmV3", "l": ""}));
    assert_eq!(stored["type"], "Opaque");
    assert!(stored.get("stringData").is_none());
}

#[test]
fn a_typed_secret_needs_its_keys() {
    let secret = json!({"metadata": named("s"), "type": "kubernetes.io/tls", "stringData": {"tls.crt": "x"}});
    assert_eq!(
        errors_of_create("", "Secret", secret),
        ["data[tls.key]: Required value"]
    );
}

#[test]
fn the_type_of_a_secret_stays() {
    let old = created("", "Secret", json!({"metadata": named("s")}));
    let new = json!({"metadata": named("s"), "type": "example.com/t"});
    let (_, errors) = updated("", "Secret", &old, new);
    assert_eq!(
        errors,
        ["type: Invalid value: \"example.com/t\": field is immutable"]
    );
}

#[test]
fn an_immutable_config_map_keeps_its_data() {
    let old = created(
        "",
        "ConfigMap",
        json!({"metadata": named("c"), "data": {"a": "1"}, "immutable": true}),
    );
    let (_, errors) = updated(
        "",
        "ConfigMap",
        &old,
        json!({"metadata": named("c"), "data": {"a": "2"}}),
    );
    assert_eq!(
        errors,
        [
            "immutable: Forbidden: field is immutable when `immutable` is set",
            "data: Forbidden: field is immutable when `immutable` is set",
        ]
    );
}

#[test]
fn a_key_stands_in_data_or_in_binary_data() {
    let map = json!({"metadata": named("c"), "data": {"b": "x"}, "binaryData": {"b": "AAEC"}});
    let expected = ["data[b]: Invalid value: \"b\": duplicate of key present in binaryData"];
    assert_eq!(errors_of_create("", "ConfigMap", map), expected);
}

#[test]
fn a_namespace_is_born_active_with_its_finalizer_and_label() {
    let mut metadata = named("x");
    metadata["labels"] = json!({"kubernetes.io/metadata.name": "wrong"});
    let spec = json!({"finalizers": ["example.com/f"]});
    let stored = created(
        "",
        "Namespace",
        json!({"metadata": metadata, "spec": spec, "status": {"phase": "X"}}),
    );
    assert_eq!(
        stored["metadata"]["labels"]["kubernetes.io/metadata.name"],
        "x"
    );
    assert_eq!(
        stored["spec"]["finalizers"],
        json!(["example.com/f", "kubernetes"])
    );
    assert_eq!(stored["status"], json!({"phase": "Active"}));
}

#[test]
fn an_update_does_not_touch_the_finalizers_of_a_namespace() {
    let old = created("", "Namespace", json!({"metadata": {"name": "x"}}));
    let new = json!({"metadata": {"name": "x"}, "spec": {"finalizers": []}, "status": {"phase": "Terminating"}});
    let (stored, errors) = updated("", "Namespace", &old, new);
    assert!(errors.is_empty());
    assert_eq!(stored["spec"]["finalizers"], json!(["kubernetes"]));
    assert_eq!(stored["status"]["phase"], "Active");
}

#[test]
fn limits_of_containers_follow_from_each_other() {
    let limits = json!([{"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "100m", "memory": "1Mi"}}]);
    let stored = created(
        "",
        "LimitRange",
        json!({"metadata": named("l"), "spec": {"limits": limits}}),
    );
    let item = &stored["spec"]["limits"][0];
    assert_eq!(item["default"], json!({"cpu": "2"}));
    assert_eq!(item["defaultRequest"], json!({"cpu": "2", "memory": "1Mi"}));
}

#[test]
fn a_minimum_above_the_maximum_is_refused() {
    let limits = json!([{"type": "Pod", "max": {"cpu": "1"}, "min": {"cpu": "2"}}]);
    let errors = errors_of_create(
        "",
        "LimitRange",
        json!({"metadata": named("l"), "spec": {"limits": limits}}),
    );
    let expected =
        ["spec.limits[0].min[cpu]: Invalid value: \"2\": min value 2 is greater than max value 1"];
    assert_eq!(errors, expected);
}

#[test]
fn a_quota_counts_whole_things() {
    let hard = json!({"pods": "1500m"});
    let errors = errors_of_create(
        "",
        "ResourceQuota",
        json!({"metadata": named("q"), "spec": {"hard": hard}}),
    );
    assert_eq!(
        errors,
        ["spec.hard[pods]: Invalid value: \"1500m\": must be an integer"]
    );
}

#[test]
fn an_event_belongs_to_the_namespace_of_its_object() {
    let event = json!({"metadata": named("e"), "involvedObject": {"namespace": "other"}});
    let expected =
        ["involvedObject.namespace: Invalid value: \"other\": does not match event.namespace"];
    assert_eq!(errors_of_create("", "Event", event), expected);
}

#[test]
fn the_newer_events_are_stricter() {
    let event = json!({"metadata": named("e"), "regarding": {"namespace": "n"}, "type": "Odd"});
    let expected = [
        "eventTime: Required value",
        "type: Invalid value: \"\": has invalid value: Odd",
    ];
    assert_eq!(errors_of_create("events.k8s.io", "Event", event), expected);
}
