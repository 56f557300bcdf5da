//! Converts horizontal pod autoscalers between `autoscaling/v2` and `autoscaling/v1`.
//!
//! `v1` knows one target, the CPU utilization. Everything else travels in four annotations, written with the field
//! names and in the field order of `v1` (the behavior with the names of the unversioned type), and taken back from there.

use serde_json::{Value, json};

use crate::{
    autoscaling::horizontal_pod_autoscaler::cpu_utilization,
    go_json::{self, Writer},
    json::{Read, Write},
};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const STATUSES: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// The sources of a metric: field of the metric, whether it is about a resource.
const SOURCES: [&str; 5] = [
    "object",
    "pods",
    "resource",
    "containerResource",
    "external",
];

pub(super) fn to_v1(scaler: &mut Value) {
    drop_annotations(scaler);
    let spec = scaler.field("spec").take();
    let status = scaler.field("status").take();
    let (cpu, other): (Vec<&Value>, Vec<&Value>) = spec["metrics"]
        .items()
        .iter()
        .partition(|m| is_cpu_target(m));
    let mut annotations = Vec::new();
    if !other.is_empty() {
        annotations.push((
            METRICS,
            go_json::list(other.iter().map(|m| metric_to_v1(m, "target"))),
        ));
    }
    let current = status["currentMetrics"].items();
    if !current.is_empty() {
        annotations.push((
            STATUSES,
            go_json::list(current.iter().map(|m| metric_to_v1(m, "current"))),
        ));
    }
    if spec["behavior"].is_set() {
        annotations.push((BEHAVIOR, behavior_text(&spec["behavior"])));
    }
    let conditions = status["conditions"].items();
    if !conditions.is_empty() {
        annotations.push((
            CONDITIONS,
            go_json::list(conditions.iter().map(condition_text)),
        ));
    }
    for (name, text) in annotations {
        scaler
            .field("metadata")
            .field("annotations")
            .put(name, text);
    }
    let mut v1 = json!({"scaleTargetRef": spec["scaleTargetRef"]});
    carry(&spec, &mut v1, &["minReplicas", "maxReplicas"]);
    if let Some(metric) = cpu.first() {
        let percent = metric["resource"]["target"]["averageUtilization"].clone();
        v1.put("targetCPUUtilizationPercentage", percent);
    }
    scaler.put("spec", v1);
    let mut v1 = json!({"currentReplicas": 0, "desiredReplicas": 0});
    carry(
        &status,
        &mut v1,
        &[
            "observedGeneration",
            "lastScaleTime",
            "currentReplicas",
            "desiredReplicas",
        ],
    );
    let mut used = current
        .iter()
        .filter(|m| is_cpu(m))
        .map(|m| &m["resource"]["current"]["averageUtilization"]);
    if let Some(percent) = used.rfind(|p| p.is_set()) {
        v1.put("currentCPUUtilizationPercentage", percent.clone());
    }
    scaler.put("status", v1);
}

/// Reports whether an autoscaler of `v1` has metrics besides the CPU utilization.
pub(crate) fn has_other_metrics(scaler: &Value) -> bool {
    let text = scaler["metadata"]["annotations"][METRICS].text();
    let metrics = serde_json::from_str::<Value>(text).unwrap_or_default();
    !metrics.items().is_empty()
}

