//! Certificate signing requests: who asks is what the server saw, never what the request says.

use serde_json::{Value, json};

use crate::{
    KindRules, general,
    json::{Read, Write},
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create,
    prepare_update,
    prepare_status_update,
    reset_fields: &["spec", "status"],
    reset_fields_status: &["spec", "status.conditions"],
    ..KindRules::GENERAL
};

/// The fields that a write to `/approval` cannot own.
pub const RESET_FIELDS_APPROVAL: &[&str] = &["spec", "status.certificate"];

/// Writes down who asks. Comes after the strategy has dropped what the body said.
pub fn put_requester(csr: &mut Value, username: &str, uid: &str, groups: &[String], extra: Value) {
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

/// Before an update of `/approval`: only the conditions change.
pub fn prepare_approval(new: &mut Value, old: &Value) {
    let conditions = new["status"]["conditions"].clone();
    general::copy(new, old, "spec");
    general::copy(new, old, "status");
    new.field("status").put("conditions", conditions);
}

/// Fills the times of conditions, on `/approval` and `/status`.
pub fn stamp_conditions(new: &mut Value, old: &Value, now: &str) {
    let before = old["status"]["conditions"].clone();
    new.with("status", |status| {
        status.each("conditions", |condition| {
            condition.put_if_blank("lastUpdateTime", now);
            let previous = before
                .items()
                .iter()
                .find(|c| c["type"] == condition["type"] && c["status"] == condition["status"]);
            let since = match previous.map(|c| &c["lastTransitionTime"]) {
                Some(time) if !time.is_blank() => time.clone(),
                _ => now.into(),
            };
            condition.put_if_blank("lastTransitionTime", since);
        });
    });
}

fn default(csr: &mut Value) {
    csr.with("status", |status| {
        status.each("conditions", |c| c.put_if_blank("status", "True"));
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

/// The decisions, approved and denied, are made on `/approval`: here they stay as they are.
fn prepare_status_update(new: &mut Value, old: &Value) {
    general::copy(new, old, "spec");
    for decision in ["Approved", "Denied"] {
        keep_conditions(new, old, decision);
    }
}

fn keep_conditions(new: &mut Value, old: &Value, kind: &str) {
    let mut kept = old["status"]["conditions"]
        .items()
        .iter()
        .filter(|c| c["type"] == kind)
        .cloned();
    let conditions: Vec<Value> = new["status"]["conditions"]
        .items()
        .iter()
        .filter_map(|c| match c["type"] == kind {
            true => kept.next(),
            false => Some(c.clone()),
        })
        .collect();
    let rest: Vec<Value> = kept.collect();
    let all = [conditions, rest].concat();
    if !all.is_empty() || new["status"]["conditions"].is_set() {
        new.field("status").put("conditions", all);
    }
}
