//! The nodes themselves.

use k8s_openapi::api::{coordination::v1::Lease, core::v1::Node};
use kube::Api;
use kubewright_nodes::{Heartbeats, NodeShape, Nodes, Pressure};
use kubewright_testing::TestCluster;
use serde_json::{from_value, json, to_value};

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
async fn nodes_have_the_properties_of_their_shapes() {
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
async fn leases_are_renewed_only_with_real_heartbeats() {
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

#[tokio::test(start_paused = true)]
async fn the_status_is_posted_every_five_minutes_with_real_heartbeats() {
    let shapes = [NodeShape::new("node-1")];
    let fixture = Fixture::with(Nodes::with(Heartbeats::Real, shapes)).await;
    let times = async || {
        let conditions = fixture.node("node-1").await.status.unwrap().conditions;
        let conditions = conditions.unwrap().into_iter();
        let times = conditions.map(|c| (c.last_heartbeat_time.unwrap().0, c.last_transition_time));
        times.collect::<Vec<_>>()
    };
    let before = times().await;
    fixture.pass(290).await;
    assert_eq!(times().await, before);
    fixture.pass(30).await;
    let after = times().await;
    assert_eq!(after.len(), 4);
    for (before, after) in before.iter().zip(&after) {
        assert!(after.0.duration_since(before.0).as_secs() >= 290);
        assert_eq!(after.1, before.1);
    }
}

#[tokio::test(start_paused = true)]
async fn images_are_reported_and_attract_pods() {
    let image = "registry.example/model:1";
    let shapes = [
        NodeShape::new("node-1"),
        NodeShape::new("node-2").image(image, 4_000_000_000),
    ];
    let fixture = Fixture::with(Nodes::with(Heartbeats::Elided, shapes)).await;
    let container = json!({"name": "c", "image": image, "imagePullPolicy": "Never"});
    let status = fixture
        .create("p", json!({"containers": [container]}))
        .await;
    assert!(is_ready(&status));
    let pod = fixture.pods().get("p").await.unwrap();
    assert_eq!(pod.spec.unwrap().node_name.as_deref(), Some("node-2"));
    let spec = json!({"nodeName": "node-2", "containers": [{"name": "c", "image": "nginx"}]});
    fixture.create("q", spec).await;
    let shown = async || {
        let images = fixture.node("node-2").await.status.unwrap().images;
        let images = images.unwrap_or_default().into_iter();
        let names = images.map(|image| image.names.unwrap().pop().unwrap());
        names.collect::<Vec<_>>()
    };
    assert_eq!(shown().await, [image]);
    fixture.pass(11).await;
    assert_eq!(shown().await, [image, "docker.io/library/nginx:latest"]);
}

#[tokio::test]
async fn nodes_are_cordoned() {
    let fixture = Fixture::with(Nodes::new(1)).await;
    let node = fixture.nodes.node("node-1");
    node.cordon().await.unwrap();
    let status = fixture.run("p", "nginx", "Always").await;
    let scheduled = condition(&status, "PodScheduled");
    let message = scheduled.message.as_deref().unwrap_or_default();
    assert!(
        message.contains("1 node(s) were unschedulable"),
        "{message}"
    );
    node.uncordon().await.unwrap();
    assert!(is_ready(&fixture.status("p").await));
    assert!(fixture.nodes.node("missing").cordon().await.is_err());
}

#[tokio::test]
async fn a_removed_node_leaves_with_its_containers() {
    let fixture = Fixture::with(Nodes::new(2)).await;
    let spec = json!({"nodeName": "node-1", "containers": [{"name": "c", "image": "nginx"}]});
    fixture.create("p", spec).await;
    fixture.nodes.remove("node-1").await.unwrap();
    fixture.nodes.remove("node-1").await.unwrap();
    fixture.settled().await;
    let nodes: Api<Node> = Api::all(fixture.cluster.client());
    assert!(nodes.get_opt("node-1").await.unwrap().is_none());
    assert_eq!(fixture.nodes.names(), ["node-2"]);
    // The pod stays until a controller deletes it, and nothing runs it.
    assert!(fixture.exists("p").await);
    let container = fixture.nodes.container("default", "p", "c");
    assert!(container.exit(1).await.is_err());
    // New nodes have addresses of their own.
    fixture.nodes.add(NodeShape::new("node-3"));
    fixture.nodes.ready().await;
    let range = async |name| fixture.node(name).await.spec.unwrap().pod_cidr;
    assert_eq!(range("node-2").await.as_deref(), Some("10.244.1.0/24"));
    assert_eq!(range("node-3").await.as_deref(), Some("10.244.2.0/24"));
}

#[tokio::test]
async fn pods_have_addresses_of_the_range_of_their_node() {
    let cluster = TestCluster::start().await;
    let nodes: Api<Node> = Api::all(cluster.client());
    let known = json!({
        "metadata": {"name": "node-1"},
        "spec": {"podCIDR": "10.77.3.0/24", "podCIDRs": ["10.77.3.0/24"]},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    });
    let known = from_value(known).unwrap();
    nodes.create(&Default::default(), &known).await.unwrap();
    let fixture = Fixture::on(cluster, Nodes::new(2)).await;
    for (node, first) in [("node-1", "10.77.3.2"), ("node-2", "10.244.1.2")] {
        let spec = json!({"nodeName": node, "containers": [{"name": "c", "image": "nginx"}]});
        let status = fixture.create(&format!("on-{node}"), spec).await;
        assert_eq!(status.pod_ip.as_deref(), Some(first), "{node}");
    }
}

#[tokio::test]
async fn a_silent_node_writes_nothing_until_it_comes_back() {
    let fixture = Fixture::with(Nodes::new(1)).await;
    fixture.run("p", "nginx", "Always").await;
    fixture.nodes.node("node-1").go_silent().await;
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
async fn a_crashed_node_restarts_its_containers() {
    let fixture = Fixture::with(Nodes::new(1)).await;
    fixture.run("p", "nginx", "Always").await;
    let node = fixture.nodes.node("node-1");
    node.crash().await;
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
async fn pressure_sets_conditions_and_evicts_pods() {
    let fixture = Fixture::with(Nodes::new(1)).await;
    fixture.run("p", "nginx", "Always").await;
    fixture
        .nodes
        .node("node-1")
        .begin_pressure(Pressure::Memory)
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
    let node = fixture.nodes.node("node-1");
    node.end_pressure(Pressure::Memory).await;
    let node = to_value(fixture.node("node-1").await).unwrap();
    assert_eq!(node["status"]["conditions"][0]["status"], "False");
}

#[tokio::test(start_paused = true)]
async fn an_idle_cluster_writes_nothing() {
    let fixture = Fixture::start().await;
    for i in 0..5 {
        fixture.run(&format!("p{i}"), "nginx", "Always").await;
    }
    // The nodes report their images.
    fixture.pass(11).await;
    let before = fixture.cluster.revision().await;
    // Events live for an hour.
    fixture.pass(3500).await;
    assert_eq!(fixture.cluster.revision().await, before);
}
