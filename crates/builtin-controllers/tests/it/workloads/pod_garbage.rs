//! Pods that nobody else deletes.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::fixture::Fixture;

/// Starts a cluster with a node.
async fn start() -> Fixture {
    let f = Fixture::start("podgc").await;
    f.create(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}))
        .await;
    f
}

fn nodes(f: &Fixture) -> Api<Node> {
    Api::all(f.client())
}

async fn pod(f: &Fixture, name: &str, spec: Value, finalizers: &[&str]) {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "finalizers": finalizers},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    for (field, value) in spec.as_object().unwrap() {
        pod["spec"][field] = value.clone();
    }
    f.create(pod).await;
    f.settled().await;
}

async fn find(f: &Fixture, name: &str) -> Option<Pod> {
    f.pods().get_opt(name).await.unwrap()
}

async fn advance(f: &Fixture, seconds: u64) {
    f.cluster.time().advance(Duration::from_secs(seconds)).await;
    f.settled().await;
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_node_that_is_gone_are_deleted_after_a_while() {
    let f = start().await;
    pod(&f, "p1", json!({"nodeName": "n1"}), &["example.com/keep"]).await;
    nodes(&f)
        .delete("n1", &DeleteParams::default())
        .await
        .unwrap();
    f.settled().await;
    advance(&f, 38).await;
    assert!(
        find(&f, "p1")
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_none()
    );
    advance(&f, 4).await;
    // The finalizer keeps the pod, so that its end can be seen.
    let left = json!(find(&f, "p1").await.unwrap());
    assert!(left["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(left["status"]["phase"], "Failed");
    let condition = &left["status"]["conditions"][0];
    assert_eq!(
        [
            &condition["type"],
            &condition["status"],
            &condition["reason"],
            &condition["message"]
        ],
        [
            "DisruptionTarget",
            "True",
            "DeletionByPodGC",
            "PodGC: node no longer exists"
        ]
    );
    // What is bound to that node again goes immediately.
    pod(&f, "p2", json!({"nodeName": "n1"}), &[]).await;
    assert!(find(&f, "p2").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn only_the_pod_that_was_seen_is_deleted() {
    let f = start().await;
    let audit = f.cluster.audit().clone();
    pod(&f, "p1", json!({"nodeName": "n1"}), &[]).await;
    let uid = find(&f, "p1").await.unwrap().metadata.uid.unwrap();
    nodes(&f)
        .delete("n1", &DeleteParams::default())
        .await
        .unwrap();
    f.settled().await;
    advance(&f, 60).await;
    assert!(find(&f, "p1").await.is_none());
    let deleted = audit.matching(|event| event.is("delete", "pods"));
    assert_eq!(deleted.len(), 1);
    let options = deleted[0].request_value().unwrap();
    assert_eq!(options["gracePeriodSeconds"], 0);
    assert_eq!(options["preconditions"]["uid"], *uid);
}

#[tokio::test(start_paused = true)]
async fn pods_stay_if_their_node_returns() {
    let f = start().await;
    pod(&f, "p1", json!({"nodeName": "n1"}), &[]).await;
    nodes(&f)
        .delete("n1", &DeleteParams::default())
        .await
        .unwrap();
    advance(&f, 20).await;
    f.create(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}))
        .await;
    advance(&f, 100).await;
    assert!(find(&f, "p1").await.is_some());
}

#[tokio::test]
async fn a_deleted_pod_that_was_never_scheduled_has_failed() {
    let f = start().await;
    pod(&f, "p1", json!({}), &["example.com/keep"]).await;
    f.pods()
        .delete("p1", &DeleteParams::default())
        .await
        .unwrap();
    f.settled().await;
    let left = json!(find(&f, "p1").await.unwrap());
    assert_eq!(left["status"]["phase"], "Failed");
    assert_eq!(left["metadata"]["deletionGracePeriodSeconds"], 0);
}

#[tokio::test]
async fn pods_that_terminate_on_a_node_that_is_out_of_service_are_deleted() {
    let f = start().await;
    pod(&f, "p1", json!({"nodeName": "n1"}), &[]).await;
    pod(&f, "p2", json!({"nodeName": "n1"}), &[]).await;
    f.pods()
        .delete("p1", &DeleteParams::default())
        .await
        .unwrap();
    f.settled().await;
    assert!(find(&f, "p1").await.is_some());
    let taint = json!({"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"});
    let (patch, params) = (
        Patch::Merge(json!({"spec": {"taints": [taint]}})),
        PatchParams::default(),
    );
    nodes(&f).patch("n1", &params, &patch).await.unwrap();
    f.settled().await;
    assert!(find(&f, "p1").await.is_none());
    assert_eq!(find(&f, "p2").await.unwrap().name_any(), "p2");
}