pub(super) fn to_v2(scaler: &mut Value) {
    let annotations = scaler["metadata"]["annotations"].clone();
    let parse = |name: &str| serde_json::from_str::<Value>(annotations[name].text()).ok();
    let target = scaler["spec"]["targetCPUUtilizationPercentage"].clone();
    let mut metrics: Vec<Value> = Vec::new();
    if let Some(Value::Array(others)) = parse(METRICS) {
        metrics.extend(others.iter().map(|m| metric_to_v2(m, "target")));
    }
    if target.is_set() {
        metrics.push(cpu_utilization(target.int()));
    }
    if metrics.is_empty() {
        metrics.push(cpu_utilization(80));
    }
    let spec = scaler.field("spec");
    spec.forget("targetCPUUtilizationPercentage");
    spec.put("metrics", metrics);
    if let Some(behavior) = parse(BEHAVIOR)
        .map(|b| decapitalized(&b, 0))
        .filter(|b| !b.is_blank())
    {
        spec.put("behavior", behavior);
    }
    let status = scaler.field("status");
    let used = status["currentCPUUtilizationPercentage"].clone();
    status.forget("currentCPUUtilizationPercentage");
    if used.is_set() {
        let current = json!({"averageUtilization": used});
        let resource = json!({"name": "cpu", "current": current});
        status.put(
            "currentMetrics",
            json!([{"type": "Resource", "resource": resource}]),
        );
    }
    if let Some(Value::Array(current)) = parse(STATUSES) {
        let current: Vec<Value> = current.iter().map(|m| metric_to_v2(m, "current")).collect();
        status.put("currentMetrics", current);
    }
    if let Some(conditions @ Value::Array(_)) = parse(CONDITIONS) {
        status.put("conditions", conditions);
    }
    drop_annotations(scaler);
}

fn drop_annotations(scaler: &mut Value) {
    scaler.with("metadata", |metadata| {
        metadata.with("annotations", |annotations| {
            for name in [METRICS, STATUSES, CONDITIONS, BEHAVIOR] {
                annotations.forget(name);
            }
        });
        if metadata["annotations"].is_blank() {
            metadata.forget("annotations");
        }
    });
}

fn carry(from: &Value, to: &mut Value, fields: &[&str]) {
    for field in fields {
        if from[*field].is_set() {
            to.put(field, from[*field].clone());
        }
    }
}

fn is_cpu(metric: &Value) -> bool {
    metric["type"] == "Resource" && metric["resource"]["name"] == "cpu"
}

fn is_cpu_target(metric: &Value) -> bool {
    is_cpu(metric) && metric["resource"]["target"]["averageUtilization"].is_set()
}

/// A metric in the words of `v1`; `side` is `target` in the spec and `current` in the status.
fn metric_to_v1(metric: &Value, side: &str) -> String {
    let mut out = Writer::new();
    out.put("type", &metric["type"]);
    for source in SOURCES {
        if metric[source].is_set() {
            out.put_text(source, source_to_v1(source, &metric[source], side));
        }
    }
    out.finish()
}

fn source_to_v1(kind: &str, source: &Value, side: &str) -> String {
    let amount = &source[side];
    let identifier = &source["metric"];
    let zero = json!("0");
    let or_zero = |v: &Value| if v.is_set() { v.clone() } else { zero.clone() };
    let mut out = Writer::new();
    let name = |suffix: &str| format!("{side}{suffix}");
    match kind {
        "object" => {
            let described = &source["describedObject"];
            let mut target = Writer::new();
            target.put("kind", &described["kind"]);
            target.put("name", &described["name"]);
            target.put_if_set("apiVersion", &described["apiVersion"]);
            out.put_text("target", target.finish());
            out.put("metricName", &identifier["name"]);
            out.put(&name("Value"), &or_zero(&amount["value"]));
            out.put_selector("selector", &identifier["selector"]);
            out.put_if_set("averageValue", &amount["averageValue"]);
        }
        "pods" => {
            out.put("metricName", &identifier["name"]);
            out.put(&name("AverageValue"), &or_zero(&amount["averageValue"]));
            out.put_selector("selector", &identifier["selector"]);
        }
        "external" => {
            out.put("metricName", &identifier["name"]);
            out.put_selector("metricSelector", &identifier["selector"]);
            if side == "current" {
                out.put("currentValue", &or_zero(&amount["value"]));
            } else {
                out.put_if_set("targetValue", &amount["value"]);
            }
            out.put_if_set(&name("AverageValue"), &amount["averageValue"]);
        }
        _ => {
            out.put("name", &source["name"]);
            out.put_if_set(&name("AverageUtilization"), &amount["averageUtilization"]);
            if side == "current" {
                out.put("currentAverageValue", &or_zero(&amount["averageValue"]));
            } else {
                out.put_if_set("targetAverageValue", &amount["averageValue"]);
            }
            if kind == "containerResource" {
                out.put("container", &source["container"]);
            }
        }
    }
    out.finish()
}

