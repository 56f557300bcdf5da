//! Validates autoscalers of `autoscaling/v2`.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::names,
};
use serde_json::Value;

use crate::{apps::workload, checks, convert, core::resources, json::Read, meta};

const TYPES: [&str; 5] = [
    "ContainerResource",
    "External",
    "Object",
    "Pods",
    "Resource",
];
const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];
const MAX_WINDOW: i64 = 3600;
const MAX_PERIOD: i64 = 1800;

pub(super) fn create(scaler: &Value) -> ErrorList {
    let mut errors = meta::validate(scaler, true, meta::subdomain);
    validate_spec(scaler, &Value::Null, &mut errors);
    errors
}

pub(super) fn update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = workload::metadata_update(new, old);
    validate_spec(new, old, &mut errors);
    errors
}

pub(super) fn status(new: &Value, old: &Value) -> ErrorList {
    let mut errors = workload::metadata_update(new, old);
    let counts = ["currentReplicas", "desiredReplicas"];
    workload::validate_counts(&new["status"], &counts, &mut errors);
    errors
}

fn validate_spec(scaler: &Value, old: &Value, errors: &mut ErrorList) {
    if scaler["apiVersion"] == "autoscaling/v1" {
        let (v1, v2) = (("autoscaling", "v1"), ("autoscaling", "v2"));
        let converted = convert::convert(scaler.clone(), v1, v2, "HorizontalPodAutoscaler");
        validate_spec(&converted, old, errors);
        return;
    }
    let (spec, path) = (&scaler["spec"], Path::new("spec"));
    let (min, max) = (&spec["minReplicas"], spec["maxReplicas"].int());
    let lowest =
        i64::from(!(old["spec"]["minReplicas"].is_set() && old["spec"]["minReplicas"] == 0));
    if min.is_set() && min.int() < lowest {
        let message = format!("must be greater than or equal to {lowest}");
        errors.push(field::invalid(&path.child("minReplicas"), min, message));
    }
    let max_path = path.child("maxReplicas");
    if max == 0 {
        errors.push(field::required(&max_path, "must be set and greater than 0"));
    } else if max < 0 {
        let message = "must be greater than or equal to 1";
        errors.push(field::invalid(&max_path, &max.into(), message));
    }
    if min.is_set() && max < min.int() {
        let message = "must be greater than or equal to `minReplicas`";
        errors.push(field::invalid(&max_path, &max.into(), message));
    }
    let (target, before) = (&spec["scaleTargetRef"], &old["spec"]["scaleTargetRef"]);
    let kept = old.is_set()
        && ["apiVersion", "kind"]
            .iter()
            .all(|f| target[*f] == before[*f]);
    let group = match (kept, target["kind"].text()) {
        (true, _) => Group::Unchecked,
        (false, "ReplicationController") => Group::Optional,
        (false, _) => Group::Required,
    };
    validate_reference(target, group, &path.child("scaleTargetRef"), errors);
    for (i, metric) in spec["metrics"].items().iter().enumerate() {
        validate_metric(metric, &path.child("metrics").index(i), errors);
    }
    let is_seen_from_outside =
        |metric: &Value| metric["type"] == "Object" || metric["type"] == "External";
    if min.is_set() && min.int() == 0 && !spec["metrics"].items().iter().any(is_seen_from_outside) {
        let message = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.push(field::forbidden(&path.child("metrics"), message));
    }
    for direction in ["scaleUp", "scaleDown"] {
        let rules = &spec["behavior"][direction];
        if rules.is_set() {
            validate_rules(rules, &path.child("behavior").child(direction), errors);
        }
    }
}

/// The requirement for the API version of a reference.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Required,
    Optional,
    Unchecked,
}

fn validate_reference(reference: &Value, group: Group, path: &Path, errors: &mut ErrorList) {
    for name in ["kind", "name"] {
        match reference[name].text() {
            "" => errors.push(field::required(&path.child(name), "")),
            text => {
                let found = names::is_path_segment_name(text);
                checks::messages(text, found, &path.child(name), errors);
            }
        }
    }
    let version = reference["apiVersion"].text();
    let version_path = path.child("apiVersion");
    if group == Group::Unchecked {
        return;
    }
    if version.matches('/').count() > 1 {
        let message = format!("unexpected GroupVersion string: {version}");
        errors.push(field::invalid_str(&version_path, version, message));
    } else if group == Group::Required && version.split_once('/').is_none_or(|(g, _)| g.is_empty())
    {
        let message = "apiVersion must specify API group";
        errors.push(field::invalid_str(&version_path, version, message));
    }
}

fn validate_metric(metric: &Value, path: &Path, errors: &mut ErrorList) {
    let kind = metric["type"].text();
    let type_path = path.child("type");
    if kind.is_empty() {
        errors.push(field::required(
            &type_path,
            "must specify a metric source type",
        ));
    }
    if !TYPES.contains(&kind) {
        errors.push(field::not_supported(&type_path, kind, &TYPES));
    }
    let present: Vec<&str> = SOURCES
        .iter()
        .map(|s| s.1)
        .filter(|s| metric[*s].is_set())
        .collect();
    if let Some(first) = present.first() {
        validate_source(first, &metric[*first], &path.child(first), errors);
    }
    let expected = SOURCES.iter().find(|s| s.0 == kind).map(|s| s.1);
    match expected {
        Some(source) if !metric[source].is_set() => {
            let message = "must populate information for the given metric source";
            errors.push(field::required(&path.child(source), message));
        }
        Some(_) => {}
        None => errors.push(field::not_supported(&type_path, kind, &TYPES)),
    }
    if present.len() != 1 {
        for source in present.into_iter().filter(|s| Some(*s) != expected) {
            let message = "must populate the given metric source only";
            errors.push(field::forbidden(&path.child(source), message));
        }
    }
}

