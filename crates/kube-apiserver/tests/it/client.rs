//! A client without a network: requests go straight into the server.

use http::{Request, header};
use kubewright_apiserver::Body;
use kubewright_kube_apiserver::{KubeApiServer, KubeApiServerBuilder};
use serde_json::Value;

/// The longest answer that a test reads.
const LONGEST: usize = 1 << 20;

pub(crate) struct Client(KubeApiServer);

impl Client {
    pub(crate) async fn new() -> Self {
        Self::of(KubeApiServer::builder()).await
    }

    pub(crate) async fn of(server: KubeApiServerBuilder) -> Self {
        let server = server.build().await;
        Self(server.expect("an API server in memory starts"))
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.send("GET", path, "", &Value::Null).await.1
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send("POST", path, "application/json", body).await
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send("PATCH", path, "application/merge-patch+json", body)
            .await
    }

    pub(crate) async fn apply(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send("PATCH", path, "application/apply-patch+yaml", body)
            .await
    }

    pub(crate) async fn delete(&self, path: &str) -> (u16, Value) {
        self.send("DELETE", path, "", &Value::Null).await
    }

    /// The body of an answer as text.
    pub(crate) async fn text(&self, path: &str) -> String {
        let request = Request::get(path).body(Body::empty());
        let response = self.0.server().handle(request.expect("a request")).await;
        let bytes = response.into_body().collect_up_to(LONGEST).await;
        let bytes = bytes
            .expect("the answer ends")
            .expect("the answer is short");
        String::from_utf8(bytes.to_vec()).expect("text")
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> (u16, Value) {
        let body = if body.is_null() {
            Body::empty()
        } else {
            Body::from(body.to_string())
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, content_type)
            .header(header::USER_AGENT, "tester/1")
            .body(body)
            .expect("the request is well-formed");
        let response = self.0.server().handle(request).await;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect_up_to(LONGEST).await;
        let bytes = bytes
            .expect("the answer ends")
            .expect("the answer is short");
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }
}
