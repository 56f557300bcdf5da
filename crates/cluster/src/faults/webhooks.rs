//! Faults of webhooks, injected between the server and the code that serves the webhook.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use kubewright_apiserver::boxed_async;
use kubewright_kube_apiserver::ServiceHandler;
use serde_json::{Value, json};

use super::Faults;

/// An error of a webhook.
///
/// ```
/// use kubewright_cluster::{Faults, WebhookFault};
///
/// let faults = Faults::default();
/// faults.inject_webhook(WebhookFault::Down, "/validate-crew-example-com-v1-captain", 1);
/// assert_eq!(faults.pending(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookFault {
    /// The connection is refused.
    Down,
    /// The response is delayed.
    Slow(Duration),
    /// The request is denied with this message, or the conversion fails with it.
    Denied(String),
    /// The response is this text instead of a review.
    Wrong(String),
}

/// A fault for calls in the future.
pub(super) struct PlannedWebhook {
    fault: WebhookFault,
    path: String,
    times: usize,
}

impl PlannedWebhook {
    pub(super) fn times(&self) -> usize {
        self.times
    }
}

impl Faults {
    /// Injects a fault into the next `times` calls of the webhook at a path, or of any webhook if the path is empty.
    ///
    /// It affects webhooks that are called in process, such as those of an operator in tests. The path of conversions is
    /// `/convert`.
    pub fn inject_webhook(&self, fault: WebhookFault, path: &str, times: usize) {
        let path = path.to_owned();
        let planned = PlannedWebhook { fault, path, times };
        self.0.webhooks.lock().push(planned);
    }

    /// Returns the number of in-process webhook calls so far.
    pub fn webhook_calls(&self) -> usize {
        self.0.webhook_calls.load(Ordering::Relaxed)
    }

    fn strike_webhook(&self, path: &str) -> Option<WebhookFault> {
        self.0.webhook_calls.fetch_add(1, Ordering::Relaxed);
        let mut planned = self.0.webhooks.lock();
        let hit = planned
            .iter_mut()
            .find(|it| it.times > 0 && (it.path.is_empty() || it.path == path))?;
        hit.times -= 1;
        let fault = hit.fault.clone();
        planned.retain(|it| it.times > 0);
        Some(fault)
    }
}

/// A service with fault injection.
pub struct FaultyService {
    handler: Arc<dyn ServiceHandler>,
    faults: Faults,
}

impl FaultyService {
    /// Wraps a service.
    pub fn new(handler: Arc<dyn ServiceHandler>, faults: Faults) -> Self {
        Self { handler, faults }
    }
}

#[boxed_async]
impl ServiceHandler for FaultyService {
    async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        match self.faults.strike_webhook(request.uri().path()) {
            None => self.handler.call(request).await,
            Some(WebhookFault::Down) => {
                Err("dial tcp 127.0.0.1:443: connect: connection refused".to_owned())
            }
            Some(WebhookFault::Slow(delay)) => {
                tokio::time::sleep(delay).await;
                self.handler.call(request).await
            }
            Some(WebhookFault::Denied(message)) => Ok(denied(request.body(), &message)),
            Some(WebhookFault::Wrong(text)) => Ok(Response::new(text.into())),
        }
    }
}

/// Returns the response that denies a review, or fails a conversion.
fn denied(review: &[u8], message: &str) -> Response<Bytes> {
    let review: Value = serde_json::from_slice(review).unwrap_or_default();
    let uid = &review["request"]["uid"];
    let response = match review["kind"] == "ConversionReview" {
        true => json!({"uid": uid, "result": {"status": "Failure", "message": message}}),
        false => json!({
            "uid": uid,
            "allowed": false,
            "status": {"message": message, "reason": "Forbidden", "code": 403},
        }),
    };
    let answer = json!({
        "apiVersion": review["apiVersion"],
        "kind": review["kind"],
        "response": response,
    });
    Response::new(answer.to_string().into())
}
