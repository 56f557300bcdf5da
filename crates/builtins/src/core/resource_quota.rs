//! Resource quotas.

use std::collections::BTreeSet;

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use super::resources;
use crate::{
    KindRules, general,
    json::{Read, Write},
    meta,
};

const SCOPES: [&str; 7] = [
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
];

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create: general::drop_status,
    prepare_update: general::keep_status,
    validate_create,
    validate_update,
    validate_status_update,
    warnings_on_create,
    returns_deleted_object: true,
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};

fn default(quota: &mut Value) {
    quota.with("spec", |s| s.with("hard", resources::round_up));
    quota.with("status", |s| {
        s.with("hard", resources::round_up);
        s.with("used", resources::round_up);
    });
}

fn validate_create(quota: &Value) -> ErrorList {
    let mut errors = meta::validate(quota, true, meta::subdomain);
    validate_spec(&quota["spec"], &mut errors);
    validate_status(&quota["status"], &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    validate_spec(&new["spec"], &mut errors);
    let scopes = |quota: &Value| -> BTreeSet<String> {
        quota["spec"]["scopes"]
            .items()
            .iter()
            .map(|s| s.text().to_owned())
            .collect()
    };
    if scopes(new) != scopes(old) {
        let path = Path::new("spec").child("scopes");
        errors.push(field::invalid(
            &path,
            &new["spec"]["scopes"],
            "field is immutable",
        ));
    }
    errors
}

fn validate_status_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    validate_status(&new["status"], &mut errors);
    errors
}

fn validate_status(status: &Value, errors: &mut ErrorList) {
    for list in ["hard", "used"] {
        validate_amounts(&status[list], &Path::new("status").child(list), errors);
    }
}

fn validate_spec(spec: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    validate_amounts(&spec["hard"], &path.child("hard"), errors);
    let scopes = spec["scopes"].items();
    let scopes_path = path.child("scopes");
    for scope in scopes.iter().map(Read::text) {
        let mut refuse = |message: &str| {
            errors.push(field::invalid(&scopes_path, &spec["scopes"], message));
        };
        if !SCOPES.contains(&scope) {
            refuse("unsupported scope");
        }
        for (name, _) in spec["hard"].entries() {
            if !is_counted_in(name, scope) {
                refuse("unsupported scope applied to resource");
            }
        }
    }
    let has = |name: &str| scopes.iter().any(|s| s == name);
    for (one, other) in [
        ("BestEffort", "NotBestEffort"),
        ("Terminating", "NotTerminating"),
    ] {
        if has(one) && has(other) {
            errors.push(field::invalid(
                &scopes_path,
                &spec["scopes"],
                "conflicting scopes",
            ));
        }
    }
    let path = path.child("scopeSelector").child("matchExpressions");
    for requirement in spec["scopeSelector"]["matchExpressions"].items() {
        validate_requirement(requirement, &path, errors);
    }
}

/// Reports whether a scope applies to a resource. Extended resources are not distinguished.
fn is_counted_in(resource: &str, scope: &str) -> bool {
    let of_pods = matches!(
        resource,
        "cpu" | "memory" | "requests.cpu" | "requests.memory" | "limits.cpu" | "limits.memory"
    );
    let other = matches!(
        resource,
        "ephemeral-storage"
            | "requests.ephemeral-storage"
            | "limits.ephemeral-storage"
            | "requests.storage"
            | "resourcequotas"
            | "services"
            | "replicationcontrollers"
            | "secrets"
            | "persistentvolumeclaims"
            | "configmaps"
            | "services.nodeports"
            | "services.loadbalancers"
    );
    match scope {
        _ if !(of_pods || other || resource == "pods") => true,
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => resource == "persistentvolumeclaims",
        _ if SCOPES.contains(&scope) => of_pods || resource == "pods",
        _ => true,
    }
}

fn validate_requirement(requirement: &Value, path: &Path, errors: &mut ErrorList) {
    let (scope, operator) = (
        requirement["scopeName"].text(),
        requirement["operator"].text(),
    );
    if !SCOPES.contains(&scope) {
        errors.push(field::invalid_str(
            &path.child("scopeName"),
            scope,
            "unsupported scope",
        ));
    }
    let valued = matches!(scope, "PriorityClass" | "VolumeAttributesClass");
    if SCOPES.contains(&scope) && !valued && operator != "Exists" {
        let message = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
        errors.push(field::invalid_str(
            &path.child("operator"),
            operator,
            message,
        ));
    }
    let values = &requirement["values"];
    match operator {
        "In" | "NotIn" if values.is_blank() => {
            let message =
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
            errors.push(field::required(&path.child("values"), message));
        }
        "Exists" | "DoesNotExist" if !values.is_blank() => {
            let message =
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
            errors.push(field::invalid(&path.child("values"), values, message));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => {
            let message = "not a valid selector operator";
            errors.push(field::invalid_str(
                &path.child("operator"),
                operator,
                message,
            ));
        }
    }
}

fn validate_amounts(list: &Value, path: &Path, errors: &mut ErrorList) {
    for (name, value) in list.entries() {
        let path = path.key(name);
        resources::validate_quota_name(name, &path, errors);
        if let Some(q) = resources::quantity(value) {
            resources::validate_value(name, &q, &path, errors);
        }
    }
}

fn warnings_on_create(quota: &Value) -> Vec<String> {
    let hard = &quota["spec"]["hard"];
    let mut out = Vec::new();
    for name in ["cpu", "memory", "storage", "ephemeral-storage"] {
        let mut asked = format!("requests.{name}");
        if !hard[&asked].is_set() && matches!(name, "cpu" | "memory") {
            asked = name.to_owned();
        }
        let most = format!("limits.{name}");
        let amounts = (
            resources::quantity(&hard[&asked]),
            resources::quantity(&hard[&most]),
        );
        if let (Some(request), Some(limit)) = amounts
            && request > limit
        {
            out.push(format!(
                "ResourceQuota {asked} ({request}) should be less than {most} ({limit})"
            ));
        }
    }
    out
}
