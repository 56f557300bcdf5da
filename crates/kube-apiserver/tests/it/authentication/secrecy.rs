//! Credentials, valid or not, appear in no log line, error, audit event or metric.

use std::{fmt, sync::Arc};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use http::Method;
use http_body_util::BodyExt;
use kubewright_apiserver::{
    Body,
    audit::{Policy, Ring},
};
use parking_lot::Mutex;
use serde_json::json;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

use super::{ADMIN, Api, SECRETS};

const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// A subscriber that keeps the values of all fields, at every level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = self.0.lock();
        text.push_str(&format!("{}={value:?}\n", field.name()));
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Sends a token in a header and as the subprotocol of a WebSocket, and returns the heads and bodies of the responses.
async fn responses_to(api: &Api, token: &str) -> String {
    let bearer = format!("Bearer {token}");
    let encoded = BASE64_URL_SAFE_NO_PAD.encode(token);
    let protocols = format!("base64url.bearer.authorization.k8s.io.{encoded}, v5.channel.k8s.io");
    let mut text = String::new();
    for header in [
        ("authorization", bearer.as_str()),
        ("sec-websocket-protocol", &protocols),
    ] {
        let reply = api
            .send_with(Method::POST, REVIEWS, &json!({}), &[header])
            .await;
        text += &format!("{:?} {}\n", reply.headers, reply.body);
    }
    text
}

async fn metrics(api: &Api) -> String {
    let request = http::Request::get("/metrics")
        .header("authorization", format!("Bearer {ADMIN}"))
        .body(Body::empty());
    let response = api.server.server().handle(request.unwrap()).await;
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test]
async fn credentials_appear_in_no_log_error_audit_event_or_metric() {
    let log = Log::default();
    // With only one subscriber, a thread of another test without one could cache that nothing is interested in the event.
    let _second = tracing::Dispatch::new(log.clone());
    let _guard = tracing::subscriber::set_default(log.clone());
    let policy = b"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse, resources: [{group: authentication.k8s.io, resources: [selfsubjectreviews]}]}]";
    let ring = Ring::new(1000);
    let api =
        Api::with(|builder| builder.audit(Policy::parse(policy).unwrap(), Arc::new(ring.clone())))
            .await;
    let valid = api.token(json!({})).await;
    let (signed, signature) = valid.rsplit_once('.').unwrap();
    let other = if signature.starts_with('A') { "B" } else { "A" };
    let forged = format!("{signed}.{other}{}", &signature[1..]);
    let secret = json!({
        "metadata": {"name": "legacy", "annotations": {"kubernetes.io/service-account.name": "web"}},
        "type": "kubernetes.io/service-account-token",
    });
    api.post(SECRETS, secret).await.created();
    let uid = api
        .get(&format!("{}/web", super::ACCOUNTS))
        .await
        .ok()
        .uid();
    let legacy = api
        .keys
        .secret_token("shop", "web", &uid, "legacy")
        .unwrap();
    let expired = api.token(json!({"expirationSeconds": 600})).await;
    api.clock.advance(3000);

    let mut answers = String::new();
    for token in [
        valid.as_str(),
        &forged,
        &expired,
        &legacy,
        "abcdef.0123456789abcdef",
        "a-static-token-that-does-not-exist",
        ADMIN,
    ] {
        answers += &responses_to(&api, token).await;
        if token != valid && token != ADMIN {
            // The reason that a review shows to administrators.
            answers += &api.rejection(token).await;
        }
    }
    let events: String = ring
        .events()
        .iter()
        .map(|event| event.to_json() + "\n")
        .collect();
    let logged = log.0.lock().clone();
    let places = [
        ("responses", answers),
        ("log", logged),
        ("audit events", events),
        ("metrics", metrics(&api).await),
    ];
    for (place, text) in places {
        assert!(!text.is_empty(), "{place}");
        let signatures =
            [&valid, &forged, &expired, &legacy].map(|token| token.rsplit_once('.').unwrap().1);
        for secret in signatures.into_iter().chain([
            "0123456789abcdef",
            "a-static-token-that-does-not-exist",
            ADMIN,
        ]) {
            let encoded = BASE64_URL_SAFE_NO_PAD.encode(secret);
            assert!(!text.contains(secret), "{place}: {text}");
            assert!(!text.contains(&encoded), "{place}: {text}");
        }
    }
    // The log does say why.
    let log = log.0.lock();
    assert!(log.contains("expired"), "{log}");
}
