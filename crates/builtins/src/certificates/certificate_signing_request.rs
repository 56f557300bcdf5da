//! Certificate signing requests, whose requester the server sets from the request.

use std::collections::BTreeSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::names,
};
use serde_json::{Value, json};

use crate::{
    KindRules, checks, general,
    json::{Read, Write},
    meta,
};

const DECISIONS: [&str; 3] = ["Approved", "Denied", "Failed"];
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create,
    prepare_update,
    prepare_status_update,
    validate_create: validate,
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

/// Fills the times of conditions, on `/approval` and `/status`.
fn stamp_conditions(new: &mut Value, old: &Value, now: &str) {
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

/// Checks an update of `/approval`.
pub fn validate_approval(new: &Value, old: &Value) -> ErrorList {
    validate_change(new, old, Endpoint::Approval)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Endpoint {
    Main,
    Status,
    Approval,
}

/// Validates everything but the contents of the encoded request, which requires X.509.
fn validate(csr: &Value) -> ErrorList {
    let mut errors = meta::validate(csr, false, |_, _| Vec::new());
    let (spec, path) = (&csr["spec"], Path::new("spec"));
    let request = STANDARD.decode(spec["request"].text()).unwrap_or_default();
    if !String::from_utf8_lossy(&request).contains("-----BEGIN CERTIFICATE REQUEST-----") {
        let message = "PEM block type must be CERTIFICATE REQUEST";
        errors.push(field::invalid(
            &path.child("request"),
            &spec["request"],
            message,
        ));
    }
    let usages = spec["usages"].items();
    let usages_path = path.child("usages");
    if usages.is_empty() {
        errors.push(field::required(&usages_path, ""));
    }
    for (i, usage) in usages.iter().enumerate() {
        checks::one_of_if_set(usage, &USAGES, &usages_path.index(i), &mut errors);
    }
    let mut seen = BTreeSet::new();
    for (i, usage) in usages.iter().enumerate() {
        if !seen.insert(usage.text()) {
            errors.push(field::duplicate(&usages_path.index(i), usage));
        }
    }
    validate_signer(
        spec["signerName"].text(),
        &path.child("signerName"),
        &mut errors,
    );
    let seconds = &spec["expirationSeconds"];
    if seconds.is_set() && seconds.int() < 600 {
        let path = path.child("expirationSeconds");
        let message = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.push(field::invalid(&path, seconds, message));
    }
    validate_conditions(csr, &Path::new("status").child("conditions"), &mut errors);
    errors
}

fn validate_signer(name: &str, path: &Path, errors: &mut ErrorList) {
    if name.is_empty() {
        errors.push(field::required(path, ""));
        return;
    }
    if name == "kubernetes.io/legacy-unknown" {
        let message = "the legacy signerName is not allowed via this API version";
        errors.push(field::invalid_str(path, name, message));
        return;
    }
    let parts: Vec<&str> = name.split('/').collect();
    let [domain, rest] = parts.as_slice() else {
        let message =
            "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.push(field::invalid_str(path, name, message));
        return;
    };
    for label in domain.split('.') {
        let found = names::is_dns1123_label(label);
        if !found.is_empty() {
            let texts = found
                .iter()
                .map(|m| format!("validating label \"{label}\": {m}"));
            checks::messages(domain, texts.collect(), path, errors);
            break;
        }
    }
    if !domain.contains('.') {
        let message = "should be a domain with at least two segments separated by dots";
        errors.push(field::invalid_str(path, domain, message));
    }
    for label in rest.split('.') {
        let found = names::is_dns1123_subdomain(label);
        if !found.is_empty() {
            let texts = found
                .iter()
                .map(|m| format!("validating label \"{label}\": {m}"));
            checks::messages(rest, texts.collect(), path, errors);
            break;
        }
    }
}

fn validate_conditions(csr: &Value, path: &Path, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (i, condition) in csr["status"]["conditions"].items().iter().enumerate() {
        let at = path.index(i);
        let kind = condition["type"].text();
        checks::required(&condition["type"], &at.child("type"), errors);
        let known: &[&str] = match DECISIONS.contains(&kind) {
            true => &["True"],
            false => &["False", "True", "Unknown"],
        };
        checks::one_of(&condition["status"], known, &at.child("status"), errors);
        let opposite = match kind {
            "Approved" => "Denied",
            "Denied" => "Approved",
            _ => "",
        };
        if seen.contains(opposite) {
            let message = "Approved and Denied conditions are mutually exclusive";
            errors.push(field::invalid_str(path, kind, message));
        }
        if !seen.insert(kind) {
            errors.push(field::duplicate(&at.child("type"), &condition["type"]));
        }
    }
}

fn validate_change(new: &Value, old: &Value, endpoint: Endpoint) -> ErrorList {
    let mut errors = meta::common(new, old, false);
    errors.extend(validate(new));
    let path = Path::new("status").child("conditions");
    let of = |csr: &Value, kind: &str| -> Vec<Value> {
        let all = csr["status"]["conditions"].items().iter();
        all.filter(|c| c["type"] == kind).cloned().collect()
    };
    for kind in DECISIONS {
        if of(new, kind).len() < of(old, kind).len() {
            let message = format!("updates may not remove a condition of type \"{kind}\"");
            errors.push(field::forbidden(&path, message));
        }
    }
    if endpoint != Endpoint::Approval {
        for kind in ["Approved", "Denied"] {
            let (after, before) = (of(new, kind), of(old, kind));
            let verb = match after.len().cmp(&before.len()) {
                std::cmp::Ordering::Greater => "add",
                std::cmp::Ordering::Equal if after != before => "modify",
                _ => continue,
            };
            let message = format!("updates may not {verb} a condition of type \"{kind}\"");
            errors.push(field::forbidden(&path, message));
        }
    }
    let (after, before) = (&new["status"]["certificate"], &old["status"]["certificate"]);
    if after.text() != before.text() {
        let path = Path::new("status").child("certificate");
        if endpoint != Endpoint::Status {
            errors.push(field::forbidden(
                &path,
                "updates may not set certificate content",
            ));
        } else if !before.is_blank() {
            errors.push(field::forbidden(
                &path,
                "updates may not modify existing certificate content",
            ));
        }
    }
    errors.extend(meta::validate_update(new, old));
    errors
}
