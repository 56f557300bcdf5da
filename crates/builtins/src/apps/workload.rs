//! Validation that workloads share: selectors that must match their template, rolling updates, counts in the status.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    labels::LabelSelector,
    validation::names,
};
use serde_json::Value;

use crate::{checks, core::pod, go_json, json::Read, meta};

const NO_MATCH: &str = "`selector` does not match template `labels`";
const MORE_THAN_REPLICAS: &str = "cannot be greater than status.replicas";

/// Checks a selector that must be there and must select something; `kind` is what the message calls the workload.
pub(crate) fn validate_selector(spec: &Value, kind: &str, path: &Path, errors: &mut ErrorList) {
    let selector = &spec["selector"];
    let path = path.child("selector");
    if !selector.is_set() {
        errors.push(field::required(&path, ""));
        return;
    }
    checks::selector(selector, &path, errors);
    validate_not_empty(selector, kind, &path, errors);
}

/// Checks that a selector selects something.
pub(crate) fn validate_not_empty(
    selector: &Value,
    kind: &str,
    path: &Path,
    errors: &mut ErrorList,
) {
    if selector["matchLabels"].is_blank() && selector["matchExpressions"].is_blank() {
        let message = format!("empty selector is invalid for {kind}");
        errors.push(field::invalid_raw(
            path,
            go_json::selector(selector),
            message,
        ));
    }
}

/// Checks that the labels of the template match the selector, where it selects something.
pub(crate) fn validate_match(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let Ok(selector) = LabelSelector::from_label_selector(&spec["selector"]) else {
        return;
    };
    if selector.is_empty() {
        return;
    }
    let labels = &spec["template"]["metadata"]["labels"];
    if !selector.matches(|key| labels.get(key).and_then(Value::as_str)) {
        let path = path.child("template").child("metadata").child("labels");
        errors.push(field::invalid(&path, labels, NO_MATCH));
    }
}

/// Checks a selector that cannot be read, after it was reported in detail; says whether it can.
pub(crate) fn is_readable(
    spec: &Value,
    message: &str,
    path: &Path,
    errors: &mut ErrorList,
) -> bool {
    if LabelSelector::from_label_selector(&spec["selector"]).is_ok() {
        return true;
    }
    let text = go_json::selector(&spec["selector"]);
    errors.push(field::invalid_raw(&path.child("selector"), text, message));
    false
}

/// Checks a template whose pods run until they are stopped; `kind` is what the message calls the workload.
pub(crate) fn validate_running_template(
    spec: &Value,
    kind: &str,
    path: &Path,
    errors: &mut ErrorList,
) {
    let path = path.child("template");
    pod::validate::template(&spec["template"], &path, errors);
    validate_always(spec, kind, &path, errors);
}

/// Checks that pods are restarted always and have no deadline.
pub(crate) fn validate_always(spec: &Value, kind: &str, path: &Path, errors: &mut ErrorList) {
    let pod = &spec["template"]["spec"];
    let path = path.child("spec");
    if pod["restartPolicy"] != "Always" {
        let policy = pod["restartPolicy"].text();
        errors.push(field::not_supported(
            &path.child("restartPolicy"),
            policy,
            &["Always"],
        ));
    }
    if pod["activeDeadlineSeconds"].is_set() {
        let message = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.push(field::forbidden(
            &path.child("activeDeadlineSeconds"),
            message,
        ));
    }
}

/// The number, or the number of percent.
pub(crate) fn int_or_percent(value: &Value) -> i64 {
    match value.as_str() {
        Some(text) => text.trim_end_matches('%').parse().unwrap_or_default(),
        None => value.int(),
    }
}

/// Checks that a percentage is not above 100.
pub(crate) fn at_most_all(value: &Value, path: &Path, errors: &mut ErrorList) {
    let percent = value.as_str().filter(|t| names::is_percent(t).is_empty());
    if percent.is_some() && int_or_percent(value) > 100 {
        errors.push(field::invalid(path, value, "must not be greater than 100%"));
    }
}

/// Checks that counts in the status are not negative.
pub(crate) fn validate_counts(status: &Value, names: &[&str], errors: &mut ErrorList) {
    for name in names {
        checks::non_negative(&status[*name], &Path::new("status").child(name), errors);
    }
}

/// Checks that counts in the status do not exceed the number of replicas.
pub(crate) fn validate_parts(status: &Value, names: &[&str], errors: &mut ErrorList) {
    for name in names {
        if status[*name].int() > status["replicas"].int() {
            let path = Path::new("status").child(name);
            let count = status[*name].int().into();
            errors.push(field::invalid(&path, &count, MORE_THAN_REPLICAS));
        }
    }
}

/// Checks that no more replicas are available than ready.
pub(crate) fn validate_available(status: &Value, message: &str, errors: &mut ErrorList) {
    let available = status["availableReplicas"].int();
    if available > status["readyReplicas"].int() {
        let path = Path::new("status").child("availableReplicas");
        errors.push(field::invalid(&path, &available.into(), message));
    }
}

/// Checks that the count of hash collisions only grows.
pub(crate) fn validate_collisions(new: &Value, old: &Value, errors: &mut ErrorList) {
    let (after, before) = (
        &new["status"]["collisionCount"],
        &old["status"]["collisionCount"],
    );
    if before.is_set() && after.int() < before.int() {
        let path = Path::new("status").child("collisionCount");
        errors.push(field::invalid(
            &path,
            &after.int().into(),
            "cannot be decremented",
        ));
    }
}

/// Validates every update, twice as the real server does: in general and by the kind.
pub(crate) fn metadata_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    errors
}
