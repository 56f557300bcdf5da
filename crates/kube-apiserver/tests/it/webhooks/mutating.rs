//! Patches, their order, and second calls.

use http::Method;
use serde_json::{Value, json};

use super::{MUTATING, Scene, VALIDATING, allow, patch, rule};
use crate::http_client::{APPLY, MAPS, MERGE, map};

fn set(path: &str, value: &str) -> Value {
    json!([{"op": "add", "path": path, "value": value}])
}

#[tokio::test]
async fn patches_are_applied_in_order() {
    let scene = Scene::new().await;
    scene.serve("b", |review| {
        assert_eq!(review["request"]["object"]["data"]["a"], "1");
        patch(review, set("/data/b", "2"))
    });
    scene.serve("a", |review| {
        patch(
            review,
            json!([{"op": "add", "path": "/data", "value": {"a": "1"}}]),
        )
    });
    scene.register(MUTATING, "b", json!({})).await;
    scene.register(MUTATING, "a", json!({})).await;
    let created = scene.http.post(MAPS, map("m")).await.ok();
    assert_eq!(created["data"], json!({"a": "1", "b": "2"}));
    // What a webhook adds belongs to nobody.
    let fields = created["metadata"]["managedFields"].to_string();
    assert!(!fields.contains("f:b"), "{fields}");
    let stored = scene.http.get(&format!("{MAPS}/m")).await.ok();
    assert_eq!(stored["data"], created["data"]);
    assert_eq!(
        stored["metadata"]["managedFields"],
        created["metadata"]["managedFields"]
    );
}

#[tokio::test]
async fn a_configuration_counts_from_the_answer_to_its_write_on() {
    let scene = Scene::new().await;
    scene.serve("a", |review| {
        patch(
            review,
            json!([{"op": "add", "path": "/data", "value": {"a": "1"}}]),
        )
    });
    let before = scene.http.post(MAPS, map("before")).await.ok();
    assert!(before["data"].is_null());
    scene.register(MUTATING, "a", json!({})).await;
    let with = scene.http.post(MAPS, map("with")).await.ok();
    assert_eq!(with["data"]["a"], "1");
    scene
        .http
        .delete(&format!("{}/{MUTATING}/a", super::GROUP))
        .await
        .ok();
    let after = scene.http.post(MAPS, map("after")).await.ok();
    assert!(after["data"].is_null());
}

#[tokio::test]
async fn a_webhook_is_called_again_if_a_later_one_changed_the_object() {
    let scene = Scene::new().await;
    let first = scene.serve("a", allow);
    let never = scene.serve("b", allow);
    scene.serve("c", |review| {
        patch(
            review,
            json!([{"op": "add", "path": "/data", "value": {"c": "1"}}]),
        )
    });
    let last = scene.serve("d", allow);
    let again = json!({"reinvocationPolicy": "IfNeeded"});
    scene.register(MUTATING, "a", again.clone()).await;
    scene.register(MUTATING, "b", json!({})).await;
    scene.register(MUTATING, "c", json!({})).await;
    scene.register(MUTATING, "d", again).await;
    scene.http.post(MAPS, map("m")).await.ok();
    assert_eq!(first.lock().len(), 2);
    assert_eq!(first.lock()[1]["request"]["object"]["data"]["c"], "1");
    assert_eq!(never.lock().len(), 1);
    assert_eq!(last.lock().len(), 1);
}

#[tokio::test]
async fn a_patch_without_effect_causes_no_second_call() {
    let scene = Scene::new().await;
    let again = json!({"reinvocationPolicy": "IfNeeded"});
    let first = scene.serve("a", allow);
    scene.serve("b", |review| {
        patch(
            review,
            json!([{"op": "add", "path": "/unknown", "value": 1}]),
        )
    });
    scene.register(MUTATING, "a", again).await;
    scene.register(MUTATING, "b", json!({})).await;
    let created = scene.http.post(MAPS, map("m")).await.ok();
    assert!(created.get("unknown").is_none());
    assert_eq!(first.lock().len(), 1);
}

#[tokio::test]
async fn built_in_objects_are_defaulted_after_a_patch() {
    let scene = Scene::new().await;
    let ports = json!([{"op": "add", "path": "/spec/ports", "value": [{"port": 80}]}]);
    scene.serve("a", move |review| patch(review, ports.clone()));
    let seen = scene.serve("b", allow);
    let services = json!({"rules": [rule("", "services")]});
    scene.register(MUTATING, "a", services.clone()).await;
    scene.register(MUTATING, "b", services).await;
    let service = json!({"metadata": {"name": "s"}, "spec": {"selector": {"a": "b"}}});
    let path = "/api/v1/namespaces/default/services";
    let created = scene.http.post(path, service).await.ok();
    assert_eq!(created["spec"]["ports"][0]["targetPort"], 80);
    let ports = seen.lock()[0]["request"]["object"]["spec"]["ports"].clone();
    assert_eq!(
        ports,
        json!([{"port": 80, "protocol": "TCP", "targetPort": 80}])
    );
}

