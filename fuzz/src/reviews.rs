//! Policies of audit, and reviews that are sent to webhooks.

use std::sync::LazyLock;

use bytes::Bytes;
use http::{Request, header::CONTENT_TYPE};
use http_body_util::{BodyExt, Full};
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_apiserver::audit::Policy;
use kubewright_webhook::Webhooks;
use tokio::runtime::Runtime;

static WEBHOOKS: LazyLock<Webhooks> = LazyLock::new(|| {
    let webhooks = Webhooks::builder()
        .defaulter(|map: &mut ConfigMap| {
            let labels = map.metadata.labels.get_or_insert_default();
            labels.entry("team".into()).or_insert("web".into());
        })
        .validator(|map: &ConfigMap| match &map.data {
            Some(_) => Ok(()),
            None => Err("a ConfigMap needs data".into()),
        });
    webhooks.build().expect("the webhooks fit together")
});

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().expect("a runtime")
});

/// Reads the input as a policy.
pub(crate) fn policy(data: &[u8]) {
    if let Err(error) = Policy::parse(data) {
        assert!(!error.to_string().is_empty());
    }
}

/// Sends the input as a review to webhooks: each answers, and with a review if it accepts the request.
pub(crate) fn review(data: &[u8]) {
    for path in [
        "/mutate--v1-configmap",
        "/validate--v1-configmap",
        "/convert",
    ] {
        let request = Request::post(path)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::copy_from_slice(data)))
            .expect("a request");
        let (code, body) = RUNTIME.block_on(async {
            let answer = WEBHOOKS.answer(request).await;
            let code = answer.status().as_u16();
            let body = answer.into_body().collect().await.expect("a body");
            (code, body.to_bytes())
        });
        if code == 200 {
            let review: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
            assert!(review["response"].is_object(), "{review}");
        }
    }
}
