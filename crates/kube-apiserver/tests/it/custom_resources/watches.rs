//! Watches of custom kinds last as long as their kind is served unchanged.

use serde_json::json;

use super::{CRD, WIDGETS, at, cluster, definition, simple, spec, version, widget};
use crate::http_client::event;

#[tokio::test]
async fn a_watch_reports_every_object_and_ends_with_the_definition() {
    let (_cluster, http) = cluster(simple(json!({}))).await;
    for name in ["a", "b"] {
        http.post(WIDGETS, widget(name, json!({}))).await.ok();
    }
    let mut events = http.watch(WIDGETS, "resourceVersion=0").await;
    assert_eq!(events.step().await, event("ADDED", "a"));
    assert_eq!(events.step().await, event("ADDED", "b"));
    http.delete(CRD).await.ok();
    assert_eq!(events.step().await, event("DELETED", "a"));
    assert_eq!(events.step().await, event("DELETED", "b"));
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn a_watch_continues_while_a_definition_waits_for_its_objects() {
    let (_cluster, http) = cluster(simple(json!({}))).await;
    let mut held = widget("held", json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/x"]);
    http.post(WIDGETS, held).await.ok();
    let mut events = http.watch(WIDGETS, "resourceVersion=0").await;
    assert_eq!(events.step().await, event("ADDED", "held"));
    http.delete(CRD).await.ok();
    assert_eq!(events.step().await, event("MODIFIED", "held"));
    http.patch(
        &at("held"),
        json!({"metadata": {"labels": {"still": "here"}}}),
    )
    .await
    .ok();
    assert_eq!(events.step().await, event("MODIFIED", "held"));
    http.patch(&at("held"), json!({"metadata": {"finalizers": []}}))
        .await
        .ok();
    assert_eq!(events.step().await, event("DELETED", "held"));
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn a_watch_ends_when_its_version_is_no_longer_served() {
    let both = json!([
        version("v1", true, spec(json!({}))),
        version("v2", false, spec(json!({})))
    ]);
    let (_cluster, http) = cluster(definition(both)).await;
    http.post(WIDGETS, widget("a", json!({}))).await.ok();
    let second = WIDGETS.replace("/v1/", "/v2/");
    let mut events = http.watch(&second, "resourceVersion=0").await;
    assert_eq!(events.step().await, event("ADDED", "a"));
    let mut crd = http.get(CRD).await.ok();
    crd["spec"]["versions"][1]["served"] = json!(false);
    http.put(CRD, crd).await.ok();
    assert_eq!(events.next().await, None);
    assert_eq!(http.get(&second).await.code, 404);
    assert_eq!(http.get(WIDGETS).await.names(), ["a"]);
}

#[tokio::test]
async fn a_watch_outlives_changes_of_a_definition_that_do_not_concern_it() {
    let (_cluster, http) = cluster(simple(json!({}))).await;
    let mut events = http.watch(WIDGETS, "resourceVersion=0").await;
    http.patch(CRD, json!({"metadata": {"labels": {"x": "y"}}}))
        .await
        .ok();
    http.post(WIDGETS, widget("a", json!({}))).await.ok();
    assert_eq!(events.step().await, event("ADDED", "a"));
    // A new schema is another matter.
    http.put(CRD, {
        let mut crd = http.get(CRD).await.ok();
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
            spec(json!({"b": {"type": "string"}}));
        crd
    })
    .await
    .ok();
    assert_eq!(events.next().await, None);
}
