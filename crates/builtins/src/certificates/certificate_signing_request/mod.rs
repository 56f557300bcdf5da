//! Certificate signing requests, whose requester the server sets from the request.

mod validate;

use kubewright_machinery::field::ErrorList;
use serde_json::{Value, json};

use crate::{
    KindRules, general,
    json::{Read, Write},
};
use validate::{Endpoint, validate_change, validate_create};

pub use validate::parse_request;

pub(crate) static RULES: KindRules = KindRules {
    prepare_create,
    prepare_update,
    prepare_status_update,
    validate_create,
    validate_update: |new, old| validate_change(new, old, Endpoint::Main),
    validate_status_update: |new, old| validate_change(new, old, Endpoint::Status),
    stamp_subresource_update: Some(stamp_conditions),
    put_requester: Some(put_requester),
    reset_fields: &["spec", "status"],
    reset_fields_status: &["spec", "status.conditions"],
    ..KindRules::GENERAL
};

/// The fields that a write to `/approval` cannot own.
pub const RESET_FIELDS_APPROVAL: &[&str] = &["spec", "status.certificate"];

/// Sets the requester. Call it after the strategy has removed the fields that the body set.
fn put_requester(csr: &mut Value, username: &str, uid: &str, groups: &[String], extra: Value) {
    let spec = csr.field("spec");
    spec.put("username", username);
    if !uid.is_empty() {
        spec.put("uid", uid);
    }
    spec.put("groups", groups.to_vec());
    if !extra.is_blank() {
        spec.put("extra", extra);
    }
}

/// Prepares an update of `/approval`, which changes only the conditions.
pub fn prepare_approval(new: &mut Value, old: &Value) {
    let conditions = new["status"]["conditions"].clone();
    general::copy(new, old, "spec");
    general::copy(new, old, "status");
    new.field("status").put("conditions", conditions);
}

/// Checks an update of `/approval`.
pub fn validate_approval(new: &Value, old: &Value) -> ErrorList {
    validate_change(new, old, Endpoint::Approval)
}

/// Fills the times of conditions, on `/approval` and `/status`.
fn stamp_conditions(new: &mut Value, old: &Value, now: &str) {
    let before = old["status"]["conditions"].clone();
    new.with("status", |status| {
        status.each("conditions", |condition| {
            condition.put_if_blank("lastUpdateTime", now);
            let since = before
                .items()
                .iter()
                .filter(|c| c["type"] == condition["type"] && c["status"] == condition["status"])
                .map(|c| &c["lastTransitionTime"])
                .find(|time| !time.is_blank());
            let since = since.cloned().unwrap_or_else(|| now.into());
            condition.put_if_blank("lastTransitionTime", since);
        });
    });
}

fn prepare_create(csr: &mut Value) {
    csr.with("spec", |spec| {
        for field in ["username", "uid", "groups", "extra"] {
            spec.forget(field);
        }
    });
    csr.put("status", json!({}));
}

fn prepare_update(new: &mut Value, old: &Value) {
    general::copy(new, old, "spec");
    general::copy(new, old, "status");
}

/// The decisions, approved and denied, are made on `/approval`: here they keep their contents. Added and removed ones are
/// left to validation.
fn prepare_status_update(new: &mut Value, old: &Value) {
    general::copy(new, old, "spec");
    for decision in ["Approved", "Denied"] {
        keep_conditions(new, old, decision);
    }
}

fn keep_conditions(new: &mut Value, old: &Value, kind: &str) {
    let of_kind = |csr: &Value| -> Vec<Value> {
        let all = csr["status"]["conditions"].items().iter();
        all.filter(|c| c["type"] == kind).cloned().collect()
    };
    let before = of_kind(old);
    if before.is_empty() || before.len() != of_kind(new).len() {
        return;
    }
    let mut before = before.into_iter();
    new.with("status", |status| {
        status.each("conditions", |condition| {
            if condition["type"] == kind
                && let Some(kept) = before.next()
            {
                *condition = kept;
            }
        });
    });
}