fn metric_to_v2(metric: &Value, side: &str) -> Value {
    let mut out = json!({"type": metric["type"]});
    for source in SOURCES {
        if metric[source].is_set() {
            out.put(source, source_to_v2(source, &metric[source], side));
        }
    }
    out
}

fn source_to_v2(kind: &str, source: &Value, side: &str) -> Value {
    let get = |suffix: &str| source[format!("{side}{suffix}").as_str()].clone();
    let (mut value, mut average) = (get("Value"), get("AverageValue"));
    let utilization = get("AverageUtilization");
    if kind == "object" {
        average = source["averageValue"].clone();
        if side == "target" && average.is_set() && value == "0" {
            value = Value::Null;
        }
    }
    let metric_type = match kind {
        "object" | "external" if value.is_set() && (kind == "external" || !average.is_set()) => {
            "Value"
        }
        "resource" | "containerResource" if utilization.is_set() => "Utilization",
        _ => "AverageValue",
    };
    let mut amount = json!({});
    if side == "target" {
        amount.put("type", metric_type);
    }
    for (field, v) in [
        ("value", value),
        ("averageValue", average),
        ("averageUtilization", utilization),
    ] {
        if v.is_set() {
            amount.put(field, v);
        }
    }
    let mut out = json!({});
    out.put(side, amount);
    if kind == "object" {
        out.put("describedObject", source["target"].clone());
    }
    if matches!(kind, "resource" | "containerResource") {
        carry(source, &mut out, &["name", "container"]);
        return out;
    }
    let mut metric = json!({"name": source["metricName"]});
    let selector = match kind {
        "external" => &source["metricSelector"],
        _ => &source["selector"],
    };
    if selector.is_set() {
        metric.put("selector", selector.clone());
    }
    out.put("metric", metric);
    out
}

fn behavior_text(behavior: &Value) -> String {
    let mut out = Writer::new();
    for (name, field) in [("ScaleUp", "scaleUp"), ("ScaleDown", "scaleDown")] {
        let rules = &behavior[field];
        if !rules.is_set() {
            out.put(name, &Value::Null);
            continue;
        }
        let mut text = Writer::new();
        text.put(
            "StabilizationWindowSeconds",
            &rules["stabilizationWindowSeconds"],
        );
        text.put("SelectPolicy", &rules["selectPolicy"]);
        let policies = rules["policies"].items().iter().map(|policy| {
            let mut text = Writer::new();
            text.put("Type", &policy["type"]);
            text.put("Value", &policy["value"]);
            text.put("PeriodSeconds", &policy["periodSeconds"]);
            text.finish()
        });
        match rules["policies"].is_set() {
            true => text.put_text("Policies", go_json::list(policies)),
            false => text.put("Policies", &Value::Null),
        }
        text.put("Tolerance", &rules["tolerance"]);
        out.put_text(name, text.finish());
    }
    out.finish()
}

fn condition_text(condition: &Value) -> String {
    let mut out = Writer::new();
    out.put("type", &condition["type"]);
    out.put("status", &condition["status"]);
    out.put("lastTransitionTime", &condition["lastTransitionTime"]);
    out.put_if_filled("reason", &condition["reason"]);
    out.put_if_filled("message", &condition["message"]);
    out.finish()
}

/// The same value with field names that start in lower case, without nulls. Deeper than any real behavior is dropped.
fn decapitalized(value: &Value, depth: usize) -> Value {
    match value {
        _ if depth > 8 => Value::Null,
        Value::Object(map) => {
            let mut out = json!({});
            for (key, v) in map.iter().filter(|(_, v)| v.is_set()) {
                let mut name = key.clone();
                if let Some(first) = name.get_mut(..1) {
                    first.make_ascii_lowercase();
                }
                out.put(&name, decapitalized(v, depth + 1));
            }
            out
        }
        Value::Array(items) => items.iter().map(|v| decapitalized(v, depth + 1)).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests;
