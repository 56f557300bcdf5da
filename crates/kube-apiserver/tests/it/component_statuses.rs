//! Component statuses: computed for each request.

use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::http_client::Http;

const STATUSES: &str = "/api/v1/componentstatuses";

#[tokio::test]
async fn statuses_of_components_are_computed() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let healthy = |message: &str, status: &str| json!([{"type": "Healthy", "status": status, "message": message}]);
    let store = http.get(&format!("{STATUSES}/etcd-0")).await.ok();
    let expected = json!({
        "kind": "ComponentStatus", "apiVersion": "v1", "metadata": {"name": "etcd-0"}, "conditions": healthy("ok", "True"),
    });
    assert_eq!(store, expected);
    let scheduler = http.get(&format!("{STATUSES}/scheduler")).await.ok();
    assert_eq!(
        scheduler["conditions"],
        healthy("does not run beside this server", "False")
    );
    http.get(&format!("{STATUSES}/nope"))
        .await
        .refused_with(404, "componentstatus \"nope\" not found");
    let names = |list: &Value| {
        let items = list["items"].as_array().cloned().unwrap_or_default();
        items
            .into_iter()
            .map(|item| item["metadata"]["name"].clone())
            .collect::<Vec<_>>()
    };
    let list = http.get(STATUSES).await.ok();
    assert_eq!(names(&list), ["controller-manager", "scheduler", "etcd-0"]);
    assert_eq!(list["metadata"].get("resourceVersion"), None);
    let one = http
        .get(&format!(
            "{STATUSES}?fieldSelector=metadata.name%3Dscheduler"
        ))
        .await
        .ok();
    assert_eq!(names(&one), ["scheduler"]);
    let none = http
        .get(&format!("{STATUSES}?labelSelector=a%3Db"))
        .await
        .ok();
    assert_eq!(names(&none), [""; 0]);
}