fn validate_source(kind: &str, source: &Value, path: &Path, errors: &mut ErrorList) {
    let target = &source["target"];
    let target_path = path.child("target");
    let (value, average) = (target["value"].is_set(), target["averageValue"].is_set());
    if kind == "object" {
        let path = path.child("describedObject");
        validate_reference(&source["describedObject"], Group::Optional, &path, errors);
    }
    if matches!(kind, "object" | "external" | "pods") {
        let path = path.child("metric").child("name");
        match source["metric"]["name"].text() {
            "" => errors.push(field::required(&path, "must specify a metric name")),
            name => checks::messages(name, names::is_path_segment_name(name), &path, errors),
        }
    } else {
        if source["name"].is_blank() {
            errors.push(field::required(
                &path.child("name"),
                "must specify a resource name",
            ));
        }
        if kind == "containerResource" {
            match source["container"].text() {
                "" => errors.push(field::required(
                    &path.child("container"),
                    "must specify a container",
                )),
                name => checks::dns_label(name, &path.child("container"), errors),
            }
        }
    }
    validate_target(target, &target_path, errors);
    let average_path = target_path.child("averageValue");
    match kind {
        "object" if !value && !average => {
            let message = "must set either a target value or averageValue";
            errors.push(field::required(&average_path, message));
        }
        "external" if !value && !average => {
            let message = "must set either a target value for metric or a per-pod target";
            errors.push(field::required(&average_path, message));
        }
        "external" if value && average => {
            let message = "may not set both a target value for metric and a per-pod target";
            errors.push(field::forbidden(&target_path.child("value"), message));
        }
        "pods" if !average => {
            errors.push(field::required(
                &average_path,
                "must specify a positive target averageValue",
            ));
        }
        "resource" | "containerResource" => {
            let utilization = target["averageUtilization"].is_set();
            if !utilization && !average {
                let path = target_path.child("averageUtilization");
                let message = "must set either a target raw value or a target utilization";
                errors.push(field::required(&path, message));
            }
            if utilization && average {
                let message = "may not set both a target raw value and a target utilization";
                errors.push(field::forbidden(&average_path, message));
            }
        }
        _ => {}
    }
}

fn validate_target(target: &Value, path: &Path, errors: &mut ErrorList) {
    let kind = target["type"].text();
    if kind.is_empty() {
        errors.push(field::required(
            &path.child("type"),
            "must specify a metric target type",
        ));
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        let message = "must be either Utilization, Value, or AverageValue";
        errors.push(field::invalid_str(&path.child("type"), kind, message));
    }
    for name in ["value", "averageValue"] {
        if let Some(q) = resources::quantity(&target[name]).filter(|q| q.sign() != 1) {
            errors.push(field::invalid_str(
                &path.child(name),
                &q.to_string(),
                "must be positive",
            ));
        }
    }
    let utilization = &target["averageUtilization"];
    if utilization.is_set() && utilization.int() < 1 {
        let path = path.child("averageUtilization");
        errors.push(field::invalid(&path, utilization, "must be greater than 0"));
    }
}

fn validate_rules(rules: &Value, path: &Path, errors: &mut ErrorList) {
    let window = &rules["stabilizationWindowSeconds"];
    let window_path = path.child("stabilizationWindowSeconds");
    if window.int() < 0 {
        errors.push(field::invalid(
            &window_path,
            window,
            "must be greater than or equal to zero",
        ));
    }
    if window.int() > MAX_WINDOW {
        let message = format!("must be less than or equal to {MAX_WINDOW}");
        errors.push(field::invalid(&window_path, window, message));
    }
    let known = ["Disabled", "Max", "Min"];
    checks::one_of_if_set(
        &rules["selectPolicy"],
        &known,
        &path.child("selectPolicy"),
        errors,
    );
    let policies_path = path.child("policies");
    let policies = rules["policies"].items();
    if policies.is_empty() {
        errors.push(field::required(
            &policies_path,
            "must specify at least one Policy",
        ));
    }
    for (i, policy) in policies.iter().enumerate() {
        let path = policies_path.index(i);
        let kind = policy["type"].text();
        if !matches!(kind, "Pods" | "Percent") {
            errors.push(field::not_supported(
                &path.child("type"),
                kind,
                &["Percent", "Pods"],
            ));
        }
        checks::positive(policy["value"].int(), &path.child("value"), errors);
        checks::positive(
            policy["periodSeconds"].int(),
            &path.child("periodSeconds"),
            errors,
        );
        if policy["periodSeconds"].int() > MAX_PERIOD {
            let message = format!("must be less than or equal to {MAX_PERIOD}");
            errors.push(field::invalid(
                &path.child("periodSeconds"),
                &policy["periodSeconds"],
                message,
            ));
        }
    }
    if let Some(q) = resources::quantity(&rules["tolerance"]) {
        checks::non_negative_quantity(&q, &path.child("tolerance"), errors);
    }
}
