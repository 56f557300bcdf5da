//! Metrics of `autoscaling/v1` autoscalers in the shape of version 2.
//!
//! Version 1 has fields for CPU utilization alone and keeps every other metric in annotations, where fields are named
//! differently from version 2. Annotations that cannot be read are passed over.

use kubewright_machinery::json::Read;
use serde_json::{Value, json};

use crate::printers::fields;

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";

/// The default target of CPU utilization.
const DEFAULT_CPU_UTILIZATION: i64 = 80;

/// Reports whether the autoscaler is of version 1. List items may lack the version; those of version 2 have metrics.
pub(super) fn is_v1(autoscaler: &Value) -> bool {
    match autoscaler["apiVersion"].text() {
        "autoscaling/v1" => true,
        "" => autoscaler["spec"]["metrics"].is_null(),
        _ => false,
    }
}

/// Returns the target metrics.
pub(super) fn metric_specs(autoscaler: &Value) -> Vec<Value> {
    let mut metrics: Vec<Value> = annotated(autoscaler, METRICS)
        .unwrap_or_default()
        .iter()
        .map(metric_spec)
        .collect();
    let cpu = autoscaler["spec"]["targetCPUUtilizationPercentage"].as_i64();
    if let Some(utilization) = cpu.or(metrics.is_empty().then_some(DEFAULT_CPU_UTILIZATION)) {
        let target = json!({"averageUtilization": utilization});
        metrics.push(json!({"type": "Resource", "resource": {"name": "cpu", "target": target}}));
    }
    metrics
}

/// Returns the observed metrics.
pub(super) fn metric_statuses(autoscaler: &Value) -> Vec<Value> {
    if let Some(metrics) = annotated(autoscaler, CURRENT_METRICS) {
        return metrics.iter().map(metric_status).collect();
    }
    match autoscaler["status"]["currentCPUUtilizationPercentage"].as_i64() {
        Some(utilization) => {
            let current = json!({"averageUtilization": utilization});
            vec![json!({"type": "Resource", "resource": {"name": "cpu", "current": current}})]
        }
        None => Vec::new(),
    }
}

fn annotated(autoscaler: &Value, key: &str) -> Option<Vec<Value>> {
    serde_json::from_str(fields::annotation(autoscaler, key)?).ok()
}

fn metric_spec(metric: &Value) -> Value {
    reshape(metric, |kind, source| {
        let target = match kind {
            "external" => json!({
                "value": source["targetValue"],
                "averageValue": source["targetAverageValue"],
            }),
            "object" => json!({
                "value": source["targetValue"],
                "averageValue": source["averageValue"],
            }),
            "pods" => json!({"averageValue": source["targetAverageValue"]}),
            _ => json!({
                "averageValue": source["targetAverageValue"],
                "averageUtilization": source["targetAverageUtilization"],
            }),
        };
        json!({"name": source["name"], "target": target})
    })
}

fn metric_status(metric: &Value) -> Value {
    reshape(metric, |kind, source| {
        let current = match kind {
            "external" => json!({
                "value": source["currentValue"],
                "averageValue": source["currentAverageValue"],
            }),
            "object" => json!({
                "value": source["currentValue"],
                "averageValue": source["averageValue"],
            }),
            "pods" => json!({"averageValue": source["currentAverageValue"]}),
            _ => json!({
                "averageValue": source["currentAverageValue"],
                "averageUtilization": source["currentAverageUtilization"],
            }),
        };
        json!({"name": source["name"], "current": current})
    })
}

fn reshape(metric: &Value, source: impl Fn(&str, &Value) -> Value) -> Value {
    let mut reshaped = json!({"type": metric["type"]});
    for kind in [
        "external",
        "object",
        "pods",
        "resource",
        "containerResource",
    ] {
        if metric[kind].is_object() {
            reshaped[kind] = source(kind, &metric[kind]);
        }
    }
    reshaped
}
