//! Limit ranges.

use std::collections::BTreeSet;

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    quantity::Quantity,
};
use serde_json::Value;

use super::resources;
use crate::{
    KindRules, checks,
    json::{Read, Write},
    meta,
};

const LISTS: [&str; 5] = [
    "max",
    "min",
    "default",
    "defaultRequest",
    "maxLimitRequestRatio",
];

pub(crate) static RULES: KindRules = KindRules {
    default,
    validate_create,
    validate_update: |new, old| {
        let mut errors = meta::common(new, old, true);
        errors.extend(validate_create(new));
        errors
    },
    allow_create_on_update: true,
    ..KindRules::GENERAL
};

fn default(range: &mut Value) {
    range.with("spec", |s| s.each("limits", default_item));
}

/// Sets the defaults for containers: the default limit is the maximum; the default request is the default limit, else
/// the minimum.
fn default_item(item: &mut Value) {
    if item["type"] == "Container" {
        fill(item, "default", "max");
        fill(item, "defaultRequest", "default");
        fill(item, "defaultRequest", "min");
    }
    for list in [
        "max",
        "min",
        "default",
        "defaultRequest",
        "maxLimitRequestRatio",
    ] {
        item.with(list, resources::round_up);
    }
}

fn fill(item: &mut Value, to: &str, from: &str) {
    let source = item[from].clone();
    for (name, quantity) in source.entries() {
        item.field(to).put_if_unset(name, quantity.clone());
    }
}

fn validate_create(range: &Value) -> ErrorList {
    let mut errors = meta::validate(range, true, meta::subdomain);
    let mut seen = BTreeSet::new();
    for (i, item) in range["spec"]["limits"].items().iter().enumerate() {
        let path = Path::new("spec").child("limits").index(i);
        let kind = item["type"].text();
        validate_type(kind, &path.child("type"), &mut errors);
        if !seen.insert(kind) {
            errors.push(field::duplicate(&path.child("type"), &item["type"]));
        }
        validate_item(item, kind, &path, &mut errors);
    }
    errors
}

fn validate_type(kind: &str, path: &Path, errors: &mut ErrorList) {
    let before = errors.len();
    checks::qualified_name(kind, path, errors);
    let known = matches!(kind, "Pod" | "Container" | "PersistentVolumeClaim");
    if errors.len() == before && !kind.contains('/') && !known {
        let message = "must be a standard limit type or fully qualified";
        errors.push(field::invalid_str(path, kind, message));
    }
}

fn validate_item(item: &Value, kind: &str, path: &Path, errors: &mut ErrorList) {
    let mut names = BTreeSet::new();
    for list in LISTS {
        if kind == "Pod" && list.starts_with("default") {
            if !item[list].is_blank() {
                let message = "may not be specified when `type` is 'Pod'";
                errors.push(field::forbidden(&path.child(list), message));
            }
            continue;
        }
        if kind == "PersistentVolumeClaim" && list == "maxLimitRequestRatio" {
            let bounded = item["min"]["storage"].is_set() || item["max"]["storage"].is_set();
            if !bounded {
                let message =
                    "either minimum or maximum storage value is required, but neither was provided";
                errors.push(field::required(&path.child("limits"), message));
            }
        }
        for (name, _) in item[list].entries() {
            resources::validate_limit_name(name, kind, &path.child(list).key(name), errors);
            names.insert(name);
        }
    }
    for name in names {
        validate_amounts(item, name, kind, path, errors);
    }
}

fn validate_amounts(item: &Value, name: &str, kind: &str, path: &Path, errors: &mut ErrorList) {
    let get = |list: &str| match kind == "Pod" && list.starts_with("default") {
        true => None,
        false => resources::quantity(&item[list][name]),
    };
    let (min, max, limit, request) = (
        get("min"),
        get("max"),
        get("default"),
        get("defaultRequest"),
    );
    let mut check =
        |list: &str, shown: &Quantity, low: (&str, &Quantity), high: (&str, &Quantity)| {
            if low.1 > high.1 {
                let message = format!(
                    "{} value {} is greater than {} value {}",
                    low.0, low.1, high.0, high.1
                );
                errors.push(field::invalid_str(
                    &path.child(list).key(name),
                    &shown.to_string(),
                    message,
                ));
            }
        };
    if let (Some(min), Some(max)) = (&min, &max) {
        check("min", min, ("min", min), ("max", max));
    }
    if let (Some(min), Some(request)) = (&min, &request) {
        check(
            "defaultRequest",
            request,
            ("min", min),
            ("default request", request),
        );
    }
    if let (Some(max), Some(request)) = (&max, &request) {
        check(
            "defaultRequest",
            request,
            ("default request", request),
            ("max", max),
        );
    }
    if let (Some(limit), Some(request)) = (&limit, &request) {
        check(
            "defaultRequest",
            request,
            ("default request", request),
            ("default limit", limit),
        );
    }
    if let (Some(min), Some(limit)) = (&min, &limit) {
        check("default", min, ("min", min), ("default", limit));
    }
    if let (Some(max), Some(limit)) = (&max, &limit) {
        check("default", max, ("default", limit), ("max", max));
    }
    let Some(ratio) = get("maxLimitRequestRatio") else {
        return;
    };
    let path = path.child("maxLimitRequestRatio").key(name);
    if ratio.milli_value() < 1000 {
        let message = format!("ratio {ratio} is less than 1");
        errors.push(field::invalid_str(&path, &ratio.to_string(), message));
    }
    if let (Some(min), Some(max)) = (min, max) {
        let most = max.as_f64() / min.as_f64();
        if ratio.as_f64() > most {
            let message = format!("ratio {ratio} is greater than max/min = {most:.6}");
            errors.push(field::invalid_str(&path, &ratio.to_string(), message));
        }
    }
}
