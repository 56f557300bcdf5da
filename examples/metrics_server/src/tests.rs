//! The server behind a cluster in this process.

use http::Request;
use kubewright::cluster::{Cluster, Services};
use serde_json::{Value, json};
use tokio::process::Command;

use super::*;

async fn send(client: &Client, method: &str, path: &str, object: Value) -> Value {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json");
    let body = match object {
        Value::Null => Vec::new(),
        object => object.to_string().into_bytes(),
    };
    client.request(request.body(body).unwrap()).await.unwrap()
}

async fn get(client: &Client, path: &str) -> Value {
    send(client, "GET", path, Value::Null).await
}

/// Starts a cluster with a node and a pod, and the server behind it.
async fn cluster() -> Cluster {
    let services = Services::default();
    let cluster = Cluster::builder()
        .services(services.clone())
        .listen("127.0.0.1:0".parse().unwrap())
        .start()
        .await
        .unwrap();
    let client = cluster.client();
    let capacity = json!({"cpu": "4", "memory": "8Gi"});
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "first", "labels": {"zone": "a"}},
        "status": {"capacity": capacity, "allocatable": capacity},
    });
    send(&client, "POST", "/api/v1/nodes", node).await;
    api_account(&cluster).await;
    let requests = |cpu: &str, memory: &str| json!({"requests": {"cpu": cpu, "memory": memory}});
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"nodeName": "first", "containers": [
            {"name": "app", "image": "app", "resources": requests("250m", "64Mi")},
            {"name": "proxy", "image": "proxy", "resources": requests("50m", "32Mi")},
        ]},
    });
    let pods = "/api/v1/namespaces/default/pods";
    let mut pending = pod.clone();
    pending["metadata"]["name"] = json!("pending");
    send(&client, "POST", pods, pending).await;
    let mut running = send(&client, "POST", pods, pod).await;
    running["status"]["phase"] = json!("Running");
    send(&client, "PUT", &format!("{pods}/web/status"), running).await;
    let samples = Samples::default();
    sample(&client, &samples).await.unwrap();
    let server = server(&samples).build().unwrap();
    services.set_server(NAMESPACE, SERVICE, 443, server.api().clone());
    registration().apply(&client, server.api()).await.unwrap();
    let path = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io";
    while get(&client, path).await["status"]["conditions"][0]["status"] != "True" {
        tokio::task::yield_now().await;
    }
    cluster
}

/// Creates the account that pods have.
async fn api_account(cluster: &Cluster) {
    let api = cluster.api_server();
    api.ensure_service_account("default", "default")
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cluster_serves_metrics() {
    let cluster = cluster().await;
    let client = cluster.client();
    let group = "/apis/metrics.k8s.io/v1beta1";
    let nodes = get(&client, &format!("{group}/nodes")).await;
    assert_eq!(nodes["kind"], "NodeMetricsList");
    let usage = json!({"cpu": "300m", "memory": "98304Ki"});
    assert_eq!(nodes["items"][0]["usage"], usage, "{nodes}");
    let pod = get(&client, &format!("{group}/namespaces/default/pods/web")).await;
    assert_eq!(pod["containers"][1]["name"], "proxy");
    assert_eq!(pod["window"], "15s");
    let names = async |path: &str| {
        let list = get(&client, &format!("{group}/{path}")).await;
        let items = list["items"].as_array().unwrap().clone();
        let names = items
            .into_iter()
            .map(|mut item| item["metadata"]["name"].take());
        names.collect::<Vec<Value>>()
    };
    // A pod that does not run uses nothing.
    assert_eq!(names("pods").await, ["web"]);
    assert_eq!(names("pods?labelSelector=app%3Dweb").await, ["web"]);
    assert!(names("pods?labelSelector=app%3Ddb").await.is_empty());
    assert_eq!(names("nodes?labelSelector=zone%3Da").await, ["first"]);
    assert!(names("nodes?labelSelector=zone%3Db").await.is_empty());
    let elsewhere = get(&client, &format!("{group}/namespaces/other/pods")).await;
    assert_eq!(elsewhere["items"], json!([]));
    cluster.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_top_prints_usage() {
    let kubectl = Command::new("kubectl")
        .args(["version", "--client"])
        .output();
    if kubectl.await.is_err() {
        println!("skipped: kubectl top: kubectl is not installed");
        return;
    }
    let cluster = cluster().await;
    let kubeconfig = cluster.endpoint().unwrap().kubeconfig();
    let file = std::env::temp_dir().join(format!("metrics-server-{}.yaml", std::process::id()));
    std::fs::write(&file, kubeconfig).unwrap();
    let top = async |arguments: &[&str]| {
        let mut command = Command::new("kubectl");
        command.arg("top").args(arguments).env("KUBECONFIG", &file);
        let output = command.output().await.unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let text = String::from_utf8(output.stdout).unwrap();
        let rows = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        rows.collect::<Vec<_>>()
    };
    let nodes = top(&["nodes"]).await;
    assert_eq!(nodes[1], "first 300m 7% 96Mi 1%", "{nodes:?}");
    let pods = top(&["pods"]).await;
    assert_eq!(pods, ["NAME CPU(cores) MEMORY(bytes)", "web 300m 96Mi"]);
    let selected = top(&["pods", "-l", "app=web", "--no-headers"]).await;
    assert_eq!(selected, ["web 300m 96Mi"]);
    let containers = top(&["pods", "--containers", "--no-headers"]).await;
    assert_eq!(containers, ["web app 250m 64Mi", "web proxy 50m 32Mi"]);
    std::fs::remove_file(&file).unwrap();
    cluster.stop().await.unwrap();
}