#[tokio::test]
async fn every_write_is_mutated() {
    let scene = Scene::new().await;
    let seen = scene.serve("a", |review| {
        let object = &review["request"]["object"];
        match object.is_null() {
            true => allow(review),
            false => patch(
                review,
                json!([{"op": "add", "path": "/immutable", "value": false}]),
            ),
        }
    });
    scene.register(MUTATING, "a", json!({})).await;
    let one = format!("{MAPS}/m");
    let http = &scene.http;
    assert_eq!(http.post(MAPS, map("m")).await.ok()["immutable"], false);
    assert_eq!(http.put(&one, map("m")).await.ok()["immutable"], false);
    let data = json!({"data": {"a": "1"}}).to_string();
    let merged = http.send(Method::PATCH, &one, MERGE, data).await.ok();
    assert_eq!(merged["immutable"], false);
    let mut applied = map("applied");
    applied["apiVersion"] = json!("v1");
    applied["kind"] = json!("ConfigMap");
    let apply = format!("{MAPS}/applied?fieldManager=me");
    for _ in 0..3 {
        let body = applied.to_string();
        let applied = http.send(Method::PATCH, &apply, APPLY, body).await.ok();
        assert_eq!(applied["immutable"], false);
    }
    http.delete(&one).await.ok();
    let operations: Vec<String> = seen
        .lock()
        .iter()
        .map(|review| {
            review["request"]["operation"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    let expected = [
        "CREATE", "UPDATE", "UPDATE", "CREATE", "UPDATE", "UPDATE", "DELETE",
    ];
    assert_eq!(operations, expected);
}

#[tokio::test]
async fn a_changed_name_is_stored_and_a_changed_namespace_is_refused() {
    let scene = Scene::new().await;
    scene.serve("a", |review| match review["request"]["name"] == "m" {
        true => patch(review, set("/metadata/name", "renamed")),
        false => patch(review, set("/metadata/namespace", "other")),
    });
    let later = scene.serve("b", allow);
    scene.register(MUTATING, "a", json!({})).await;
    scene.register(VALIDATING, "b", json!({})).await;
    scene.http.post(MAPS, map("m")).await.ok();
    scene.http.get(&format!("{MAPS}/renamed")).await.ok();
    assert_eq!(
        later.lock()[0]["request"]["object"]["metadata"]["name"],
        "renamed"
    );
    scene.http.post(MAPS, map("n")).await.refused_with(
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    );
}

#[tokio::test]
async fn broken_managed_fields_are_restored() {
    let scene = Scene::new().await;
    let broken =
        json!([{"op": "replace", "path": "/metadata/managedFields/0/operation", "value": "Dream"}]);
    scene.serve("a", move |review| {
        assert_eq!(
            review["request"]["object"]["metadata"]["managedFields"][0]["operation"],
            "Update"
        );
        patch(review, broken.clone())
    });
    scene.register(MUTATING, "a", json!({})).await;
    let mut object = map("m");
    object["data"] = json!({"a": "1"});
    let created = scene.http.post(MAPS, object).await;
    assert_eq!(
        created.ok()["metadata"]["managedFields"][0]["operation"],
        "Update"
    );
    let warnings = created.warnings();
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].contains(".metadata.managedFields was in an invalid state after admission")
    );
}

#[tokio::test]
async fn custom_objects_are_pruned_and_defaulted_after_webhooks() {
    let scene = Scene::new().await;
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "size": {"type": "integer"}, "mode": {"type": "string", "default": "auto"},
    }}}});
    let crd = json!({
        "metadata": {"name": "gadgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    scene.http.post(crds, crd).await.ok();
    scene.serve("a", |review| {
        let object = &review["request"]["object"];
        match object["metadata"]["name"] == "bad" {
            true => patch(
                review,
                json!([{"op": "add", "path": "/spec/size", "value": "big"}]),
            ),
            false => patch(
                review,
                json!([{"op": "add", "path": "/spec", "value": {"extra": 1, "size": 2}}]),
            ),
        }
    });
    let gadgets = json!({"rules": [rule("example.com", "gadgets")]});
    scene.register(MUTATING, "a", gadgets).await;
    let path = "/apis/example.com/v1/namespaces/default/gadgets";
    let gadget = |name: &str| json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name}, "spec": {}});
    let created = scene.http.post(path, gadget("a")).await.ok();
    assert_eq!(created["spec"], json!({"size": 2, "mode": "auto"}));
    scene.http.post(path, gadget("bad")).await.refused(422);
}

#[tokio::test]
async fn an_object_that_grows_too_large_is_not_passed_on() {
    let scene = Scene::new().await;
    let mut seen = Vec::new();
    for name in ["a", "b", "c"] {
        seen.push(scene.serve(name, move |review| {
            let add = json!({"op": "add", "path": format!("/data/{name}"), "value": "x".repeat(2_500_000)});
            patch(review, json!([add]))
        }));
        scene.register(MUTATING, name, json!({})).await;
    }
    let map = json!({"metadata": {"name": "grown"}, "data": {"a": ""}});
    let answer = scene.http.post(MAPS, map).await;
    answer.refused_with(500, "etcdserver: request is too large");
    let calls: Vec<usize> = seen.iter().map(|reviews| reviews.lock().len()).collect();
    assert_eq!(calls, [1, 1, 0]);
}
