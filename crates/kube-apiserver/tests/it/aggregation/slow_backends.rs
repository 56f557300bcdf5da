//! Aggregated servers that accept requests and do not answer them.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use kubewright_apiserver::{Body, boxed_async};
use kubewright_kube_apiserver::ServiceHandler;
use kubewright_testing::TestCluster;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{SERVICES, SKY, api_service, condition, discovered};
use crate::http_client::Http;

/// Answers the probe or nothing at all.
struct Slow {
    probe: bool,
}

#[boxed_async]
impl ServiceHandler for Slow {
    async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        match self.probe && request.uri().path() == SKY {
            true => Ok(Response::new(Bytes::from("{}"))),
            false => std::future::pending().await,
        }
    }
}

async fn behind(slow: Slow) -> (TestCluster, Http) {
    let cluster = TestCluster::start().await;
    let services = cluster.services();
    services.set_handler("test", "sky", 443, Arc::new(slow));
    let http = Http::of(&cluster);
    http.post(SERVICES, api_service(Value::Null)).await.ok();
    (cluster, http)
}

#[tokio::test(start_paused = true)]
async fn a_probe_without_an_answer_fails_in_time() {
    let (_cluster, http) = behind(Slow { probe: false }).await;
    let found = condition(&http, "v1.sky.example.com", "False").await;
    assert_eq!(found["reason"], "FailedDiscoveryCheck");
    let message = found["message"].as_str().unwrap();
    assert!(
        message.contains("timed out waiting for https://"),
        "{message}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_delays_no_other() {
    let (cluster, http) = behind(Slow { probe: false }).await;
    let quick = crate::aggregation::in_process::sky();
    cluster.services().set_server("test", "sea", 443, quick);
    let began = Instant::now();
    let mut second = api_service(json!({
        "version": "v2", "service": {"namespace": "test", "name": "sea"},
    }));
    second["metadata"]["name"] = json!("v2.sky.example.com");
    http.post(SERVICES, second).await.ok();
    condition(&http, "v2.sky.example.com", "False").await;
    let mut third = api_service(json!({"service": {"namespace": "test", "name": "sea"}}));
    third["spec"]["group"] = json!("sea.example.com");
    third["metadata"]["name"] = json!("v1.sea.example.com");
    http.post(SERVICES, third).await.ok();
    condition(&http, "v1.sea.example.com", "False").await;
    // The first server has another five seconds.
    assert!(began.elapsed() < Duration::from_secs(1));
    let first = http.get(&format!("{SERVICES}/v1.sky.example.com")).await;
    assert!(first.json()["status"]["conditions"].is_null());
    condition(&http, "v1.sky.example.com", "False").await;
    assert!(began.elapsed() >= Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn a_request_without_an_answer_is_a_timeout() {
    let (_cluster, http) = behind(Slow { probe: true }).await;
    condition(&http, "v1.sky.example.com", "True").await;
    let answer = http.get(&format!("{SKY}/comets?timeout=5s")).await;
    assert_eq!(answer.code, 504);
    assert_eq!(answer.json()["reason"], "Timeout");
    // Its discovery does not come either, which harms no other group.
    let entry = discovered(&http, "Stale").await;
    assert_eq!(entry["resources"], json!([]));
    assert_eq!(http.get("/apis/apps/v1").await.code, 200);
    assert_eq!(http.get("/openapi/v2").await.code, 200);
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_without_an_answer_is_a_timeout() {
    let (cluster, http) = behind(Slow { probe: true }).await;
    condition(&http, "v1.sky.example.com", "True").await;
    let request = Request::get(format!("{SKY}/comets/halley/exec?command=ls"))
        .header("connection", "Upgrade")
        .header("upgrade", "SPDY/3.1")
        .body(Body::empty());
    let server = cluster.api_server().server().clone();
    let answer = server.handle(request.unwrap()).await;
    assert_eq!(answer.status(), 504);
}
