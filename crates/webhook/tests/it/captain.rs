//! The kind of the tests, its webhooks, and functions to call them.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use kube::CustomResource;
use kubewright::Schema;
use kubewright_controller::Result;
use kubewright_webhook::{
    Admission, Defaulter, FieldErrors, Operation, Validator, Webhook, Webhooks,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Captain",
    namespaced
)]
pub(crate) struct CaptainSpec {
    #[schema(min_length = 1)]
    pub(crate) ship: Option<String>,
    #[serde(default)]
    pub(crate) mates: u32,
}

pub(crate) const MUTATE: &str = "/mutate-crew-example-com-v1-captain";
pub(crate) const VALIDATE: &str = "/validate-crew-example-com-v1-captain";

pub(crate) struct CaptainDefaulter;

impl Defaulter<Captain> for CaptainDefaulter {
    async fn default(&self, ctx: &Admission<'_>, captain: &mut Captain) -> Result<()> {
        let old: Option<Captain> = ctx.old()?;
        let ship = old.and_then(|old| old.spec.ship);
        let ship = ship.unwrap_or_else(|| "pequod".to_owned());
        captain.spec.ship.get_or_insert(ship);
        if captain.spec.mates > 100 {
            panic!("the ship sinks");
        }
        Ok(())
    }
}

pub(crate) struct CaptainValidator;

impl Validator<Captain> for CaptainValidator {
    async fn validate(&self, ctx: &Admission<'_>, captain: &Captain) -> Result<()> {
        let mut errors = FieldErrors::new();
        if captain.spec.mates > 20 {
            errors.invalid("spec.mates", captain.spec.mates, "must be at most 20");
        }
        if captain.spec.ship.is_none() {
            errors.required("spec.ship", "");
        }
        if captain.spec.mates == 0 {
            ctx.warn("a captain without mates steers alone");
            ctx.audit("alone", "true");
        }
        errors.into_result()
    }

    async fn validate_update(
        &self,
        ctx: &Admission<'_>,
        old: &Captain,
        new: &Captain,
    ) -> Result<()> {
        if old.spec.ship != new.spec.ship {
            return Err("a captain does not leave the ship".into());
        }
        self.validate(ctx, new).await
    }

    async fn validate_delete(&self, ctx: &Admission<'_>, captain: &Captain) -> Result<()> {
        match captain.spec.mates {
            0 => Ok(()),
            _ if ctx.user().is_in("system:masters") => Ok(()),
            _ => Err("the mates need a captain".into()),
        }
    }
}

pub(crate) fn webhooks() -> Webhooks {
    let validator = Webhook::validator(CaptainValidator);
    let all = [Operation::Create, Operation::Update, Operation::Delete];
    Webhooks::builder()
        .defaulter(CaptainDefaulter)
        .webhook(validator.operations(all))
        .build()
        .unwrap()
}

pub(crate) fn captain(spec: Value) -> Value {
    json!({
        "apiVersion": "crew.example.com/v1", "kind": "Captain",
        "metadata": {"name": "ahab", "namespace": "default"}, "spec": spec,
    })
}

/// Returns a review about a captain.
pub(crate) fn review(operation: &str, object: Option<Value>, old: Option<Value>) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": "crew.example.com", "version": "v1", "kind": "Captain"},
            "resource": {"group": "crew.example.com", "version": "v1", "resource": "captains"},
            "name": "ahab", "namespace": "default", "operation": operation,
            "userInfo": {"username": "alice", "groups": ["system:authenticated"]},
            "object": object, "oldObject": old, "dryRun": false, "options": null,
        },
    })
}

/// Posts a review, and returns the response inside the review.
pub(crate) async fn ask(webhooks: &Webhooks, path: &str, review: &Value) -> Value {
    let answer = post(webhooks, path, review.to_string(), "application/json").await;
    let answer: Value = serde_json::from_slice(&answer.1).unwrap();
    assert_eq!(answer["kind"], "AdmissionReview");
    assert_eq!(answer["apiVersion"], review["apiVersion"]);
    assert_eq!(answer["response"]["uid"], review["request"]["uid"]);
    answer["response"].clone()
}

pub(crate) async fn post(
    webhooks: &Webhooks,
    path: &str,
    body: impl Into<Bytes>,
    content_type: &str,
) -> (u16, Bytes) {
    let request = Request::post(format!("{path}?timeout=10s"))
        .header("content-type", content_type)
        .body(Full::new(body.into()))
        .unwrap();
    let answer = webhooks.answer(request).await;
    let status = answer.status().as_u16();
    (
        status,
        answer.into_body().collect().await.unwrap().to_bytes(),
    )
}

/// Decodes the patch of a response.
pub(crate) fn patch(response: &Value) -> Value {
    assert_eq!(response["patchType"], "JSONPatch", "{response}");
    let patch = STANDARD.decode(response["patch"].as_str().unwrap());
    serde_json::from_slice(&patch.unwrap()).unwrap()
}
