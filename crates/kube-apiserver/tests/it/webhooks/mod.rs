//! Admission webhooks, called in process and over TLS.

mod bad_answers;
mod mutating;
mod reviews;
mod sockets;
mod validating;

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{Request, Response};
use kubewright_apiserver::boxed_async;
use kubewright_kube_apiserver::ServiceHandler;
use kubewright_testing::TestCluster;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::http_client::{Answer, Http};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const MUTATING: &str = "mutatingwebhookconfigurations";
const VALIDATING: &str = "validatingwebhookconfigurations";

/// Maps a review to the body of the answer.
type Behaviour = Arc<dyn Fn(&Value) -> Result<String, String> + Send + Sync>;

/// A webhook in the test, which records the reviews that it gets.
pub(crate) struct Hook {
    behaviour: Behaviour,
    seen: Arc<Mutex<Vec<Value>>>,
}

#[boxed_async]
impl ServiceHandler for Hook {
    async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        assert_eq!(request.headers()["user-agent"], "kube-apiserver-admission");
        let review: Value = serde_json::from_slice(request.body()).map_err(|e| e.to_string())?;
        let answer = (self.behaviour)(&review);
        self.seen.lock().push(review);
        answer.map(|body| Response::new(body.into()))
    }
}

/// A cluster with webhooks.
pub(crate) struct Scene {
    pub(crate) cluster: TestCluster,
    pub(crate) http: Http,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        let cluster = TestCluster::start().await;
        let http = Http::of(&cluster);
        Self { cluster, http }
    }

    /// Serves a webhook at the service `test/<name>`, and returns the reviews that it gets.
    pub(crate) fn serve(
        &self,
        name: &str,
        behaviour: impl Fn(&Value) -> Result<String, String> + Send + Sync + 'static,
    ) -> Arc<Mutex<Vec<Value>>> {
        let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
        let hook = Hook {
            behaviour: Arc::new(behaviour),
            seen: seen.clone(),
        };
        let services = self.cluster.services();
        services.set_handler("test", name, 443, Arc::new(hook));
        seen
    }

    /// Registers the webhook `<name>.example.com` of the service `test/<name>`, for all requests for config maps unless changed.
    pub(crate) async fn register(&self, plural: &str, name: &str, change: Value) {
        let mut webhook = json!({
            "name": format!("{name}.example.com"),
            "clientConfig": {"service": {"namespace": "test", "name": name, "path": "/review"}},
            "rules": [rule("", "configmaps")],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        });
        for (key, value) in change.as_object().into_iter().flatten() {
            webhook[key] = value.clone();
        }
        let path = format!("{GROUP}/{plural}");
        let object = json!({"metadata": {"name": name}, "webhooks": [webhook]});
        self.http.post(&path, object).await.ok();
    }
}

pub(crate) fn rule(group: &str, resource: &str) -> Value {
    json!({"operations": ["*"], "apiGroups": [group], "apiVersions": ["*"], "resources": [resource]})
}

/// Returns an answer with this response.
pub(crate) fn respond(review: &Value, mut response: Value) -> Result<String, String> {
    response["uid"] = review["request"]["uid"].clone();
    let answer = json!({
        "apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response,
    });
    Ok(answer.to_string())
}

pub(crate) fn allow(review: &Value) -> Result<String, String> {
    respond(review, json!({"allowed": true}))
}

pub(crate) fn deny(review: &Value) -> Result<String, String> {
    let status = json!({"code": 403, "reason": "Forbidden", "message": "no"});
    respond(review, json!({"allowed": false, "status": status}))
}

/// Returns the message of a failure.
pub(crate) fn said_by(answer: &Answer) -> String {
    answer.json()["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Returns an answer with a patch.
pub(crate) fn patch(review: &Value, patch: Value) -> Result<String, String> {
    let patch = STANDARD.encode(patch.to_string());
    let response = json!({"allowed": true, "patchType": "JSONPatch", "patch": patch});
    respond(review, response)
}
