//! Audit events, compared with those of kube-apiserver 1.36 and beyond.

mod levels;
mod recorded;

use std::{net::SocketAddr, sync::Arc};

use http::{Request, Response};
use kubewright_apiserver::{
    Body,
    audit::{Event, Policy, Ring},
    auth::{Anonymous, TokenFile, Union},
};
use kubewright_kube_apiserver::{AuthorizationMode, KubeApiServer, KubeApiServerBuilder};
use kubewright_serve::PeerAddress;
use serde_json::Value;

/// The longest answer that a test reads.
const LONGEST: usize = 64 << 20;

const TOKENS: &str = "tok,admin,admin-uid,system:masters\nusertok,alice,alice-uid,devs\n";

/// A server that decides by roles and records.
struct Audited {
    api: KubeApiServer,
    ring: Ring,
}

impl Audited {
    async fn start(policy: Policy) -> Self {
        Self::of(KubeApiServer::builder(), policy).await
    }

    async fn of(builder: KubeApiServerBuilder, policy: Policy) -> Self {
        let tokens = TokenFile::parse(TOKENS).expect("tokens");
        let users = Union::fail_on_error(vec![Arc::new(tokens), Arc::new(Anonymous)]);
        let builder = builder.authorization([AuthorizationMode::Rbac]);
        let api = builder.authenticator(Arc::new(users)).build().await;
        let api = api.expect("a server in memory starts");
        let ring = Ring::new(10_000);
        api.server().audit(policy, Arc::new(ring.clone()));
        Self { api, ring }
    }

    /// Sends `METHOD /path` with headers, and reads the whole answer.
    async fn send(&self, request: &str, headers: &[(&str, &str)], body: &str) -> (u16, Vec<u8>) {
        let response = self.answer(request, headers, body).await;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect_up_to(LONGEST).await;
        let bytes = bytes
            .expect("the answer ends")
            .expect("the answer is short");
        (code, bytes.to_vec())
    }

    async fn answer(&self, request: &str, headers: &[(&str, &str)], body: &str) -> Response<Body> {
        let (method, uri) = request.split_once(' ').expect("a method and a path");
        let mut builder = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let mut request = builder
            .body(Body::from(body.to_owned()))
            .expect("a request");
        let peer: SocketAddr = "127.0.0.1:4711".parse().expect("an address");
        request.extensions_mut().insert(PeerAddress(peer));
        self.api.server().handle(request).await
    }

    /// Sends a request of the administrator with a JSON body.
    async fn admin(&self, request: &str, body: &Value) -> (u16, Value) {
        let headers = [
            ("authorization", "Bearer tok"),
            ("content-type", media(request)),
            ("user-agent", "tester/1"),
        ];
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let (code, answer) = self.send(request, &headers, &body).await;
        (code, serde_json::from_slice(&answer).unwrap_or_default())
    }

    /// Removes and returns the events so far.
    fn take(&self) -> Vec<Arc<Event>> {
        let events = self.ring.events();
        self.ring.clear();
        events
    }
}

fn media(request: &str) -> &'static str {
    match request.starts_with("PATCH") {
        true => "application/merge-patch+json",
        false => "application/json",
    }
}
