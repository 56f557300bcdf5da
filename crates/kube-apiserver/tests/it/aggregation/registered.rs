//! The APIServices of the server's own group versions, and the order of discovery.

use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use super::{SERVICES, api_service};
use crate::http_client::Http;

const LABEL: &str = "kube-aggregator.kubernetes.io/automanaged";

#[tokio::test]
async fn built_in_group_versions_are_registered() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let list = http.get(SERVICES).await.ok();
    let items = list["items"].as_array().unwrap();
    let find = |name: &str| items.iter().find(|item| item["metadata"]["name"] == name);
    let apps = find("v1.apps").unwrap();
    assert_eq!(apps["metadata"]["labels"][LABEL], "onstart");
    assert_eq!(
        apps["spec"],
        json!({"group": "apps", "version": "v1", "groupPriorityMinimum": 17800, "versionPriority": 15})
    );
    let condition = &apps["status"]["conditions"][0];
    assert_eq!(condition["reason"], "Local");
    assert!(find("v1.").is_some(), "the core group");
    assert!(find("v1.apiregistration.k8s.io").is_none());
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let table = http.get_as(&format!("{SERVICES}/v1.apps"), table).await;
    assert_eq!(table.json()["rows"][0]["cells"][1], "Local");
}

fn crd(group: &str) -> Value {
    json!({
        "metadata": {"name": format!("moons.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": "moons", "singular": "moon", "kind": "Moon", "listKind": "MoonList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    })
}

#[tokio::test]
async fn custom_resources_are_registered_as_long_as_they_are_served() {
    const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    http.post(CRDS, crd("sky.example.com")).await.ok();
    let path = format!("{SERVICES}/v1.sky.example.com");
    let service = http.get(&path).await.ok();
    assert_eq!(service["metadata"]["labels"][LABEL], "true");
    assert_eq!(service["spec"]["groupPriorityMinimum"], 1000);
    assert_eq!(service["spec"]["versionPriority"], 100);
    // One that somebody has taken over is left alone.
    http.post(CRDS, crd("sea.example.com")).await.ok();
    let own = format!("{SERVICES}/v1.sea.example.com");
    http.patch(&own, json!({"metadata": {"labels": {LABEL: null}}}))
        .await
        .ok();
    let query = "fieldSelector=metadata.name=v1.sky.example.com";
    let mut watch = http.watch(SERVICES, query).await;
    for group in ["sky.example.com", "sea.example.com"] {
        http.delete(&format!("{CRDS}/moons.{group}")).await.ok();
    }
    // Cleanup deletes the CRDs in the background.
    while watch.next().await.unwrap()["type"] != "DELETED" {}
    http.get(&own).await.ok();
}

#[tokio::test]
async fn groups_are_listed_by_their_priorities() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let before = http.get("/apis").await.ok();
    let names = |list: &Value| -> Vec<String> {
        let groups = list["groups"].as_array().unwrap().iter();
        groups
            .map(|group| group["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let built_in = names(&before);
    assert_eq!(built_in[0], "apiregistration.k8s.io");
    assert_eq!(built_in[1], "apps");
    for (name, priority) in [("sky", 17790), ("sea", 1)] {
        let mut service = api_service(json!({
            "group": format!("{name}.example.com"), "groupPriorityMinimum": priority,
        }));
        service["metadata"]["name"] = json!(format!("v1.{name}.example.com"));
        http.post(SERVICES, service).await.ok();
    }
    super::discovered(&http, "Stale").await;
    let after = names(&http.get("/apis").await.ok());
    assert_eq!(after[2], "sky.example.com");
    assert_eq!(after.last().unwrap(), "sea.example.com");
    let rest: Vec<&String> = after
        .iter()
        .filter(|name| !name.ends_with("example.com"))
        .collect();
    assert_eq!(rest, built_in.iter().collect::<Vec<_>>());
}
