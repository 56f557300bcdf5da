//! The usage of simulated nodes and pods.

use std::time::Duration;

use http::{Method, Request};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kubewright_cluster::{Cluster, Profile};
use serde_json::{Value, from_str, from_value, json};

async fn call(cluster: &Cluster, method: Method, path: &str) -> Result<Value, u16> {
    let path = format!("/apis/metrics.k8s.io/v1beta1{path}");
    let request = Request::builder().method(method).uri(path);
    let request = request.body(Vec::new()).unwrap();
    match cluster.client().request_text(request).await {
        Ok(text) => Ok(from_str(&text).unwrap()),
        Err(kube::Error::Api(status)) => Err(status.code),
        Err(error) => panic!("{error}"),
    }
}

async fn names(cluster: &Cluster, path: &str) -> Vec<String> {
    let list = call(cluster, Method::GET, path).await.unwrap();
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn the_scheduler_and_the_controllers_of_a_cluster_are_healthy() {
    let healthy = async |cluster: &Cluster, name: &str| {
        let path = format!("/api/v1/componentstatuses/{name}");
        let request = Request::get(path).body(Vec::new()).unwrap();
        let text = cluster.client().request_text(request).await.unwrap();
        let status: Value = from_str(&text).unwrap();
        status["conditions"][0]["status"] == "True"
    };
    let full = Cluster::builder()
        .profile(Profile::Full)
        .start()
        .await
        .unwrap();
    let bare = Cluster::builder().start().await.unwrap();
    for name in ["scheduler", "controller-manager"] {
        assert!(healthy(&full, name).await, "{name}");
        assert!(!healthy(&bare, name).await, "{name}");
    }
}

#[tokio::test]
async fn usage_is_listed_and_selected() {
    let cluster = Cluster::builder().nodes(2).start().await.unwrap();
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    for (name, app, cpu) in [("a", "web", "250m"), ("b", "web", "1"), ("c", "db", "2")] {
        let pod = json!({
            "metadata": {
                "name": name, "labels": {"app": app},
                "annotations": {"usage.kubewright.dev/cpu": cpu, "usage.kubewright.dev/memory": "64Mi"},
            },
            "spec": {"containers": [{"name": "c", "image": "nginx"}]},
        });
        let pod = from_value(pod).unwrap();
        pods.create(&Default::default(), &pod).await.unwrap();
    }
    cluster.settled(Duration::from_secs(60)).await.unwrap();
    assert_eq!(names(&cluster, "/nodes").await, ["node-1", "node-2"]);
    assert_eq!(
        names(&cluster, "/nodes?fieldSelector=metadata.name%3Dnode-2").await,
        ["node-2"]
    );
    assert_eq!(names(&cluster, "/pods").await, ["a", "b", "c"]);
    assert_eq!(
        names(&cluster, "/pods?labelSelector=app%3Dweb").await,
        ["a", "b"]
    );
    let both = "/namespaces/default/pods?labelSelector=app%3Dweb&fieldSelector=metadata.name!%3Da";
    assert_eq!(names(&cluster, both).await, ["b"]);
    assert!(
        names(&cluster, "/namespaces/kube-system/pods")
            .await
            .is_empty()
    );
    let one = call(&cluster, Method::GET, "/namespaces/default/pods/a").await;
    let usage = json!({"cpu": "250000000n", "memory": "65536Ki"});
    assert_eq!(
        one.unwrap()["containers"],
        json!([{"name": "c", "usage": usage}])
    );
}

#[tokio::test]
async fn bad_requests_for_usage_are_refused() {
    let cluster = Cluster::builder().nodes(1).start().await.unwrap();
    for (method, path, code) in [
        (Method::GET, "/namespaces/default/pods/missing", 404),
        (Method::GET, "/pods?fieldSelector=spec.nodeName%3Dn", 400),
        (Method::GET, "/pods?labelSelector=a%20b%20c", 400),
        (Method::DELETE, "/nodes/node-1", 405),
        (Method::GET, "/gadgets", 404),
    ] {
        let answer = call(&cluster, method, path).await;
        assert_eq!(answer.unwrap_err(), code, "{path}");
    }
}
