//! Applies that are repeated, which the server recognises and does not compute again.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use http::{Request, header};
use kubewright_apiserver::{
    Body,
    admission::{Attributes, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_kube_apiserver::KubeApiServer;
use kubewright_machinery::{Status, gvk::GroupResource, status};
use serde_json::{Value, json};

use crate::client::Client;

const MAP: &str = "/api/v1/namespaces/default/configmaps/m";

fn config_map(colour: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"colour": colour},
    })
}

async fn apply(client: &Client, manager: &str, colour: &str) -> Value {
    let path = format!("{MAP}?fieldManager={manager}&force=true");
    let (code, applied) = client.apply(&path, &config_map(colour)).await;
    assert!(matches!(code, 200 | 201), "{applied}");
    applied
}

fn managers(object: &Value) -> Vec<&str> {
    let entries = object["metadata"]["managedFields"].as_array();
    let entries = entries.into_iter().flatten();
    let mut names: Vec<_> = entries
        .filter_map(|entry| entry["manager"].as_str())
        .collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn a_repeated_apply_changes_nothing_until_the_object_changes() {
    let client = Client::new().await;
    let first = apply(&client, "a", "red").await;
    for _ in 0..4 {
        assert_eq!(apply(&client, "a", "red").await, first);
    }
    let (code, _) = client
        .patch(MAP, &json!({"data": {"colour": "blue"}}))
        .await;
    assert_eq!(code, 200);
    let restored = apply(&client, "a", "red").await;
    assert_eq!(restored["data"]["colour"], "red");
    assert_ne!(
        restored["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
}

#[tokio::test]
async fn applies_by_other_managers_or_of_other_configurations_are_not_repetitions() {
    let client = Client::new().await;
    for _ in 0..3 {
        apply(&client, "a", "red").await;
    }
    assert_eq!(managers(&apply(&client, "b", "red").await), ["a", "b"]);
    for _ in 0..3 {
        apply(&client, "b", "red").await;
    }
    assert_eq!(apply(&client, "b", "blue").await["data"]["colour"], "blue");
}

#[tokio::test]
async fn a_repeated_apply_to_a_deleted_object_creates_it() {
    let client = Client::new().await;
    for _ in 0..3 {
        apply(&client, "a", "red").await;
    }
    assert_eq!(client.delete(MAP).await.0, 200);
    let path = format!("{MAP}?fieldManager=a&force=true");
    assert_eq!(client.apply(&path, &config_map("red")).await.0, 201);
}

/// Counts updates, and rejects them once it is asked to.
#[derive(Default)]
struct Gate {
    asked: AtomicUsize,
    closed: AtomicBool,
}

#[boxed_async]
impl Plugin for Gate {
    async fn validate(
        &self,
        _cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        if object.is_some_and(|object| object["kind"] == "ConfigMap") {
            self.asked.fetch_add(1, Ordering::Relaxed);
        }
        match self.closed.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(status::forbidden(
                &GroupResource::new("", "configmaps"),
                attributes.name,
                "closed",
            )),
        }
    }
}

#[tokio::test]
async fn a_plugin_sees_every_apply_and_may_reject_a_repeated_one() {
    let gate = Arc::new(Gate::default());
    let client = Client::of(KubeApiServer::builder().plugin(gate.clone())).await;
    let before = gate.asked.load(Ordering::Relaxed);
    for _ in 0..4 {
        apply(&client, "a", "red").await;
    }
    assert_eq!(gate.asked.load(Ordering::Relaxed), before + 4);
    gate.closed.store(true, Ordering::Relaxed);
    let path = format!("{MAP}?fieldManager=a&force=true");
    assert_eq!(client.apply(&path, &config_map("red")).await.0, 403);
}

#[tokio::test]
async fn a_repeated_apply_repeats_its_warnings() {
    let server = KubeApiServer::builder().build().await;
    let server = server.expect("an API server in memory starts");
    let twice = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":{"a":"1","a":"1"}}"#;
    for _ in 0..4 {
        let request = Request::patch(format!("{MAP}?fieldManager=a"))
            .header(header::CONTENT_TYPE, "application/apply-patch+yaml")
            .body(Body::from(twice))
            .expect("the request is well-formed");
        let response = server.server().handle(request).await;
        assert!(response.headers().contains_key(header::WARNING));
    }
}
