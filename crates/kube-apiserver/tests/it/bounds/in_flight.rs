//! The number of requests in flight, and what their bodies hold.

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use kubewright_apiserver::{Body, BoxError, InFlightLimits, auth::TokenFile};
use kubewright_kube_apiserver::KubeApiServer;
use serde_json::Value;
use tokio::{sync::oneshot, task::JoinHandle};

use crate::http_client::{JSON, MAPS, map, map_with};

const TOKENS: &str = "alice,alice,1\nroot,root,2,system:masters";

#[derive(Clone)]
struct Server(KubeApiServer);

impl Server {
    async fn with(limits: InFlightLimits) -> Self {
        let tokens = TokenFile::parse(TOKENS).expect("a token file");
        let server = KubeApiServer::builder().token_file(tokens);
        let server = server.in_flight_limits(limits).build().await;
        Self(server.expect("a server"))
    }

    async fn call(&self, method: Method, path: &str, user: &str, body: Body) -> Response<Body> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {user}"))
            .header("content-type", JSON)
            .body(body);
        self.0.server().handle(request.expect("a request")).await
    }

    async fn get(&self, path: &str, user: &str) -> Response<Body> {
        self.call(Method::GET, path, user, Body::empty()).await
    }

    async fn create(&self, object: &Value, user: &str) -> Response<Body> {
        let body = Body::from(object.to_string());
        self.call(Method::POST, MAPS, user, body).await
    }

    /// Begins a request of alice whose body ends when the sender is dropped. The request is in flight when this returns.
    async fn begin(&self, sent: Bytes) -> Slow {
        let (reading, is_reading) = oneshot::channel::<()>();
        let (end, ended) = oneshot::channel::<()>();
        let first = stream::once(async move { Ok::<_, BoxError>(sent) });
        let wait = stream::once(async move {
            let _ = reading.send(());
            let _ = ended.await;
            Ok(Bytes::new())
        });
        let (server, body) = (self.clone(), Body::stream(first.chain(wait)));
        let response =
            tokio::spawn(async move { server.call(Method::POST, MAPS, "alice", body).await });
        is_reading.await.expect("the body is read");
        Slow { response, end }
    }
}

struct Slow {
    response: JoinHandle<Response<Body>>,
    end: oneshot::Sender<()>,
}

impl Slow {
    async fn finish(self) -> u16 {
        drop(self.end);
        self.response.await.expect("a response").status().as_u16()
    }
}

async fn text(response: Response<Body>) -> String {
    let bytes = response.into_body().collect().await.expect("a body");
    String::from_utf8(bytes.to_bytes().to_vec()).expect("text")
}

#[tokio::test]
async fn a_request_too_many_is_asked_to_come_back() {
    let server = Server::with(InFlightLimits {
        read_only: 1,
        mutating: 1,
        ..InFlightLimits::default()
    })
    .await;
    let slow = server.begin(map("slow").to_string().into()).await;

    let refused = server.create(&map("a"), "alice").await;
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["retry-after"], "1");
    let body = text(refused).await;
    assert_eq!(body, "Too many requests, please try again later.\n");

    // Reads are counted apart, watches and probes not at all, and administrators always get through.
    let watch = server.get(&format!("{MAPS}?watch=true"), "alice").await;
    assert_eq!(watch.status(), 200);
    assert_eq!(server.get(MAPS, "alice").await.status(), 200);
    assert_eq!(server.get("/livez", "alice").await.status(), 200);
    assert_eq!(server.create(&map("b"), "root").await.status(), 201);

    assert_eq!(slow.finish().await, 201);
    assert_eq!(server.create(&map("a"), "alice").await.status(), 201);
}

#[tokio::test]
async fn slow_requests_with_large_bodies_cannot_fill_the_memory() {
    let limits = InFlightLimits {
        body_bytes: 1 << 20,
        ..InFlightLimits::default()
    };
    let server = Server::with(limits).await;
    let part = Bytes::from(vec![b' '; 600 << 10]);
    let first = server.begin(part.clone()).await;

    let large = map_with("large", &"x".repeat(600 << 10));
    let refused = server.create(&large, "alice").await;
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["retry-after"], "1");
    let status: Value = serde_json::from_str(&text(refused).await).expect("a Status");
    assert_eq!(status["reason"], "TooManyRequests");

    // Small requests are still served, and so are administrators.
    assert_eq!(server.create(&map("small"), "alice").await.status(), 201);
    let other = map_with("other", &"x".repeat(600 << 10));
    assert_eq!(server.create(&other, "root").await.status(), 201);

    assert_eq!(first.finish().await, 400, "spaces are no object");
    assert_eq!(server.create(&large, "alice").await.status(), 201);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_nobody_reads_ends_after_a_minute() {
    let server = Server::with(InFlightLimits {
        read_only: 1,
        ..InFlightLimits::default()
    })
    .await;
    for name in ["a", "b", "c"] {
        let large = map_with(name, &"x".repeat(300 << 10));
        assert_eq!(server.create(&large, "alice").await.status(), 201);
    }
    let mut unread = server.get(MAPS, "alice").await.into_body();
    let first = unread.frame().await.expect("a frame");
    assert!(first.is_ok());
    assert_eq!(server.get(MAPS, "alice").await.status(), 429);
    tokio::time::advance(std::time::Duration::from_secs(59)).await;
    assert_eq!(server.get(MAPS, "alice").await.status(), 429);

    // What the list holds is released although the body is not polled.
    tokio::time::advance(std::time::Duration::from_secs(2)).await;
    let again = async {
        while server.get(MAPS, "alice").await.status() != 200 {
            tokio::task::yield_now().await;
        }
    };
    let patience = std::time::Duration::from_secs(10);
    tokio::time::timeout(patience, again)
        .await
        .expect("the list ends");
    let end = unread.frame().await.expect("an error");
    assert!(end.is_err(), "a reader cannot mistake a part for the whole");

    // A list that is read is complete, and over when it is read.
    let list = text(server.get(MAPS, "alice").await).await;
    let list: Value = serde_json::from_str(&list).expect("a list");
    assert_eq!(list["items"].as_array().map(Vec::len), Some(3));
    assert_eq!(server.get(MAPS, "alice").await.status(), 200);
}

#[test]
fn the_defaults_are_those_of_kubernetes() {
    let limits = InFlightLimits::default();
    assert_eq!((limits.read_only, limits.mutating), (400, 200));
}
