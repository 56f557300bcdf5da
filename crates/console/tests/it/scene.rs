//! A cluster with a console, and requests to it.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt;
use http::{Method, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use kubewright_console::Console;
use kubewright_testing::TestCluster;
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// The time within which a test's message must arrive.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Scene {
    cluster: Option<TestCluster>,
    console: Option<Console>,
    url: String,
}

/// The lines of a stream.
pub(crate) struct Lines {
    body: Incoming,
    rest: Vec<u8>,
}

impl Scene {
    pub(crate) async fn start() -> Self {
        let cluster = TestCluster::start().await;
        let console = Console::builder(cluster.client()).title("test").local();
        let console = console.start("127.0.0.1:0".parse().unwrap()).await.unwrap();
        Self {
            cluster: Some(cluster),
            ..Self::of(console)
        }
    }

    /// A console of another cluster.
    pub(crate) fn of(console: Console) -> Self {
        let url = console.url().to_owned();
        Self {
            console: Some(console),
            ..Self::at(&url)
        }
    }

    /// A console that runs elsewhere.
    pub(crate) fn at(url: &str) -> Self {
        Self {
            cluster: None,
            console: None,
            url: url.to_owned(),
        }
    }

    pub(crate) fn cluster(&self) -> &TestCluster {
        self.cluster.as_ref().expect("a cluster of its own")
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn address(&self) -> SocketAddr {
        let rest = self.url.strip_prefix("http://").unwrap();
        rest.split('/').next().unwrap().parse().unwrap()
    }

    /// Stops the console.
    pub(crate) async fn stop(mut self) {
        self.console
            .take()
            .expect("a console of its own")
            .stop()
            .await;
    }

    pub(crate) fn token(&self) -> &str {
        self.url.split_once("#t=").unwrap().1
    }

    /// Makes a request as the pages do, with the token.
    pub(crate) fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Request<Full<Bytes>> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.address().to_string())
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token()));
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        request.body(Full::new(Bytes::from(body))).unwrap()
    }

    /// Sends a request on a connection of its own.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Response<Incoming> {
        let stream = TcpStream::connect(self.address()).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    }

    pub(crate) async fn code(&self, request: Request<Full<Bytes>>) -> u16 {
        self.send(request).await.status().as_u16()
    }

    /// Sends a request with the token and returns the answer.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let response = self.send(self.request(method, path, body)).await;
        read(response).await
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        self.call(Method::GET, path, None).await
    }

    pub(crate) async fn create(&self, path: &str, object: Value) -> Value {
        let (code, created) = self.call(Method::POST, path, Some(&object)).await;
        assert_eq!(code, 201, "{created}");
        created
    }

    /// Creates a ConfigMap in the namespace `default`.
    pub(crate) async fn config_map(&self, name: &str) -> Value {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"}});
        self.create("/api/v1/namespaces/default/configmaps", object)
            .await
    }

    /// Opens the stream of a tab; returns its lines and its name.
    pub(crate) async fn stream(&self) -> (Lines, String) {
        let response = self
            .send(self.request(Method::GET, "/kubewright/v1/stream", None))
            .await;
        assert_eq!(response.status(), 200);
        let mut lines = Lines {
            body: response.into_body(),
            rest: Vec::new(),
        };
        let hello = lines.next().await.unwrap();
        (lines, hello["tab"].as_str().unwrap().to_owned())
    }

    pub(crate) async fn subscribe(&self, tab: &str, subscriptions: Value) {
        let path = format!("/kubewright/v1/stream/{tab}");
        let body = json!({"subscriptions": subscriptions});
        let (code, answer) = self.call(Method::POST, &path, Some(&body)).await;
        assert_eq!(code, 200, "{answer}");
    }
}

impl Lines {
    /// Returns the next message that is no beat, or nothing at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                let message: Value = serde_json::from_slice(&line).unwrap();
                if message["type"] != "beat" {
                    return Some(message);
                }
                continue;
            }
            let frame = tokio::time::timeout(PATIENCE, self.body.frame()).await;
            let frame = frame.expect("a message in time")?;
            let Ok(frame) = frame else { return None };
            self.rest.extend_from_slice(frame.data_ref().unwrap());
        }
    }

    /// Returns the first message for which this holds.
    pub(crate) async fn until(&mut self, mut holds: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let message = self.next().await.expect("the stream goes on");
            if holds(&message) {
                return message;
            }
        }
    }
}

pub(crate) async fn read(response: Response<Incoming>) -> (u16, Value) {
    let code = response.status().as_u16();
    let body = response.into_body().into_data_stream();
    let chunks: Vec<_> = body.map(|chunk| chunk.unwrap().to_vec()).collect().await;
    let body = chunks.concat();
    let text = String::from_utf8_lossy(&body).into_owned();
    (
        code,
        serde_json::from_slice(&body).unwrap_or(Value::String(text)),
    )
}
