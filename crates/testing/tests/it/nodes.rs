//! Test clusters with nodes.

use std::time::{Duration, Instant};

use k8s_openapi::api::{
    apps::v1::ReplicaSet,
    core::v1::{Node, Pod},
};
use kube::{
    Api,
    api::{DeleteParams, ListParams},
};
use kubewright_testing::TestCluster;
use serde_json::{from_value, json};

fn pod(name: &str) -> Pod {
    let spec = json!({"containers": [{"name": "c", "image": "nginx"}]});
    from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap()
}

#[tokio::test]
async fn pods_become_ready_without_patching() {
    let began = Instant::now();
    let cluster = TestCluster::builder().nodes(2).start().await;
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    pods.create(&Default::default(), &pod("web")).await.unwrap();
    cluster.settled().await.unwrap();
    let took = began.elapsed();
    let status = pods.get("web").await.unwrap().status.unwrap();
    let ready = status
        .conditions
        .unwrap()
        .into_iter()
        .find(|c| c.type_ == "Ready")
        .unwrap();
    assert_eq!(ready.status, "True");
    println!("ready after {took:?}");
    pods.delete("web", &DeleteParams::default()).await.unwrap();
    cluster.settled().await.unwrap();
    assert!(pods.get_opt("web").await.unwrap().is_none());
    assert_eq!(cluster.nodes().unwrap().names(), ["node-1", "node-2"]);
}

#[tokio::test(start_paused = true)]
async fn idle_clusters_do_not_advance_time() {
    let cluster = TestCluster::builder().workloads().nodes(2).start().await;
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    cluster.settled().await.unwrap();
    pods.create(&Default::default(), &pod("web")).await.unwrap();
    cluster.settled().await.unwrap();
    let status = pods.get("web").await.unwrap().status.unwrap();
    assert_eq!(status.phase.as_deref(), Some("Running"));
    // The node reports its images.
    cluster.time().advance(Duration::from_secs(11)).await;
    cluster.settled().await.unwrap();
    let before = cluster.revision().await;
    cluster.time().advance(Duration::from_secs(600)).await;
    cluster.settled().await.unwrap();
    assert_eq!(cluster.revision().await, before);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_falls_silent_is_noticed_and_its_pods_are_replaced() {
    let cluster = TestCluster::builder().workloads().nodes(2).start().await;
    let replicas: Api<ReplicaSet> = Api::default_namespaced(cluster.client());
    let set = from_value(json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "nginx"}]},
            },
        },
    }));
    replicas
        .create(&Default::default(), &set.unwrap())
        .await
        .unwrap();
    cluster.settled().await.unwrap();
    let node = cluster.nodes().unwrap().node("node-1");
    node.go_silent().await;
    cluster.time().advance(Duration::from_secs(45)).await;
    cluster.settled().await.unwrap();
    assert_eq!(readiness(&cluster, "node-1").await, "True");

    cluster.time().advance(Duration::from_secs(10)).await;
    cluster.settled().await.unwrap();
    assert_eq!(readiness(&cluster, "node-1").await, "Unknown");
    assert_eq!(readiness(&cluster, "node-2").await, "True");

    // Pods tolerate a silent node for five minutes.
    cluster.time().advance(Duration::from_secs(310)).await;
    cluster.settled().await.unwrap();
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    let list = pods.list(&Default::default()).await.unwrap().items;
    let node_of = |pod: &Pod| pod.spec.as_ref().unwrap().node_name.clone().unwrap();
    let (leaving, staying): (Vec<_>, Vec<_>) = list
        .iter()
        .partition(|pod| pod.metadata.deletion_timestamp.is_some());
    assert!(leaving.iter().all(|pod| node_of(pod) == "node-1"));
    assert_eq!(leaving.len(), 1);
    assert_eq!(staying.len(), 2);
    assert!(staying.iter().all(|pod| node_of(pod) == "node-2"));

    // The kubelet that is back ends what was evicted.
    node.come_back().await;
    cluster.settled().await.unwrap();
    assert_eq!(readiness(&cluster, "node-1").await, "True");
    assert_eq!(pods.list(&Default::default()).await.unwrap().items.len(), 2);
    let node = Api::<Node>::all(cluster.client()).get("node-1").await;
    assert_eq!(node.unwrap().spec.unwrap().taints, None);
}

/// Returns the status of the condition `Ready` of a node.
async fn readiness(cluster: &TestCluster, name: &str) -> String {
    let node = Api::<Node>::all(cluster.client()).get(name).await.unwrap();
    let conditions = node.status.unwrap().conditions.unwrap();
    let ready = conditions.into_iter().find(|c| c.type_ == "Ready");
    ready.unwrap().status
}

#[tokio::test]
async fn addresses_of_pods_are_in_the_ranges_that_nodes_show() {
    let cluster = TestCluster::builder().workloads().nodes(3).start().await;
    let (nodes, pods): (Api<Node>, Api<Pod>) = (
        Api::all(cluster.client()),
        Api::default_namespaced(cluster.client()),
    );
    for i in 0..6 {
        let name = format!("p{i}");
        pods.create(&Default::default(), &pod(&name)).await.unwrap();
    }
    cluster.settled().await.unwrap();
    for i in 0..6 {
        let pod = pods.get(&format!("p{i}")).await.unwrap();
        let (spec, status) = (pod.spec.unwrap(), pod.status.unwrap());
        let node = nodes.get(&spec.node_name.unwrap()).await.unwrap();
        let range = node.spec.unwrap().pod_cidr.unwrap();
        let prefix = range.strip_suffix("0/24").unwrap();
        let address = status.pod_ip.unwrap();
        assert!(address.starts_with(prefix), "{address} is not in {range}");
    }
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_node_that_is_deleted_are_replaced() {
    let cluster = TestCluster::builder().workloads().nodes(2).start().await;
    let replicas: Api<ReplicaSet> = Api::default_namespaced(cluster.client());
    let set = from_value(json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 4,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "nginx"}]},
            },
        },
    }));
    let params = Default::default();
    replicas.create(&params, &set.unwrap()).await.unwrap();
    cluster.settled().await.unwrap();
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    let on = async |node: &str| {
        let fields = ListParams::default().fields(&format!("spec.nodeName={node}"));
        let listed = pods.list(&fields).await.unwrap().items.into_iter();
        let names = listed.map(|pod| pod.metadata.name.unwrap());
        names.collect::<Vec<_>>()
    };
    let lost = on("node-1").await;
    assert_eq!(lost.len(), 2);
    // The simulated node goes on running, without its Node object.
    let nodes: Api<Node> = Api::all(cluster.client());
    nodes
        .delete("node-1", &DeleteParams::default())
        .await
        .unwrap();
    cluster.settled().await.unwrap();
    assert_eq!(on("node-1").await, lost);
    cluster.time().advance(Duration::from_secs(45)).await;
    cluster.settled().await.unwrap();
    assert!(on("node-1").await.is_empty());
    assert_eq!(on("node-2").await.len(), 4);
    let status = replicas.get("web").await.unwrap().status.unwrap();
    assert_eq!(status.ready_replicas, Some(4));
    let simulated = cluster.nodes().unwrap();
    for name in lost {
        assert!(
            simulated
                .container("default", &name, "c")
                .exit(1)
                .await
                .is_err()
        );
    }
}
