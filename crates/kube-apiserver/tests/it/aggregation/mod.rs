//! Group versions that other servers serve behind the API server.

mod backend;
mod bad_backends;
mod in_process;
mod maintenance;
mod registered;
mod slow_backends;
mod sockets;

use serde_json::{Value, json};

use crate::http_client::Http;

const SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
const SKY: &str = "/apis/sky.example.com/v1";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Returns an APIService of `sky.example.com/v1` behind the service `test/sky`.
fn api_service(change: Value) -> Value {
    let mut object = json!({
        "metadata": {"name": "v1.sky.example.com"},
        "spec": {
            "group": "sky.example.com", "version": "v1",
            "groupPriorityMinimum": 2000, "versionPriority": 10,
            "service": {"namespace": "test", "name": "sky"},
        },
    });
    for (key, value) in change.as_object().into_iter().flatten() {
        object["spec"][key] = value.clone();
    }
    object
}

/// Waits until the condition `Available` of an APIService has this status, and returns it.
async fn condition(http: &Http, name: &str, status: &str) -> Value {
    let query = format!("fieldSelector=metadata.name={name}");
    let mut watch = http.watch(SERVICES, &query).await;
    while let Some(event) = watch.next().await {
        let conditions = &event["object"]["status"]["conditions"];
        if conditions[0]["status"] == status {
            return conditions[0].clone();
        }
    }
    panic!("the watch ended before {name} was {status}");
}

/// Waits until aggregated discovery shows a group version, and returns its entry.
async fn discovered(http: &Http, freshness: &str) -> Value {
    for _ in 0..2000 {
        let list = http.get_as("/apis", AGGREGATED).await.json();
        let groups = list["items"].as_array().cloned().unwrap_or_default();
        let sky = |group: &Value| group["metadata"]["name"] == "sky.example.com";
        if let Some(group) = groups.into_iter().find(sky)
            && group["versions"][0]["freshness"] == freshness
        {
            return group["versions"][0].clone();
        }
        tokio::task::yield_now().await;
    }
    panic!("sky.example.com is not {freshness} in discovery");
}
