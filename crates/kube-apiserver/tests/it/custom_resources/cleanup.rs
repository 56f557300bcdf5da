//! Deletion of a CustomResourceDefinition: its objects first, and the conditions on the way.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::{
    CRD, CRDS, WIDGETS, at, cluster, simple,
    webhooks::{Behaviour, converting},
    widget,
};
use crate::http_client::{APPLY, Http, event};

const DENIED: &str = "widgets.example.com \"late\" is forbidden: create not allowed while custom resource definition is terminating";

/// Returns the status, reason and message of the Terminating condition.
async fn terminating(http: &Http) -> Option<[String; 3]> {
    let answer = http.get(CRD).await;
    if answer.code == 404 {
        return None;
    }
    let crd = answer.ok();
    let conditions = crd["status"]["conditions"].as_array();
    let condition = conditions
        .into_iter()
        .flatten()
        .find(|c| c["type"] == "Terminating")?;
    let text = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    Some([text("status"), text("reason"), text("message")])
}

/// Waits until the definition gives a reason.
async fn until(http: &Http, reason: &str) -> [String; 3] {
    for _ in 0..5_000 {
        match terminating(http).await {
            Some(said) if said[1] == reason => return said,
            _ => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    panic!("nothing is said of {reason}: {:?}", terminating(http).await)
}

async fn until_gone(http: &Http, path: &str) {
    for _ in 0..5_000 {
        if http.get(path).await.code == 404 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{path} stays")
}

/// Creates an object. The end of a cleanup is stored a moment before the server accepts objects again.
async fn until_accepted(http: &Http, object: Value) {
    for _ in 0..5_000 {
        if http.post(WIDGETS, object.clone()).await.code == 201 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("objects are not accepted")
}

fn held(name: &str) -> Value {
    let mut held = widget(name, json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/x"]);
    held
}

#[tokio::test]
async fn a_definition_says_what_it_waits_for_and_what_was_done() {
    let mut crd = simple(json!({"a": {"type": "string"}}));
    crd["metadata"]["finalizers"] = json!(["example.com/own"]);
    let (_cluster, http) = cluster(crd).await;
    http.post(WIDGETS, held("held")).await.ok();
    http.delete(&format!("{CRD}?dryRun=All")).await.ok();
    assert_eq!(terminating(&http).await, None);
    let marked = http.delete(CRD).await.ok();
    assert_eq!(
        marked["metadata"]["finalizers"],
        json!([
            "example.com/own",
            "customresourcecleanup.apiextensions.k8s.io"
        ])
    );
    let said = until(&http, "InstanceDeletionInProgress").await;
    assert_eq!(
        (said[0].as_str(), said[2].as_str()),
        ("True", "CustomResource deletion is in progress")
    );
    http.patch(&at("held"), json!({"metadata": {"finalizers": null}}))
        .await
        .ok();
    let said = until(&http, "InstanceDeletionCompleted").await;
    assert_eq!(
        (said[0].as_str(), said[2].as_str()),
        ("False", "removed all instances")
    );
    let crd = http.get(CRD).await.ok();
    assert_eq!(crd["metadata"]["finalizers"], json!(["example.com/own"]));
    // Nothing is terminating any more, so there may be objects again. They outlive the definition.
    until_accepted(&http, widget("after", json!({}))).await;
    http.patch(CRD, json!({"metadata": {"finalizers": null}}))
        .await
        .ok();
    until_gone(&http, CRD).await;
    until_gone(&http, WIDGETS).await;
    http.post(CRDS, simple(json!({}))).await.ok();
    assert_eq!(http.get(WIDGETS).await.names(), ["after"]);
}

#[tokio::test]
async fn objects_that_are_held_may_be_changed_and_none_is_made() {
    let (_cluster, http) = cluster(simple(json!({"a": {"type": "string"}}))).await;
    http.post(WIDGETS, held("held")).await.ok();
    http.delete(CRD).await.ok();
    let object = http.get(&at("held")).await.ok();
    assert_eq!(object["metadata"]["generation"], 2);
    assert_eq!(object["metadata"]["deletionGracePeriodSeconds"], 0);
    let late = widget("late", json!({}));
    http.post(WIDGETS, late.clone())
        .await
        .refused_with(403, DENIED);
    http.post(&format!("{WIDGETS}?dryRun=All"), late.clone())
        .await
        .refused_with(403, DENIED);
    let apply = format!("{}?fieldManager=m", at("late"));
    http.send(Method::PATCH, &apply, APPLY, late.to_string())
        .await
        .refused_with(403, DENIED);
    http.patch(&at("held"), json!({"spec": {"a": "b"}}))
        .await
        .ok();
    let mut held = widget("held", json!({"a": "c"}));
    held["metadata"]["finalizers"] = json!(["example.com/x"]);
    let apply = format!("{}?fieldManager=m&force=true", at("held"));
    http.send(Method::PATCH, &apply, APPLY, held.to_string())
        .await
        .ok();
}

#[tokio::test]
async fn a_definition_is_not_made_again_before_it_is_gone() {
    let (_cluster, http) = cluster(simple(json!({}))).await;
    http.post(WIDGETS, held("held")).await.ok();
    http.delete(CRD).await.ok();
    http.post(CRDS, simple(json!({}))).await.refused_with(
        409,
        "object is being deleted: customresourcedefinitions.apiextensions.k8s.io \"widgets.example.com\" already exists",
    );
    http.patch(&at("held"), json!({"metadata": {"finalizers": []}}))
        .await
        .ok();
    until_gone(&http, CRD).await;
    http.post(CRDS, simple(json!({}))).await.ok();
    assert!(http.get(WIDGETS).await.names().is_empty());
    http.post(WIDGETS, widget("held", json!({}))).await.ok();
}

#[tokio::test]
async fn a_definition_that_was_made_again_is_left_alone() {
    let (_cluster, http) = cluster(simple(json!({}))).await;
    http.post(WIDGETS, held("held")).await.ok();
    http.delete(CRD).await.ok();
    // Somebody is impatient.
    http.patch(CRD, json!({"metadata": {"finalizers": null}}))
        .await
        .ok();
    until_gone(&http, CRD).await;
    let uid = http.post(CRDS, simple(json!({}))).await.ok()["metadata"]["uid"].clone();
    http.patch(&at("held"), json!({"metadata": {"finalizers": []}}))
        .await
        .ok();
    until_gone(&http, &at("held")).await;
    // A clean-up that begins now and ends: the old one has seen by then that nothing is left.
    let mut other = simple(json!({}));
    other["metadata"]["name"] = json!("gadgets.example.com");
    other["spec"]["names"] = json!({"plural": "gadgets", "kind": "Gadget"});
    http.post(CRDS, other).await.ok();
    let gadgets = format!("{CRDS}/gadgets.example.com");
    http.delete(&gadgets).await.ok();
    until_gone(&http, &gadgets).await;
    // It has nothing to do with the new definition.
    assert_eq!(http.get(CRD).await.ok()["metadata"]["uid"], uid);
    assert_eq!(terminating(&http).await, None);
}

#[tokio::test]
async fn objects_of_every_namespace_go_and_watchers_see_them_go() {
    let (_cluster, http) = cluster(simple(json!({}))).await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}});
    http.post("/api/v1/namespaces", namespace).await.ok();
    http.post(WIDGETS, widget("a", json!({}))).await.ok();
    let other = WIDGETS.replace("default", "other");
    http.post(&other, widget("b", json!({}))).await.ok();
    let mut events = http
        .watch("/apis/example.com/v1/widgets", "resourceVersion=0")
        .await;
    assert_eq!(events.step().await, event("ADDED", "a"));
    assert_eq!(events.step().await, event("ADDED", "b"));
    http.delete(CRD).await.ok();
    assert_eq!(events.step().await, event("DELETED", "a"));
    assert_eq!(events.step().await, event("DELETED", "b"));
    until_gone(&http, CRD).await;
}

#[tokio::test]
async fn an_unserved_definition_deletes_no_objects() {
    let (_cluster, http) = cluster(simple(json!({}))).await;
    http.post(WIDGETS, widget("a", json!({}))).await.ok();
    let mut second = simple(json!({}));
    second["metadata"]["name"] = json!("gadgets.example.com");
    second["metadata"]["finalizers"] = json!(["example.com/own"]);
    second["spec"]["names"] = json!({"plural": "gadgets", "kind": "Widget"});
    http.post(CRDS, second).await.ok();
    let gadgets = format!("{CRDS}/gadgets.example.com");
    http.delete(&gadgets).await.ok();
    for _ in 0..1_000 {
        let crd = http.get(&gadgets).await.ok();
        if crd["metadata"]["finalizers"] == json!(["example.com/own"]) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let conditions = http.get(&gadgets).await.ok()["status"]["conditions"].clone();
    let said = conditions
        .as_array()
        .into_iter()
        .flatten()
        .find(|c| c["type"] == "Terminating");
    let said = said.expect("something is said").clone();
    assert_eq!(said["status"], "False");
    assert_eq!(said["reason"], "NeverEstablished");
    assert_eq!(said["message"], "resource was never established");
    http.get(&at("a")).await.ok();
}

#[tokio::test]
async fn objects_that_cannot_be_read_hold_the_definition() {
    let broken: Behaviour = |_| Some((503, String::new()));
    let (_cluster, http, _endpoint) = converting(broken).await;
    // From now on they are stored in a version that nobody can convert them to.
    let mut versions = http.get(CRD).await.ok()["spec"]["versions"].clone();
    versions[0]["storage"] = json!(false);
    versions[1]["storage"] = json!(true);
    http.patch(CRD, json!({"spec": {"versions": versions}}))
        .await
        .ok();
    http.delete(CRD).await.ok();
    let said = until(&http, "InstanceDeletionFailed").await;
    assert_eq!(said[0], "True");
    assert_eq!(
        said[2],
        "could not list instances: conversion webhook for example.com/v1, Kind=WidgetList failed: the server is currently unable to handle the request"
    );
    assert_eq!(http.get(WIDGETS).await.names().len(), 3);
    // The author gives up on converting.
    let none = json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}});
    http.patch(CRD, none).await.ok();
    until_gone(&http, CRD).await;
}

#[tokio::test(start_paused = true)]
async fn after_a_minute_it_is_said_that_objects_are_still_there() {
    let (_cluster, http) = cluster(simple(json!({}))).await;
    http.post(WIDGETS, held("held")).await.ok();
    http.delete(CRD).await.ok();
    let said = until(&http, "InstanceDeletionCheck").await;
    assert_eq!(said[0], "True");
    assert_eq!(
        said[2],
        "could not confirm zero CustomResources remaining: context deadline exceeded"
    );
    // And then it goes on.
    until(&http, "InstanceDeletionInProgress").await;
    http.patch(&at("held"), json!({"metadata": {"finalizers": []}}))
        .await
        .ok();
    until_gone(&http, CRD).await;
}
