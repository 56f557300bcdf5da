//! Aggregated servers that are missing, down or wrong.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use kubewright_apiserver::boxed_async;
use kubewright_kube_apiserver::ServiceHandler;
use kubewright_testing::{Controllers, TestCluster};
use serde_json::{Value, json};

use super::{SERVICES, SKY, api_service, condition, discovered};
use crate::http_client::Http;

async fn registered(cluster: &TestCluster) -> Http {
    let http = Http::of(cluster);
    http.post(SERVICES, api_service(Value::Null)).await.ok();
    http
}

#[tokio::test]
async fn the_condition_names_what_is_missing() {
    let cluster = TestCluster::start().await;
    let http = registered(&cluster).await;
    let name = "v1.sky.example.com";
    let found = condition(&http, name, "False").await;
    assert_eq!(found["reason"], "ServiceNotFound");
    assert_eq!(found["message"], "service/sky in \"test\" is not present");
    http.post("/api/v1/namespaces", json!({"metadata": {"name": "test"}}))
        .await
        .ok();
    let services = "/api/v1/namespaces/test/services";
    let ports = json!([{"name": "https", "port": 8443}]);
    let service = json!({"metadata": {"name": "sky"}, "spec": {"ports": ports}});
    http.post(services, service).await.ok();
    let until = |reason: &'static str| {
        let http = &http;
        async move {
            let query = "fieldSelector=metadata.name=v1.sky.example.com";
            let mut watch = http.watch(SERVICES, query).await;
            loop {
                let event = watch.next().await.unwrap();
                let condition = event["object"]["status"]["conditions"][0].clone();
                if condition["reason"] == reason {
                    return condition["message"].as_str().unwrap().to_owned();
                }
            }
        }
    };
    assert_eq!(
        until("ServicePortError").await,
        "service/sky in \"test\" is not listening on port 443"
    );
    let ports = json!({"spec": {"ports": [{"name": "https", "port": 443}]}});
    http.patch(&format!("{services}/sky"), ports).await.ok();
    assert_eq!(
        until("EndpointsNotFound").await,
        "cannot find endpointslices for service/sky in \"test\""
    );
    let slices = "/apis/discovery.k8s.io/v1/namespaces/test/endpointslices";
    let slice = json!({
        "metadata": {"name": "sky", "labels": {"kubernetes.io/service-name": "sky"}},
        "addressType": "IPv4",
        "ports": [{"name": "other", "port": 1}],
        "endpoints": [{"addresses": ["192.0.2.1"]}],
    });
    http.post(slices, slice).await.ok();
    assert_eq!(
        until("MissingEndpoints").await,
        "endpointslices for service/sky in \"test\" have no addresses with port name \"https\""
    );
    // Nobody listens at the address.
    let nobody = ([127, 0, 0, 1], 1).into();
    cluster.services().set_address("test", "sky", 443, nobody);
    let touched = json!({"metadata": {"labels": {"touched": "true"}}});
    http.patch(&format!("{services}/sky"), touched).await.ok();
    let message = until("FailedDiscoveryCheck").await;
    assert_eq!(
        message,
        "failing or missing response from https://127.0.0.1:1/apis/sky.example.com/v1: Get \"https://127.0.0.1:1/apis/sky.example.com/v1\": dial tcp 127.0.0.1:1: connect: connection refused"
    );
}

#[tokio::test]
async fn an_unavailable_server_is_a_503_in_plain_text() {
    let cluster = TestCluster::start().await;
    let http = registered(&cluster).await;
    let answer = http.get(&format!("{SKY}/comets")).await;
    assert_eq!(
        (answer.code, &answer.body[..]),
        (503, &b"service unavailable\n"[..])
    );
    assert_eq!(answer.headers["content-type"], "text/plain; charset=utf-8");
    let entry = discovered(&http, "Stale").await;
    assert_eq!(entry["resources"], json!([]));
    // Others are not affected.
    assert_eq!(http.get("/apis/apps/v1").await.code, 200);
    assert_eq!(http.get("/openapi/v3").await.code, 200);
}

/// Answers the probe, and everything else with the same body.
struct Same {
    code: u16,
    content_type: &'static str,
    body: Bytes,
}

#[boxed_async]
impl ServiceHandler for Same {
    async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        let probe = request.uri().path() == SKY;
        let answer = Response::builder()
            .status(if probe { 200 } else { self.code })
            .header("content-type", self.content_type)
            .body(if probe {
                "{}".into()
            } else {
                self.body.clone()
            });
        answer.map_err(|e| e.to_string())
    }
}

#[tokio::test]
async fn garbage_in_discovery_does_not_affect_others() {
    let aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let huge = format!("{{\"items\":[\"{}\"]}}", "x".repeat(5 << 20));
    for (content_type, body) in [
        (aggregated, "]["),
        (aggregated, "{\"items\": {\"a\": 1}}"),
        (aggregated, huge.as_str()),
        ("text/html", "<html>"),
    ] {
        let cluster = TestCluster::start().await;
        let answer = Same {
            code: 200,
            content_type,
            body: Bytes::from(body.to_owned()),
        };
        let services = cluster.services();
        services.set_handler("test", "sky", 443, Arc::new(answer));
        let http = registered(&cluster).await;
        condition(&http, "v1.sky.example.com", "True").await;
        let list = http.get("/apis").await.ok();
        let groups = list["groups"].as_array().unwrap();
        assert!(groups.iter().any(|group| group["name"] == "apps"));
        assert_eq!(http.get("/openapi/v3").await.code, 200);
    }
}

