//! Tests of authentication: tokens of service accounts, of Secrets and of files, certificates, proxies, anonymous requests.

mod bound_objects;
mod certificates;
mod chain;
mod discovery;
mod forged_tokens;
mod secrecy;
mod secret_tokens;
mod token_requests;
mod token_reviews;

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use http::{HeaderMap, Method, Request};
use http_body_util::BodyExt;
use jiff::{SignedDuration, Timestamp};
use kubewright_apiserver::{Body, Clock, auth::TokenFile};
use kubewright_kube_apiserver::{KubeApiServer, KubeApiServerBuilder, ServiceAccountKeys};
use parking_lot::Mutex;
use serde_json::{Value, json};

pub(crate) const ACCOUNTS: &str = "/api/v1/namespaces/shop/serviceaccounts";
pub(crate) const SECRETS: &str = "/api/v1/namespaces/shop/secrets";
pub(crate) const PODS: &str = "/api/v1/namespaces/shop/pods";
const ADMIN: &str = "admin-token";

/// A server with one static token, and a clock that is moved by hand.
pub(crate) struct Api {
    pub(crate) server: KubeApiServer,
    pub(crate) keys: ServiceAccountKeys,
    pub(crate) clock: Arc<HandClock>,
}

pub(crate) struct HandClock(Mutex<Timestamp>);

/// An answer, with its body as JSON.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl HandClock {
    pub(crate) fn advance(&self, seconds: i64) {
        let mut now = self.0.lock();
        *now += SignedDuration::from_secs(seconds);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        *self.0.lock()
    }
}

impl Api {
    pub(crate) async fn start() -> Self {
        Self::with(|builder| builder).await
    }

    pub(crate) async fn with(
        configure: impl FnOnce(KubeApiServerBuilder) -> KubeApiServerBuilder,
    ) -> Self {
        let now = "2026-05-01T12:00:00Z".parse().unwrap();
        let clock = Arc::new(HandClock(Mutex::new(now)));
        let keys = ServiceAccountKeys::generate();
        let admin = format!("{ADMIN},admin,1,system:masters");
        let builder = KubeApiServer::builder()
            .clock(clock.clone())
            .address("10.0.0.1:6443")
            .token_file(TokenFile::parse(&admin).unwrap())
            .service_account_keys(keys.clone());
        let server = configure(builder).build().await.unwrap();
        let api = Self {
            server,
            keys,
            clock,
        };
        let namespace = json!({"metadata": {"name": "shop"}});
        api.post("/api/v1/namespaces", namespace).await.created();
        let account = json!({"metadata": {"name": "web"}});
        api.post(ACCOUNTS, account).await.created();
        api
    }

    /// Sends a request as the administrator.
    pub(crate) async fn send(&self, method: Method, path: &str, body: &Value) -> Reply {
        self.send_with(
            method,
            path,
            body,
            &[("authorization", "Bearer admin-token")],
        )
        .await
    }

    pub(crate) async fn send_with(
        &self,
        method: Method,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> Reply {
        let media = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let mut request = Request::builder().method(method).uri(path);
        request = request.header("content-type", media);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = match body {
            Value::Null => Body::empty(),
            body => Body::from(body.to_string()),
        };
        let response = self.server.server().handle(request.body(body).unwrap());
        let (head, body) = response.await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Reply {
            code: head.status.as_u16(),
            headers: head.headers,
            body: serde_json::from_slice(&body).unwrap_or_default(),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, &Value::Null).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.send(Method::POST, path, &body).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Reply {
        self.send(Method::PATCH, path, &body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.send(Method::DELETE, path, &Value::Null).await
    }

    /// Requests a token of the service account `web`.
    pub(crate) async fn request_token(&self, spec: Value) -> Reply {
        let path = format!("{ACCOUNTS}/web/token");
        self.post(&path, json!({"spec": spec})).await
    }

    /// Returns a new token of the service account `web`.
    pub(crate) async fn token(&self, spec: Value) -> String {
        let reply = self.request_token(spec).await.created();
        reply.body["status"]["token"].as_str().unwrap().to_owned()
    }

    /// Sends a request with a token.
    pub(crate) async fn with_token(&self, token: &str) -> Reply {
        let bearer = format!("Bearer {token}");
        self.send_with(
            Method::POST,
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            &json!({}),
            &[("authorization", &bearer)],
        )
        .await
    }

    /// Returns the user of a token.
    pub(crate) async fn user(&self, token: &str) -> Value {
        let reply = self.with_token(token).await.created();
        reply.body["status"]["userInfo"].clone()
    }

    /// Returns the status of a review of a token.
    pub(crate) async fn review(&self, spec: Value) -> Reply {
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        self.post(path, json!({"spec": spec})).await
    }

    /// Returns the reason why a token is not accepted, and checks that requests with it are not.
    pub(crate) async fn rejection(&self, token: &str) -> String {
        let reply = self.with_token(token).await;
        assert_eq!(reply.code, 401, "{:?}", reply.body);
        assert_eq!(reply.body["message"], "Unauthorized");
        assert!(!reply.headers.contains_key("www-authenticate"));
        let review = self.review(json!({"token": token})).await.created();
        assert_eq!(review.body["status"]["authenticated"], Value::Null);
        assert_eq!(review.body["status"]["user"], json!({}));
        let error = review.body["status"]["error"].as_str().unwrap();
        match error.strip_prefix("[invalid bearer token, ") {
            Some(rest) => rest.strip_suffix(']').unwrap().to_owned(),
            None => error.to_owned(),
        }
    }
}

impl Reply {
    pub(crate) fn created(self) -> Self {
        assert_eq!(self.code, 201, "{}", self.body);
        self
    }

    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 200, "{}", self.body);
        self
    }

    pub(crate) fn refused(&self, code: u16, message: &str) {
        assert_eq!(self.body["message"], message);
        assert_eq!(self.code, code);
    }

    pub(crate) fn warnings(&self) -> Vec<&str> {
        let values = self.headers.get_all("warning").iter();
        values.map(|value| value.to_str().unwrap()).collect()
    }

    pub(crate) fn uid(&self) -> String {
        self.body["metadata"]["uid"].as_str().unwrap().to_owned()
    }
}

/// Returns the header and the claims of a token.
pub(crate) fn parts(token: &str) -> (Value, Value) {
    let mut parts = token.split('.').map(|part| {
        let json = BASE64_URL_SAFE_NO_PAD.decode(part).unwrap();
        serde_json::from_slice(&json).unwrap_or_default()
    });
    (parts.next().unwrap(), parts.next().unwrap())
}
