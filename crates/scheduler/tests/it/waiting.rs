//! Unschedulable pods: their messages, and their retries.

use kube::api::Patch;
use serde_json::{Value, json};

use crate::fixture::{Fixture, requests};

const NO_VICTIMS: &str = "No preemption victims found for incoming pod";
const NO_HELP: &str = "Preemption is not helpful for scheduling";

#[tokio::test]
async fn unschedulable_pods_have_a_condition_and_an_event() {
    let fixture = Fixture::start().await;
    fixture.pod("p", json!({})).await;
    let message = fixture.message("p").await;
    assert_eq!(message, "no nodes available to schedule pods");
    let condition = fixture.condition("p").await;
    assert_eq!(condition.observed_generation, Some(1));
    let events = fixture.events("p").await;
    assert_eq!(events[0].reason.as_deref(), Some("FailedScheduling"));
    assert_eq!(events[0].action.as_deref(), Some("Scheduling"));
    assert_eq!(events[0].type_.as_deref(), Some("Warning"));
    assert_eq!(events[0].note.as_deref(), Some(&*message));
}

async fn told(nodes: &[Value], pod: Value) -> String {
    let fixture = Fixture::start().await;
    for (i, node) in nodes.iter().enumerate() {
        fixture.node(&format!("n{i}"), node.clone()).await;
    }
    fixture.cluster.settled().await.unwrap();
    fixture.pod("p", pod).await;
    fixture.message("p").await
}

fn expected(reasons: &str, preemption: &str) -> String {
    format!(
        "0/2 nodes are available: {reasons}. preemption: 0/2 nodes are available: {preemption}."
    )
}

#[tokio::test]
async fn every_filter_has_its_reason() {
    let plain = [json!({}), json!({})];
    let tainted = json!({"spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}});
    let cordoned = json!({"spec": {"unschedulable": true}});
    let full = json!({"status": {"allocatable": {"pods": "0"}}});
    for (nodes, pod, reasons, preemption) in [
        (
            plain.to_vec(),
            json!({"spec": requests(json!({"cpu": "9", "memory": "9Gi"}))}),
            "2 Insufficient cpu, 2 Insufficient memory".to_owned(),
            format!("2 {NO_HELP}"),
        ),
        (
            plain.to_vec(),
            json!({"spec": requests(json!({"example.com/gpu": "1"}))}),
            "2 Insufficient example.com/gpu".to_owned(),
            format!("2 {NO_HELP}"),
        ),
        (
            vec![full.clone(), full],
            json!({}),
            "2 Too many pods".to_owned(),
            format!("2 {NO_VICTIMS}"),
        ),
        (
            vec![tainted, cordoned],
            json!({}),
            "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable".to_owned(),
            format!("2 {NO_HELP}"),
        ),
        (
            plain.to_vec(),
            json!({"spec": {"nodeSelector": {"a": "b"}}}),
            "2 node(s) didn't match Pod's node affinity/selector".to_owned(),
            format!("2 {NO_HELP}"),
        ),
        (
            plain.to_vec(),
            json!({"spec": {"topologySpreadConstraints": [{
                "maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {},
            }]}}),
            "2 node(s) didn't match pod topology spread constraints (missing required label)"
                .to_owned(),
            format!("2 {NO_HELP}"),
        ),
        (
            plain.to_vec(),
            json!({"spec": {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}},
            ]}}}}),
            "2 node(s) didn't match pod affinity rules".to_owned(),
            format!("2 {NO_HELP}"),
        ),
    ] {
        assert_eq!(told(&nodes, pod).await, expected(&reasons, &preemption));
    }
}

#[tokio::test]
async fn host_ports_are_allocated_once() {
    let fixture = Fixture::start().await;
    fixture.node("n1", json!({})).await;
    fixture.cluster.settled().await.unwrap();
    let port = json!({"containerPort": 80, "hostPort": 8080});
    let container = json!({"name": "c", "image": "nginx", "ports": [port]});
    let spec = json!({"spec": {"containers": [container]}});
    fixture.pod("a", spec.clone()).await;
    assert_eq!(fixture.node_of("a").await.as_deref(), Some("n1"));
    fixture.pod("b", spec).await;
    let reason = "1 node(s) didn't have free ports for the requested pod ports";
    assert_eq!(
        fixture.message("b").await,
        format!(
            "0/1 nodes are available: {reason}. preemption: 0/1 nodes are available: 1 {NO_VICTIMS}."
        )
    );
    let now = kube::api::DeleteParams::default().grace_period(0);
    fixture.pods().delete("a", &now).await.unwrap();
    assert_eq!(fixture.node_of("b").await.as_deref(), Some("n1"));
}

