//! Answers that are not what they should be.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{Request, Response};
use kubewright_apiserver::boxed_async;
use kubewright_kube_apiserver::ServiceHandler;
use serde_json::{Value, json};

use super::{MUTATING, Scene, VALIDATING, patch, respond, said_by};
use crate::http_client::{MAPS, map};

/// Returns the message of a create that a mutating webhook answers so.
async fn said(answer: impl Fn(&Value) -> Result<String, String> + Send + Sync + 'static) -> String {
    let scene = Scene::new().await;
    scene.serve("a", answer);
    scene.register(MUTATING, "a", json!({})).await;
    let answer = scene.http.post(MAPS, map("m")).await;
    answer.refused(500);
    let message = said_by(&answer);
    let message = message
        .strip_prefix("Internal error occurred: ")
        .expect("an internal error");
    message.replace("failed calling webhook \"a.example.com\": ", "FAILED ")
}

#[tokio::test]
async fn responses_that_are_not_reviews() {
    assert_eq!(
        said(|_| Ok(String::new())).await,
        "FAILED failed to call webhook: 0-length response with status code: 200 and content type: application/json"
    );
    let garbled = said(|_| Ok("{".into())).await;
    assert!(
        garbled.starts_with("FAILED failed to call webhook: couldn't get version/kind"),
        "{garbled}"
    );
    assert_eq!(
        said(|_| Ok("{}".into())).await,
        "FAILED received invalid webhook response: webhook response was absent"
    );
    let other = json!({"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"});
    assert_eq!(
        said(move |_| Ok(other.to_string())).await,
        "FAILED failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion"
    );
    let no_uid = said(|_| {
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "response": {"allowed": true}});
        Ok(review.to_string())
    });
    assert!(
        no_uid
            .await
            .starts_with("FAILED received invalid webhook response: expected response.uid=")
    );
    let huge = said(|_| Ok("x".repeat(5 << 20))).await;
    assert!(
        huge.ends_with("the response is larger than 4194304 bytes"),
        "{huge}"
    );
}

#[tokio::test]
async fn patches_that_do_not_fit() {
    let undecodable = said(|review| {
        let merge = STANDARD.encode(r#"{"data": {}}"#);
        respond(
            review,
            json!({"allowed": true, "patchType": "JSONPatch", "patch": merge}),
        )
    });
    let undecodable = undecodable.await;
    assert!(
        undecodable.starts_with("FAILED received undecodable patch in webhook response: "),
        "{undecodable}"
    );
    let unknown = said(|review| {
        let patch = STANDARD.encode(r#"[{"op": "add", "path": "/data", "value": {}}]"#);
        respond(
            review,
            json!({"allowed": true, "patchType": "Magic", "patch": patch}),
        )
    });
    assert_eq!(unknown.await, "FAILED unsupported patch type \"Magic\"");
    // A patch that cannot be applied fails the request, whatever the policy.
    let missing = |review: &Value| patch(review, json!([{"op": "remove", "path": "/data/none"}]));
    assert!(!said(missing).await.starts_with("FAILED"));
    let scene = Scene::new().await;
    scene.serve("a", missing);
    scene
        .register(MUTATING, "a", json!({"failurePolicy": "Ignore"}))
        .await;
    scene.http.post(MAPS, map("m")).await.refused(500);
    let mistyped = said(|review| {
        patch(
            review,
            json!([{"op": "add", "path": "/data", "value": {"a": 1}}]),
        )
    });
    assert_eq!(
        mistyped.await,
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
    );
}

/// As kube-apiserver 1.36.4 words them.
#[tokio::test]
async fn patches_that_cannot_be_applied_have_their_words() {
    let cases = [
        (
            json!([{"op": "remove", "path": "/data/none"}]),
            "Internal error occurred: remove operation does not apply: doc is missing path: \"/data/none\": missing value",
        ),
        (
            json!({"data": {}}),
            "Internal error occurred: failed calling webhook \"a.example.com\": received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type jsonpatch.Patch",
        ),
        (
            json!([{"op": "replace", "path": "/kind", "value": "Secret"}]),
            "converting (v1.Secret) to (core.ConfigMap): unknown conversion",
        ),
    ];
    for (change, words) in cases {
        let scene = Scene::new().await;
        scene.serve("a", move |review| patch(review, change.clone()));
        scene.register(MUTATING, "a", json!({})).await;
        let refused = scene.http.post(MAPS, map("m")).await;
        refused.refused_with(500, words);
    }
}

#[tokio::test]
async fn a_delete_cannot_be_patched() {
    let scene = Scene::new().await;
    scene.http.post(MAPS, map("m")).await.ok();
    scene.serve("a", |review| {
        patch(review, json!([{"op": "add", "path": "/data", "value": {}}]))
    });
    scene.register(MUTATING, "a", json!({})).await;
    scene.http.delete(&format!("{MAPS}/m")).await.refused_with(
        500,
        "Internal error occurred: admission webhook \"a.example.com\" attempted to modify the object, which is not supported for this operation",
    );
}

/// A webhook that never answers.
struct Silent;

#[boxed_async]
impl ServiceHandler for Silent {
    async fn call(&self, _request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_hangs_is_given_up() {
    let scene = Scene::new().await;
    let services = scene.cluster.services();
    services.set_handler("test", "a", 443, std::sync::Arc::new(Silent));
    scene
        .register(VALIDATING, "a", json!({"timeoutSeconds": 2}))
        .await;
    let began = tokio::time::Instant::now();
    let failed = scene.http.post(MAPS, map("m")).await;
    assert!(
        said_by(&failed).ends_with("?timeout=2s\": context deadline exceeded"),
        "{}",
        said_by(&failed)
    );
    assert!(began.elapsed() < Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn ignored_webhooks_that_hang_exhaust_the_time_of_the_request() {
    let scene = Scene::new().await;
    let services = scene.cluster.services();
    for name in ["a", "b", "c", "d"] {
        services.set_handler("test", name, 443, std::sync::Arc::new(Silent));
        let ignored = json!({"timeoutSeconds": 10, "failurePolicy": "Ignore"});
        scene.register(MUTATING, name, ignored).await;
    }
    let late = scene.http.post(MAPS, map("m")).await;
    late.refused(504);
    assert!(
        said_by(&late).starts_with("Timeout: request did not complete within requested timeout")
    );
    let short = scene
        .http
        .post(&format!("{MAPS}?timeout=5s"), map("m"))
        .await;
    short.refused(504);
}