#[tokio::test]
async fn discovery_of_other_groups_is_not_believed() {
    let resource = json!({
        "resource": "secrets", "scope": "Cluster", "verbs": ["get"], "singularResource": "secret",
        "responseKind": {"group": "", "version": "v1", "kind": "Secret"},
    });
    let entry = |group: &str| {
        let version = json!({"version": "v1", "resources": [resource.clone()]});
        json!({"metadata": {"name": group}, "versions": [version]})
    };
    let list = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
        "items": [entry("apps"), entry("sky.example.com"), entry("other.example.com")],
    });
    let cluster = TestCluster::start().await;
    let answer = Same {
        code: 200,
        content_type: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        body: Bytes::from(list.to_string()),
    };
    let services = cluster.services();
    services.set_handler("test", "sky", 443, Arc::new(answer));
    let http = registered(&cluster).await;
    condition(&http, "v1.sky.example.com", "True").await;
    let entry = discovered(&http, "Current").await;
    assert_eq!(entry["resources"][0]["resource"], "secrets");
    let list = http.get_as("/apis", super::AGGREGATED).await.json();
    let groups = list["items"].as_array().unwrap();
    let named = |name: &str| {
        groups
            .iter()
            .find(|group| group["metadata"]["name"] == name)
    };
    assert!(named("other.example.com").is_none());
    let apps = named("apps").unwrap().to_string();
    assert!(apps.contains("deployments") && !apps.contains("secrets"));
}

/// Fails every request but the probe.
struct Broken;

#[boxed_async]
impl ServiceHandler for Broken {
    async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        match request.uri().path() == SKY {
            true => Ok(Response::new(Bytes::from("{}"))),
            false => Err("EOF".to_owned()),
        }
    }
}

#[tokio::test]
async fn a_broken_connection_has_the_words_of_kube_apiserver() {
    let cluster = TestCluster::start().await;
    cluster
        .services()
        .set_handler("test", "sky", 443, Arc::new(Broken));
    let http = registered(&cluster).await;
    condition(&http, "v1.sky.example.com", "True").await;
    let answer = http.get(&format!("{SKY}/comets")).await;
    let body = String::from_utf8_lossy(&answer.body);
    assert_eq!(
        (answer.code, &*body),
        (503, "error trying to reach service: EOF\n")
    );
}

#[tokio::test]
async fn a_server_behind_itself_is_noticed() {
    let cluster = TestCluster::start().await;
    let own = cluster.api_server().server().clone();
    cluster.services().set_server("test", "sky", 443, own);
    let http = registered(&cluster).await;
    let found = condition(&http, "v1.sky.example.com", "False").await;
    assert_eq!(found["reason"], "FailedDiscoveryCheck");
    let message = found["message"].as_str().unwrap();
    assert!(message.contains("bad status"), "{message}");
}

#[tokio::test]
async fn cve_2022_3172_redirects_of_aggregated_servers_are_refused() {
    /// Redirects every request but the probe.
    struct Elsewhere;

    #[boxed_async]
    impl ServiceHandler for Elsewhere {
        async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
            let probe = request.uri().path() == SKY;
            let answer = Response::builder().status(if probe { 200 } else { 302 });
            let answer = answer.header("location", "https://elsewhere.example.com/");
            answer.body(Bytes::new()).map_err(|e| e.to_string())
        }
    }

    let cluster = TestCluster::start().await;
    cluster
        .services()
        .set_handler("test", "sky", 443, Arc::new(Elsewhere));
    let http = registered(&cluster).await;
    condition(&http, "v1.sky.example.com", "True").await;
    let answer = http.get(&format!("{SKY}/comets")).await;
    let body = String::from_utf8_lossy(&answer.body);
    assert_eq!(answer.code, 502);
    let expected = "the backend attempted to redirect this request, which is not permitted\n";
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_namespace_waits_for_a_server_that_is_down_and_no_longer() {
    let cluster = TestCluster::start().await;
    let http = registered(&cluster).await;
    let namespaces = "/api/v1/namespaces";
    let doomed = json!({"metadata": {"name": "doomed"}});
    http.post(namespaces, doomed).await.ok();
    let mut watch = http
        .watch(namespaces, "fieldSelector=metadata.name=doomed")
        .await;
    let _running = cluster.run_controllers(&Controllers::default());
    http.delete(&format!("{namespaces}/doomed")).await.ok();
    // Objects of the group may be left, so it is not removed yet, as in Kubernetes.
    let message = loop {
        let event = watch.next().await.unwrap();
        assert_ne!(event["type"], "DELETED");
        let conditions = event["object"]["status"]["conditions"].as_array().cloned();
        let failed = conditions.into_iter().flatten().find(|condition| {
            condition["type"] == "NamespaceDeletionDiscoveryFailure"
                && condition["status"] == "True"
        });
        if let Some(failed) = failed {
            break failed["message"].as_str().unwrap().to_owned();
        }
    };
    assert!(message.contains("sky.example.com/v1"), "{message}");
    http.delete(&format!("{SERVICES}/v1.sky.example.com"))
        .await
        .ok();
    while watch.next().await.unwrap()["type"] != "DELETED" {}
}
