//! Pods that are bound to a node which cannot run them.

use kubewright_nodes::{Heartbeats, NodeShape, Nodes};
use serde_json::{Value, json};

use crate::fixture::Fixture;

async fn small_node() -> Fixture {
    let shape = NodeShape::new("small")
        .capacity("cpu", "1")
        .capacity("pods", "3");
    Fixture::with(Nodes::with(Heartbeats::Elided, [shape])).await
}

fn bound(container: Value) -> Value {
    let mut container = container;
    container["name"] = json!("c");
    container["image"] = json!("nginx");
    json!({"nodeName": "small", "containers": [container]})
}

fn host_port() -> Value {
    bound(json!({"ports": [{"containerPort": 80, "hostPort": 8080}]}))
}

#[tokio::test]
async fn a_pod_that_needs_more_than_the_node_has_left_fails() {
    let fixture = small_node().await;
    let cpu = |amount: &str| bound(json!({"resources": {"requests": {"cpu": amount}}}));
    let status = fixture.create("first", cpu("600m")).await;
    assert_eq!(status.phase.as_deref(), Some("Running"));
    let status = fixture.create("second", cpu("500m")).await;
    assert_eq!(status.phase.as_deref(), Some("Failed"));
    assert_eq!(status.reason.as_deref(), Some("OutOfcpu"));
    let text = "Node didn't have enough resource: cpu, requested: 500, used: 600, capacity: 1000";
    assert_eq!(status.message, Some(format!("Pod was rejected: {text}")));
    assert_eq!(status.conditions, None);
    assert_eq!(status.container_statuses, None);
    assert!(status.start_time.is_some());
    let expected = vec![("OutOfcpu".to_owned(), text.to_owned())];
    assert_eq!(fixture.events("second").await, expected);
    // A rejected pod is deleted like any other, and holds nothing back.
    let pods = fixture.pods();
    pods.delete("second", &Default::default()).await.unwrap();
    assert!(!fixture.exists("second").await);
    let status = fixture.create("third", cpu("400m")).await;
    assert_eq!(status.phase.as_deref(), Some("Running"));
}

#[tokio::test]
async fn a_host_port_is_used_by_one_pod_at_a_time() {
    let fixture = small_node().await;
    fixture.create("first", host_port()).await;
    let status = fixture.create("second", host_port()).await;
    assert_eq!(status.reason.as_deref(), Some("NodePorts"));
    let text = "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
    assert_eq!(status.message.as_deref(), Some(text));
    let pods = fixture.pods();
    pods.delete("first", &Default::default()).await.unwrap();
    assert!(!fixture.exists("first").await);
    let status = fixture.create("third", host_port()).await;
    assert_eq!(status.phase.as_deref(), Some("Running"));
}

#[tokio::test]
async fn a_pod_whose_selector_the_node_does_not_match_fails() {
    let fixture = small_node().await;
    let mut spec = bound(json!({}));
    spec["nodeSelector"] = json!({"disk": "ssd"});
    let status = fixture.create("p", spec).await;
    assert_eq!(status.reason.as_deref(), Some("NodeAffinity"));
}

#[tokio::test]
async fn a_node_runs_no_more_pods_than_it_says() {
    let fixture = small_node().await;
    for name in ["a", "b", "c"] {
        let status = fixture.create(name, bound(json!({}))).await;
        assert_eq!(status.phase.as_deref(), Some("Running"));
    }
    let status = fixture.create("d", bound(json!({}))).await;
    assert_eq!(status.reason.as_deref(), Some("OutOfpods"));
}
