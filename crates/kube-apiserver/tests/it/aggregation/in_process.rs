//! An aggregated server in the same process.

use std::sync::Arc;

use kubewright_apiserver::{
    ApiServer,
    registry::{RegistryBuilder, Resource, ResourceSpec},
};
use kubewright_machinery::gvk::GroupVersionKind;
use kubewright_store::MemoryStore;
use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use super::{SERVICES, SKY, api_service, condition, discovered};
use crate::http_client::Http;

pub(super) fn sky() -> ApiServer {
    let kind = GroupVersionKind::new("sky.example.com", "v1", "Comet");
    let spec = ResourceSpec::new(kind, "comets").namespaced();
    let mut registry = RegistryBuilder::default();
    registry.add(Resource::stored(spec, Arc::new(MemoryStore::new())));
    ApiServer::builder(registry.build()).build()
}

async fn aggregated() -> (TestCluster, Http) {
    let cluster = TestCluster::start().await;
    cluster.services().set_server("test", "sky", 443, sky());
    let http = Http::of(&cluster);
    http.post(SERVICES, api_service(Value::Null)).await.ok();
    condition(&http, "v1.sky.example.com", "True").await;
    (cluster, http)
}

#[tokio::test]
async fn requests_are_forwarded() {
    let (_cluster, http) = aggregated().await;
    let comets = format!("{SKY}/namespaces/default/comets");
    let mut watch = http.watch(&comets, "").await;
    let comet = json!({
        "apiVersion": "sky.example.com/v1", "kind": "Comet", "metadata": {"name": "halley"},
    });
    http.post(&comets, comet).await.ok();
    let event = watch.next().await.unwrap();
    assert_eq!(event["object"]["metadata"]["name"], "halley");
    assert_eq!(http.get(&comets).await.names(), ["halley"]);
    http.delete(&format!("{comets}/halley")).await.ok();
    assert_eq!(http.get(&format!("{comets}/halley")).await.code, 404);
}

#[tokio::test]
async fn discovery_and_documents_are_merged() {
    let (_cluster, http) = aggregated().await;
    let version = discovered(&http, "Current").await;
    assert_eq!(version["resources"][0]["resource"], "comets");
    let group = http.get("/apis/sky.example.com").await.ok();
    assert_eq!(group["preferredVersion"]["version"], "v1");
    let list = http.get(SKY).await.ok();
    assert_eq!(list["resources"][0]["name"], "comets");
    let document = http.get("/openapi/v2").await.json();
    let comets = &document["paths"][format!("{SKY}/namespaces/{{namespace}}/comets")];
    assert!(comets["get"].is_object(), "{comets}");
    assert!(document["paths"]["/api/v1/pods"].is_object());
    let index = http.get("/openapi/v3").await.json();
    let url = index["paths"]["apis/sky.example.com/v1"]["serverRelativeURL"].clone();
    let document = http.get(url.as_str().unwrap()).await.json();
    assert!(document["paths"][format!("{SKY}/comets")].is_object());
}

#[tokio::test]
async fn a_deleted_api_service_leads_nowhere() {
    let (_cluster, http) = aggregated().await;
    http.delete(&format!("{SERVICES}/v1.sky.example.com"))
        .await
        .ok();
    assert_eq!(http.get(&format!("{SKY}/comets")).await.code, 404);
    assert_eq!(http.get("/apis/apps/v1").await.code, 200);
}

#[tokio::test]
async fn paths_do_not_lead_out_of_the_group() {
    let (_cluster, http) = aggregated().await;
    for path in [
        "/../../../api/v1/secrets",
        "/comets/%2e%2e/x",
        "/comets/./x",
    ] {
        let answer = http.get(&format!("{SKY}{path}")).await;
        assert_eq!(answer.code, 404, "{path}");
    }
}

#[tokio::test]
async fn an_api_service_takes_the_place_of_a_custom_resource() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let crd = json!({
        "metadata": {"name": "comets.sky.example.com"},
        "spec": {
            "group": "sky.example.com", "scope": "Namespaced",
            "names": {"plural": "comets", "singular": "comet", "kind": "Comet", "listKind": "CometList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    });
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    http.post(crds, crd).await.ok();
    let comets = format!("{SKY}/namespaces/default/comets");
    let comet = |name: &str| json!({"apiVersion": "sky.example.com/v1", "kind": "Comet", "metadata": {"name": name}});
    http.post(&comets, comet("ours")).await.ok();
    cluster.services().set_server("test", "sky", 443, sky());
    let path = format!("{SERVICES}/v1.sky.example.com");
    let mut service = http.get(&path).await.ok();
    service["metadata"]["labels"] = json!({});
    service["spec"]["service"] = json!({"namespace": "test", "name": "sky"});
    http.put(&path, service).await.ok();
    condition(&http, "v1.sky.example.com", "True").await;
    while http.get(&comets).await.code == 503 {
        tokio::task::yield_now().await;
    }
    assert!(http.get(&comets).await.names().is_empty());
}
