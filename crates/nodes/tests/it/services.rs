//! The endpoints of services that calls reach.

use k8s_openapi::api::{core::v1::Pod, discovery::v1::EndpointSlice};
use kube::{Api, api::ListParams};
use kubewright_nodes::Nodes;
use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::{
    agnhost::{create, until},
    inside::output,
};

/// Starts a cluster with a server on its first node.
async fn start(arguments: Value) -> TestCluster {
    let builder = TestCluster::builder().workloads().nodes(Nodes::new(2));
    let cluster = builder.start().await;
    let container = json!({
        "name": "c", "image": "registry.k8s.io/e2e-test-images/agnhost:2.63.0", "args": arguments,
    });
    let pod = json!({
        "metadata": {"name": "server", "labels": {"app": "server"}},
        "spec": {"nodeName": "node-1", "containers": [container]},
    });
    create(&cluster, "/api/v1/namespaces/default/pods", pod).await;
    until(&cluster, "server", |pod| {
        let conditions = pod.status.clone().unwrap_or_default().conditions;
        let mut conditions = conditions.unwrap_or_default().into_iter();
        conditions.any(|c| c.type_ == "Ready" && c.status == "True")
    })
    .await;
    cluster
}

async fn serve(cluster: &TestCluster, name: &str, metadata: Value, spec: Value) {
    let mut service = json!({
        "metadata": metadata,
        "spec": {"selector": {"app": "server"}, "ports": [{"port": 80, "targetPort": 8080}]},
    });
    service["metadata"]["name"] = json!(name);
    for (field, value) in spec.as_object().unwrap() {
        service["spec"][field] = value.clone();
    }
    create(cluster, "/api/v1/namespaces/default/services", service).await;
    cluster.settled().await.unwrap();
}

/// Calls a service from a new pod on a node, and returns the answer.
async fn call(cluster: &TestCluster, pod: &str, node: &str, service: &str) -> String {
    let script = format!("curl -s http://{service}/hostname || echo failed");
    output(cluster, pod, &script, json!({"nodeName": node})).await
}

#[tokio::test]
async fn local_traffic_stays_on_its_node() {
    let cluster = start(json!(["netexec"])).await;
    let local = json!({"internalTrafficPolicy": "Local"});
    serve(&cluster, "local", json!({}), local).await;
    serve(&cluster, "any", json!({}), json!({})).await;
    assert_eq!(call(&cluster, "a", "node-1", "local").await, "server");
    let answer = call(&cluster, "b", "node-2", "local").await;
    assert!(answer.ends_with("failed\n"), "{answer}");
    assert_eq!(call(&cluster, "c", "node-2", "any").await, "server");
}

#[tokio::test]
async fn nodes_do_not_route_to_services_of_other_proxies() {
    let cluster = start(json!(["netexec"])).await;
    for (name, label) in [
        ("a", "service.kubernetes.io/headless"),
        ("b", "service.kubernetes.io/service-proxy-name"),
    ] {
        let metadata = json!({"labels": {label: "x"}});
        serve(&cluster, name, metadata, json!({})).await;
        let answer = call(&cluster, &format!("pod-{name}"), "node-1", name).await;
        assert!(answer.ends_with("failed\n"), "{answer}");
    }
}

#[tokio::test]
async fn a_terminating_pod_serves_when_no_other_is_ready() {
    let cluster = start(json!(["netexec", "--delay-shutdown=600"])).await;
    serve(&cluster, "web", json!({}), json!({})).await;
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    let grace = kube::api::DeleteParams::default().grace_period(600);
    pods.delete("server", &grace).await.unwrap();
    cluster.settled().await.unwrap();
    let slices: Api<EndpointSlice> = Api::default_namespaced(cluster.client());
    let of_service = ListParams::default().labels("kubernetes.io/service-name=web");
    let slices = slices.list(&of_service).await.unwrap().items;
    let endpoints = slices
        .iter()
        .flat_map(|slice| slice.endpoints.iter().flatten());
    let conditions: Vec<_> = endpoints.filter_map(|e| e.conditions.clone()).collect();
    assert_eq!(conditions[0].terminating, Some(true));
    assert_eq!(call(&cluster, "a", "node-2", "web").await, "server");
}
