//! Bounds on what a client can make the server do.

mod in_flight;
mod integers;
mod lists;

use std::sync::Arc;

use http::Method;
use kubewright_apiserver::auth::TokenFile;
use kubewright_kube_apiserver::KubeApiServer;
use kubewright_serve::{Limits, Server};
use kubewright_testing::TestCluster;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::{
    custom_resources::{CRDS, WIDGETS, at, cluster, simple, widget},
    http_client::{Http, JSON_PATCH, MAPS, MERGE},
};

const PODS: &str = "/api/v1/namespaces/default/pods";
const TOO_LARGE: &str = "etcdserver: request is too large";

/// Compiles for a second or so, and is below the limit on any single pattern.
fn slow_schema() -> Value {
    let word = |i: usize| format!("w{i}[a-z]{{1,20}}");
    let pattern = |i: usize| (0..20).map(|j| word(i * j)).collect::<Vec<_>>().join("|");
    let property = |i: usize| {
        let schema = json!({"type": "string", "pattern": pattern(i)});
        (format!("p{i}"), schema)
    };
    simple((0..200).map(property).collect())
}

#[tokio::test]
async fn a_schema_that_takes_long_to_compile_delays_no_other_request() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let writer = http.clone();
    let slow = tokio::spawn(async move { writer.post(CRDS, slow_schema()).await.ok() });
    // This test has one async worker. If it compiled, there would be time for one request.
    let mut answered = 0;
    while !slow.is_finished() {
        http.get(&format!("{MAPS}?limit=1")).await.ok();
        answered += 1;
        tokio::task::yield_now().await;
    }
    slow.await.expect("the writer gets its response");
    assert!(answered > 20, "{answered} requests were answered");
}

#[tokio::test]
async fn rules_that_take_long_delay_no_other_request() {
    let items = json!({"type": "array", "maxItems": 300, "items": {"type": "integer"}});
    let rule = |i: usize| {
        let rule = format!("self.items.all(a, self.items.all(b, a + b != {i}))");
        json!({"rule": rule})
    };
    let mut definition = simple(json!({"items": items}));
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    let spec = definition.pointer_mut(spec).expect("a schema");
    spec["x-kubernetes-validations"] = (1..=10).map(rule).collect();
    let (_cluster, http) = cluster(definition).await;
    // Compiles the rules, and is cheap.
    http.post(WIDGETS, widget("small", json!({"items": [0]})))
        .await
        .ok();
    let writer = http.clone();
    let large = widget("large", json!({"items": vec![0; 300]}));
    let slow = tokio::spawn(async move { writer.post(WIDGETS, large).await.ok() });
    // This test has one async worker. If it evaluated the rules, there would be time for one request.
    let mut answered = 0;
    while !slow.is_finished() {
        http.get(&format!("{MAPS}?limit=1")).await.ok();
        answered += 1;
        tokio::task::yield_now().await;
    }
    slow.await.expect("the writer gets its response");
    assert!(answered > 20, "{answered} requests were answered");
}

/// A pod whose only argument is this long.
fn large_pod(name: &str, size: usize) -> Value {
    let container = json!({"name": "c", "image": "i", "args": ["x".repeat(size)]});
    json!({"metadata": {"name": name}, "spec": {"containers": [container]}})
}

#[tokio::test]
async fn objects_are_as_small_as_etcd_wants_them() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    http.post(PODS, large_pod("a", 1_572_000)).await.ok();
    http.post(PODS, large_pod("b", 1_572_800))
        .await
        .refused_with(500, TOO_LARGE);
    http.get(&format!("{PODS}/b")).await.refused(404);
    let status = http
        .post(PODS, large_pod("c", 2_900_000))
        .await
        .refused(500);
    let message = status["message"].as_str().unwrap_or_default();
    let start = "rpc error: code = ResourceExhausted desc = trying to send message larger than max";
    assert!(message.starts_with(start), "{message}");
    http.post(PODS, large_pod("d", 3_200_000))
        .await
        .refused(413);
}

#[tokio::test]
async fn patches_cannot_grow_an_object_without_end() {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let (_cluster, http) = cluster(simple(json!({"data": open}))).await;
    http.post(WIDGETS, widget("a", json!({}))).await.ok();
    let mut refused = 0;
    for i in 0..5 {
        let text = "x".repeat(700_000);
        let patch = json!({"spec": {"data": {format!("key{i}"): text}}}).to_string();
        let answer = http.send(Method::PATCH, &at("a"), MERGE, patch).await;
        refused += usize::from(answer.code == 500);
    }
    assert_eq!(refused, 3);
    assert!(http.get(&at("a")).await.body.len() < 1_600_000);
}

