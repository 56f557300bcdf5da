//! Objects and documents that the server maintains: APIServices, conditions, and the documents of other servers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, header};
use kubewright_apiserver::boxed_async;
use kubewright_kube_apiserver::{FrontProxy, KubeApiServer, ServiceHandler};
use kubewright_testing::TestCluster;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{SERVICES, SKY, api_service, backend::authority, condition, discovered};
use crate::{client::Client, http_client::Http};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Returns the APIService of a custom resource as it should be.
async fn custom_resource(http: &Http) -> Value {
    let crd = json!({
        "metadata": {"name": "moons.sky.example.com"},
        "spec": {
            "group": "sky.example.com", "scope": "Namespaced",
            "names": {"plural": "moons", "singular": "moon", "kind": "Moon", "listKind": "MoonList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    });
    http.post(CRDS, crd).await.ok();
    let path = format!("{SERVICES}/v1.sky.example.com");
    http.get(&path).await.ok()
}

#[tokio::test]
async fn an_api_service_of_a_custom_resource_is_restored() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let first = custom_resource(&http).await;
    let path = format!("{SERVICES}/v1.sky.example.com");
    let mut watch = http
        .watch(SERVICES, "fieldSelector=metadata.name=v1.sky.example.com")
        .await;
    http.patch(&path, json!({"spec": {"versionPriority": 7}}))
        .await
        .ok();
    while watch.next().await.unwrap()["object"]["spec"]["versionPriority"] != 7 {}
    let repaired = watch.next().await.unwrap();
    assert_eq!(repaired["object"]["spec"], first["spec"]);
    http.delete(&path).await.ok();
    while watch.next().await.unwrap()["type"] != "DELETED" {}
    let restored = watch.next().await.unwrap();
    assert_eq!(
        (&restored["type"], &restored["object"]["spec"]),
        (&json!("ADDED"), &first["spec"])
    );
    assert_ne!(
        restored["object"]["metadata"]["uid"],
        first["metadata"]["uid"]
    );
    // Without the CRD, it is not made again.
    http.delete(&format!("{CRDS}/moons.sky.example.com"))
        .await
        .ok();
    while watch.next().await.unwrap()["type"] != "DELETED" {}
    http.post(SERVICES, api_service(Value::Null)).await.ok();
    let added = watch.next().await.unwrap();
    assert_eq!(added["object"]["spec"]["groupPriorityMinimum"], 2000);
}

#[tokio::test]
async fn an_api_service_that_becomes_local_is_available() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    http.post(SERVICES, api_service(Value::Null)).await.ok();
    let name = "v1.sky.example.com";
    let found = condition(&http, name, "False").await;
    assert_eq!(found["reason"], "ServiceNotFound");
    http.patch(
        &format!("{SERVICES}/{name}"),
        json!({"spec": {"service": null}}),
    )
    .await
    .ok();
    let found = condition(&http, name, "True").await;
    assert_eq!(
        (&found["reason"], &found["message"]),
        (
            &json!("Local"),
            &json!("Local APIServices are always available")
        )
    );
}

/// Serves OpenAPI documents with a tag as long as their status is 200.
#[derive(Default)]
struct Documents {
    status: AtomicU16,
    /// The number of requests with the tag.
    known: AtomicU16,
}

#[boxed_async]
impl ServiceHandler for Documents {
    async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        let url = format!("/openapi/v3{SKY}?hash=1");
        let body = match request.uri().path() {
            "/openapi/v2" => json!({"paths": {(format!("{SKY}/comets")): {"get": {}}}}),
            "/openapi/v3" => {
                json!({"paths": {"apis/sky.example.com/v1": {"serverRelativeURL": url}}})
            }
            _ => return Ok(Response::new(Bytes::from("{}"))),
        };
        let is_known = request.headers().get(header::IF_NONE_MATCH);
        let status = self.status.load(Ordering::SeqCst);
        let answer = Response::builder().header(header::ETAG, "\"7\"");
        let (status, body) = match is_known {
            Some(tag) if tag == "\"7\"" => {
                self.known.fetch_add(1, Ordering::SeqCst);
                (if status == 200 { 304 } else { status }, String::new())
            }
            _ => (status, body.to_string()),
        };
        let answer = answer.status(status).body(Bytes::from(body));
        answer.map_err(|e| e.to_string())
    }
}

#[tokio::test(start_paused = true)]
async fn openapi_documents_survive_failures_of_their_server() {
    let cluster = TestCluster::start().await;
    let documents = Arc::new(Documents::default());
    documents.status.store(200, Ordering::SeqCst);
    let services = cluster.services();
    services.set_handler("test", "sky", 443, documents.clone());
    let http = Http::of(&cluster);
    http.post(SERVICES, api_service(Value::Null)).await.ok();
    discovered(&http, "Current").await;
    let shown = async || {
        let v3 = http.get("/openapi/v3").await.json();
        let v2 = http.get("/openapi/v2").await.json();
        let v2 = v2["paths"][format!("{SKY}/comets")].is_object();
        (v3["paths"]["apis/sky.example.com/v1"].is_object(), v2)
    };
    assert_eq!(shown().await, (true, true));
    for (checks, status) in [(1, 200), (2, 500), (3, 503)] {
        documents.status.store(status, Ordering::SeqCst);
        while documents.known.load(Ordering::SeqCst) < 2 * checks {
            sleep(Duration::from_secs(1)).await;
        }
        discovered(&http, "Current").await;
        assert_eq!(shown().await, (true, true), "{status}");
    }
    // A server that has no documents any more says so.
    documents.status.store(404, Ordering::SeqCst);
    while shown().await != (false, false) {
        sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test]
async fn the_published_authorities_are_restored() {
    const MAPS: &str = "/api/v1/namespaces/kube-system/configmaps";
    const NAME: &str = "extension-apiserver-authentication";
    let proxies = authority("proxies");
    let builder = KubeApiServer::builder().front_proxy(FrontProxy::new(proxies.pem()));
    let builder = builder.anonymous(kubewright_kube_apiserver::AnonymousAccess::Enabled);
    let client = Client::of(builder).await;
    let path = format!("{MAPS}/{NAME}");
    let first = client.get(&path).await;
    assert!(first["data"]["requestheader-client-ca-file"].is_string());
    let restored = async |before: &Value| loop {
        let found = client.get(&path).await;
        if found["data"] == first["data"] && found["metadata"] != before["metadata"] {
            return found;
        }
        tokio::task::yield_now().await;
    };
    let edit = json!({"data": {"requestheader-client-ca-file": "", "requestheader-username-headers": null}});
    let (code, edited) = client.patch(&path, &edit).await;
    assert_eq!(code, 200, "{edited}");
    let repaired = restored(&first).await;
    assert_eq!(repaired["metadata"]["uid"], first["metadata"]["uid"]);
    assert_eq!(client.delete(&path).await.0, 200);
    let made = restored(&repaired).await;
    assert_ne!(made["metadata"]["uid"], first["metadata"]["uid"]);
}
