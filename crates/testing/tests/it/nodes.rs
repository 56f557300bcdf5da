//! Test clusters with nodes.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::DeleteParams};
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
async fn time_stands_still_while_nothing_happens() {
    let cluster = TestCluster::builder().workloads().nodes(2).start().await;
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    cluster.settled().await.unwrap();
    pods.create(&Default::default(), &pod("web")).await.unwrap();
    cluster.settled().await.unwrap();
    let status = pods.get("web").await.unwrap().status.unwrap();
    assert_eq!(status.phase.as_deref(), Some("Running"));
    let before = cluster.revision().await;
    cluster.time().advance(Duration::from_secs(600)).await;
    cluster.settled().await.unwrap();
    assert_eq!(cluster.revision().await, before);
}