#[tokio::test]
async fn a_json_patch_that_moves_too_much_is_refused() {
    let items = json!({"type": "array", "items": {"type": "integer"}});
    let (_cluster, http) = cluster(simple(json!({"items": items}))).await;
    let many = json!({"items": vec![1; 100_000]});
    http.post(WIDGETS, widget("a", many)).await.ok();
    let patch = |path: &str| {
        let operation = json!({"op": "add", "path": path, "value": 1});
        json!(vec![operation; 10_000]).to_string()
    };
    let at_start = http
        .send(Method::PATCH, &at("a"), JSON_PATCH, patch("/spec/items/0"))
        .await;
    let status = at_start.refused(413);
    let message = status["message"].as_str().unwrap_or_default();
    assert!(message.contains("moves or reads more than"), "{message}");
    // As many operations that move nothing are fine.
    http.send(Method::PATCH, &at("a"), JSON_PATCH, patch("/spec/items/-"))
        .await
        .ok();
}

#[tokio::test]
async fn the_warnings_of_a_response_are_short_whatever_the_object() {
    let (_cluster, http) = cluster(simple(json!({}))).await;
    let mut many = widget("a", json!({}));
    let finalizers = (0..50_000).map(|i| format!("f{i}"));
    many["metadata"]["finalizers"] = finalizers.collect();
    let created = http.post(WIDGETS, many).await;
    created.ok();
    let warnings = created.headers.get_all("warning").into_iter();
    let bytes: usize = warnings.map(|warning| warning.len()).sum();
    assert!((4000..6000).contains(&bytes), "{bytes} bytes");
}

#[tokio::test]
async fn custom_objects_are_as_small_as_etcd_wants_them() {
    let (_cluster, http) = cluster(simple(json!({"text": {"type": "string"}}))).await;
    let large = |name: &str, size: usize| widget(name, json!({"text": "x".repeat(size)}));
    http.post(WIDGETS, large("a", 1_500_000)).await.ok();
    http.post(WIDGETS, large("b", 1_600_000))
        .await
        .refused_with(500, TOO_LARGE);
    http.get(&at("b")).await.refused(404);
}

/// Sends a request on a connection that stays open, and returns the status line.
async fn exchange(stream: &mut TcpStream, token: &str) -> std::io::Result<String> {
    let request = format!(
        "GET /api/v1/namespaces/default HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut buffer = [0; 4096];
    let read = stream.read(&mut buffer).await?;
    let text = String::from_utf8_lossy(&buffer[..read]);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn only_connections_with_credentials_survive_a_flood_of_idle_ones() {
    let tokens = TokenFile::parse("s3cret,alice,1").expect("a token file");
    let server = KubeApiServer::builder().authenticator(Arc::new(tokens));
    let server = server.build().await.expect("a server");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let limits = Limits {
        max_unauthenticated: Some(2),
        ..Limits::default()
    };
    let serving = Server::new(listener).limits(limits);
    let service = server.server().clone();
    let serving = tokio::spawn(serving.serve(service, std::future::pending()));
    let connect = || async { TcpStream::connect(address).await.expect("a connection") };

    let (mut known, mut unknown) = (connect().await, connect().await);
    let answer = exchange(&mut known, "s3cret").await;
    assert_eq!(answer.expect("an answer"), "HTTP/1.1 200 OK");
    let answer = exchange(&mut unknown, "guess").await;
    assert_eq!(answer.expect("an answer"), "HTTP/1.1 401 Unauthorized");
    let mut idle = Vec::new();
    for _ in 0..5 {
        idle.push(connect().await);
    }
    let mut late = connect().await;
    let answer = exchange(&mut late, "s3cret").await;
    assert_eq!(answer.expect("an answer"), "HTTP/1.1 200 OK");
    let answer = exchange(&mut known, "s3cret").await;
    assert_eq!(answer.expect("an answer"), "HTTP/1.1 200 OK");
    let gone = exchange(&mut unknown, "s3cret").await;
    assert!(gone.is_err() || gone.is_ok_and(|line| line.is_empty()));
    serving.abort();
}
