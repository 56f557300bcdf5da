//! Events, of both groups: core events carry `involvedObject`, those of `events.k8s.io` carry `regarding`.
//!
//! Both are checked in core form and with core field names; the newer group is stricter.

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use crate::{KindRules, checks, convert, json::Read, meta};

/// Events expire after an hour.
const TTL_SECONDS: u64 = 3600;
const MAX_NOTE: usize = 1024;
const MAX_FIELD: usize = 128;
const FIXED: [(&str, &str); 13] = [
    ("involvedObject", "involvedObject"),
    ("reason", "reason"),
    ("message", "message"),
    ("source", "source"),
    ("firstTimestamp", "firstTimestamp"),
    ("lastTimestamp", "lastTimestamp"),
    ("count", "count"),
    ("reason", "reason"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingInstance", "reportingInstance"),
];

pub(crate) static RULES: KindRules = KindRules {
    validate_create: |event| {
        let mut errors = validate_legacy(event, "reportingComponent");
        if errors.is_empty() {
            errors = meta::validate_general(event, true, meta::path_segment);
        }
        errors
    },
    validate_update: |new, old| {
        let mut errors = meta::common(new, old, true);
        errors.extend(validate_legacy(new, "reportingComponent"));
        errors
    },
    allow_create_on_update: true,
    default_propagation: None,
    ttl_seconds: Some(TTL_SECONDS),
    ..KindRules::GENERAL
};

/// The rules of `events.k8s.io`.
pub(crate) static STRICT_RULES: KindRules = KindRules {
    validate_create: |event| validate_strict(&in_core_form(event)),
    validate_update: |new, old| validate_strict_update(&in_core_form(new), &in_core_form(old)),
    ..RULES
};

fn in_core_form(event: &Value) -> Value {
    convert::convert(event.clone(), ("events.k8s.io", "v1"), ("", "v1"), "Event")
}

fn validate_strict(event: &Value) -> ErrorList {
    let mut errors = validate_legacy(event, "reportingController");
    errors.extend(meta::validate(event, true, meta::subdomain));
    validate_series(event, &mut errors);
    if event["eventTime"].is_blank() {
        errors.push(field::required(&Path::new("eventTime"), ""));
    }
    let kind = event["type"].text();
    if !matches!(kind, "Normal" | "Warning") {
        let message = format!("has invalid value: {kind}");
        errors.push(field::invalid_str(&Path::new("type"), "", message));
    }
    for name in ["firstTimestamp", "lastTimestamp", "count"] {
        if !event[name].is_blank() {
            errors.push(field::invalid_str(
                &Path::new(name),
                "",
                "needs to be unset",
            ));
        }
    }
    let source = &event["source"];
    if !source["component"].is_blank() || !source["host"].is_blank() {
        errors.push(field::invalid_str(
            &Path::new("source"),
            "",
            "needs to be unset",
        ));
    }
    errors
}

fn validate_strict_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(validate_legacy(new, "reportingController"));
    errors.extend(meta::validate_update(new, old));
    if new["series"] != old["series"] {
        validate_series(new, &mut errors);
    }
    for (name, shown) in FIXED {
        let blank = new[name].is_blank() && old[name].is_blank();
        if !blank {
            checks::immutable(&new[name], &old[name], &Path::new(shown), &mut errors);
        }
    }
    let (after, before) = (&new["reportingComponent"], &old["reportingComponent"]);
    checks::immutable(
        after,
        before,
        &Path::new("reportingController"),
        &mut errors,
    );
    errors
}

fn validate_series(event: &Value, errors: &mut ErrorList) {
    let series = &event["series"];
    if !series.is_set() {
        return;
    }
    if series["count"].int() < 2 {
        errors.push(field::invalid_str(
            &Path::new("series.count"),
            "",
            "should be at least 2",
        ));
    }
    if series["lastObservedTime"].is_blank() {
        errors.push(field::required(&Path::new("series.lastObservedTime"), ""));
    }
}

/// Validates events of all versions.
fn validate_legacy(event: &Value, controller_field: &str) -> ErrorList {
    let mut errors = ErrorList::new();
    let namespace = event["metadata"]["namespace"].text();
    let object = event["involvedObject"]["namespace"].text();
    let object_path = Path::new("involvedObject").child("namespace");
    let stray = match (event["eventTime"].is_blank(), object) {
        (true, "") => !matches!(namespace, "" | "default"),
        (true, object) => namespace != object,
        (false, "") => !matches!(namespace, "default" | "kube-system"),
        (false, _) => false,
    };
    if stray {
        errors.push(field::invalid_str(
            &object_path,
            object,
            "does not match event.namespace",
        ));
    }
    if !event["eventTime"].is_blank() {
        let controller = &event["reportingComponent"];
        let path = Path::new(controller_field);
        checks::required(controller, &path, &mut errors);
        checks::qualified_name(controller.text(), &path, &mut errors);
        for name in ["reportingInstance", "action", "reason"] {
            checks::required(&event[name], &Path::new(name), &mut errors);
            if event[name].text().len() > MAX_FIELD {
                let message = format!("can have at most {MAX_FIELD} characters");
                errors.push(field::invalid_str(&Path::new(name), "", message));
            }
        }
        if event["message"].text().len() > MAX_NOTE {
            let message = format!("can have at most {MAX_NOTE} characters");
            errors.push(field::invalid_str(&Path::new("message"), "", message));
        }
    }
    checks::dns_subdomain(namespace, &Path::new("namespace"), &mut errors);
    errors
}
