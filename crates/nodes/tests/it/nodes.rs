//! The nodes themselves.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kubewright_nodes::{Heartbeats, NodeShape, Nodes, Pressure};
use serde_json::{json, to_value};

use crate::fixture::{Fixture, condition, is_ready};

#[tokio::test]
async fn nodes_register_as_kubelets_do() {
    let fixture = Fixture::start().await;
    let node = to_value(fixture.node("node-1").await).unwrap();
    let labels = &node["metadata"]["labels"];
    assert_eq!(labels["kubernetes.io/hostname"], "node-1");
    assert_eq!(labels["kubernetes.io/os"], "linux");
    assert_eq!(labels["beta.kubernetes.io/arch"], "amd64");
    assert_eq!(node["spec"]["providerID"], "kubewright://node-1");
    assert!(node["spec"].get("taints").is_none(), "{}", node["spec"]);
    let status = &node["status"];
    assert_eq!(status["capacity"]["pods"], "110");
    assert_eq!(status["allocatable"]["cpu"], "8");
    let told: Vec<(&str, &str, &str)> = status["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| {
            let text = |name: &str| c[name].as_str().unwrap();
            (text("type"), text("status"), text("reason"))
        })
        .collect();
    assert_eq!(
        told,
        [
            ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
            ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
            ("PIDPressure", "False", "KubeletHasSufficientPID"),
            ("Ready", "True", "KubeletReady"),
        ]
    );
    let leases: Api<Lease> = Api::namespaced(fixture.cluster.client(), "kube-node-lease");
    let lease = leases.get("node-1").await.unwrap();
    assert_eq!(lease.metadata.owner_references.unwrap()[0].name, "node-1");
    let spec = lease.spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some("node-1"));
    assert_eq!(spec.lease_duration_seconds, Some(40));
    let events = fixture.events("node-1").await;
    let ready = (
        "NodeReady".to_owned(),
        "Node node-1 status is now: NodeReady".to_owned(),
    );
    assert!(events.contains(&ready), "{events:?}");
}

#[tokio::test]
async fn shapes_are_as_told() {
    let shape = NodeShape::new("big")
        .capacity("cpu", "64")
        .label("zone", "a")
        .taint("only", "some", "NoSchedule");
    let fixture = Fixture::with(Nodes::with(Heartbeats::Elided, [shape])).await;
    let node = fixture.node("big").await;
    assert_eq!(node.metadata.labels.unwrap()["zone"], "a");
    let taints = node.spec.unwrap().taints.unwrap();
    assert_eq!(taints.len(), 1);
    assert_eq!(taints[0].key, "only");
    let status = fixture.run("p", "nginx", "Always").await;
    assert_eq!(status.phase.as_deref(), Some("Pending"));
    let scheduled = condition(&status, "PodScheduled");
    assert!(
        scheduled
            .message
            .as_deref()
            .unwrap()
            .contains("untolerated taint")
    );
}

#[tokio::test(start_paused = true)]
async fn heartbeats_are_elided_unless_they_are_asked_for() {
    let renewed = async |fixture: &Fixture| {
        let leases: Api<Lease> = Api::namespaced(fixture.cluster.client(), "kube-node-lease");
        leases
            .get("node-1")
            .await
            .unwrap()
            .spec
            .unwrap()
            .renew_time
            .unwrap()
    };
    let fixture = Fixture::with(Nodes::new(1)).await;
    let before = renewed(&fixture).await;
    fixture.pass(60).await;
    assert_eq!(renewed(&fixture).await, before);
    let shapes = [NodeShape::new("node-1")];
    let fixture = Fixture::with(Nodes::with(Heartbeats::Real, shapes)).await;
    let before = renewed(&fixture).await;
    fixture.pass(61).await;
    let after = renewed(&fixture).await;
    assert!(after.0.duration_since(before.0).as_secs() >= 50);
}

#[tokio::test]
async fn a_silent_node_says_nothing_until_it_comes_back() {
    let fixture = Fixture::with(Nodes::new(1)).await;
    fixture.run("p", "nginx", "Always").await;
    fixture.nodes.node("node-1").go_silent();
    let status = fixture.run("q", "nginx", "Always").await;
    assert_eq!(status.phase.as_deref(), Some("Pending"));
    fixture
        .pods()
        .delete("p", &Default::default())
        .await
        .unwrap();
    assert!(fixture.exists("p").await);
    fixture.nodes.node("node-1").come_back().await;
    assert!(!fixture.exists("p").await);
}

#[tokio::test]
async fn the_containers_of_a_node_that_crashed_are_started_again() {
    let fixture = Fixture::with(Nodes::new(1)).await;
    fixture.run("p", "nginx", "Always").await;
    let node = fixture.nodes.node("node-1");
    node.crash(fixture.cluster.time().now());
    assert!(
        is_ready(&fixture.status("p").await),
        "nothing has changed its status"
    );
    node.come_back().await;
    let status = fixture.status("p").await;
    assert!(is_ready(&status));
    assert_eq!(status.container_statuses.unwrap()[0].restart_count, 1);
}

#[tokio::test]
async fn pressure_is_shown_and_evicts() {
    let fixture = Fixture::with(Nodes::new(1)).await;
    fixture.run("p", "nginx", "Always").await;
    fixture
        .nodes
        .node("node-1")
        .pressure(Pressure::Memory, true)
        .await;
    let node = to_value(fixture.node("node-1").await).unwrap();
    let memory = &node["status"]["conditions"][0];
    assert_eq!(
        (&memory["type"], &memory["status"]),
        (&json!("MemoryPressure"), &json!("True"))
    );
    assert_eq!(
        memory["message"],
        "kubelet has insufficient memory available"
    );
    fixture
        .nodes
        .evict("default", "p", Pressure::Memory)
        .await
        .unwrap();
    let status = fixture.status("p").await;
    assert_eq!(
        (status.phase.as_deref(), status.reason.as_deref()),
        (Some("Failed"), Some("Evicted"))
    );
    assert_eq!(
        status.message.as_deref(),
        Some("The node was low on resource: memory. ")
    );
    let target = condition(&status, "DisruptionTarget");
    assert_eq!(target.reason.as_deref(), Some("TerminationByKubelet"));
}

#[tokio::test(start_paused = true)]
async fn an_idle_cluster_does_nothing() {
    let fixture = Fixture::start().await;
    for i in 0..5 {
        fixture.run(&format!("p{i}"), "nginx", "Always").await;
    }
    let before = fixture.cluster.revision().await;
    fixture
        .cluster
        .time()
        .advance(Duration::from_secs(3600))
        .await;
    fixture.settled().await;
    assert_eq!(fixture.cluster.revision().await, before);
}