#[tokio::test]
async fn pods_with_scheduling_gates_are_not_scheduled() {
    let fixture = Fixture::start().await;
    fixture.node("n1", json!({})).await;
    fixture
        .pod(
            "p",
            json!({"spec": {"schedulingGates": [{"name": "example.com/wait"}]}}),
        )
        .await;
    assert_eq!(fixture.node_of("p").await, None);
    let condition = fixture.condition("p").await;
    assert_eq!(condition.reason.as_deref(), Some("SchedulingGated"));
    assert!(fixture.events("p").await.is_empty());
    let open = Patch::Merge(json!({"spec": {"schedulingGates": null}}));
    fixture
        .pods()
        .patch("p", &Default::default(), &open)
        .await
        .unwrap();
    assert_eq!(fixture.node_of("p").await.as_deref(), Some("n1"));
}

#[tokio::test]
async fn unschedulable_pods_are_retried_when_nodes_change() {
    let fixture = Fixture::start().await;
    fixture.pod("a", json!({})).await;
    fixture
        .pod("b", json!({"spec": {"nodeSelector": {"disk": "fast"}}}))
        .await;
    fixture.message("a").await;
    fixture
        .node("n1", json!({"spec": {"unschedulable": true}}))
        .await;
    assert!(
        fixture
            .message("a")
            .await
            .contains("1 node(s) were unschedulable")
    );
    let open = Patch::Merge(json!({"spec": {"unschedulable": null}}));
    fixture
        .nodes()
        .patch("n1", &Default::default(), &open)
        .await
        .unwrap();
    assert_eq!(fixture.node_of("a").await.as_deref(), Some("n1"));
    assert_eq!(fixture.node_of("b").await, None);
    let label = Patch::Merge(json!({"metadata": {"labels": {"disk": "fast"}}}));
    fixture
        .nodes()
        .patch("n1", &Default::default(), &label)
        .await
        .unwrap();
    assert_eq!(fixture.node_of("b").await.as_deref(), Some("n1"));
}

#[tokio::test]
async fn released_resources_go_to_the_first_waiting_pod() {
    let fixture = Fixture::start().await;
    fixture
        .node("n1", json!({"status": {"allocatable": {"pods": "1"}}}))
        .await;
    fixture.cluster.settled().await.unwrap();
    for name in ["a", "b", "c"] {
        fixture.pod(name, json!({})).await;
        fixture.cluster.settled().await.unwrap();
    }
    assert_eq!(fixture.nodes_of(&["a", "b", "c"]).await, ["n1", "", ""]);
    let now = kube::api::DeleteParams::default().grace_period(0);
    fixture.pods().delete("a", &now).await.unwrap();
    assert_eq!(fixture.nodes_of(&["b", "c"]).await, ["n1", ""]);
    // A terminated pod needs no resources.
    let ended = Patch::Merge(json!({"status": {"phase": "Succeeded"}}));
    fixture
        .pods()
        .patch_status("b", &Default::default(), &ended)
        .await
        .unwrap();
    assert_eq!(fixture.node_of("c").await.as_deref(), Some("n1"));
}

#[tokio::test]
async fn the_transition_time_is_kept_while_the_pod_waits() {
    let fixture = Fixture::start().await;
    fixture
        .pod("p", json!({"spec": {"nodeSelector": {"a": "b"}}}))
        .await;
    let before = fixture.condition("p").await;
    fixture.node("n1", json!({})).await;
    let after = fixture.condition("p").await;
    assert_ne!(before.message, after.message);
    assert_eq!(before.last_transition_time, after.last_transition_time);
}

#[tokio::test]
async fn each_pod_of_an_unschedulable_burst_gets_one_event() {
    let fixture = Fixture::start().await;
    fixture
        .node("n1", json!({"status": {"allocatable": {"pods": "5"}}}))
        .await;
    fixture.cluster.settled().await.unwrap();
    for i in 0..50 {
        fixture.pod(&format!("p{i}"), json!({})).await;
    }
    fixture.cluster.settled().await.unwrap();
    let pods = fixture.pods().list(&Default::default()).await.unwrap();
    let assigned = pods
        .iter()
        .filter(|pod| pod.spec.as_ref().unwrap().node_name.is_some());
    assert_eq!(assigned.count(), 5);
    assert!(fixture.message("p49").await.contains("1 Too many pods"));
}
