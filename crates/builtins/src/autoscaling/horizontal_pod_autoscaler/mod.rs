//! Horizontal pod autoscalers, which are stored and validated as `autoscaling/v2`.

mod validate;

use serde_json::{Value, json};

use crate::{
    KindRules,
    convert::autoscaler::has_other_metrics,
    general,
    json::{Read, Write},
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create: general::drop_status,
    prepare_update: general::keep_status,
    validate_create: validate::create,
    validate_update: validate::update,
    validate_status_update: validate::status,
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};

/// The target of the CPU utilization of an autoscaler without metrics, in percent.
const TARGET: i64 = 80;

fn default(scaler: &mut Value) {
    let old_form = scaler["apiVersion"] == "autoscaling/v1";
    let has_metrics = old_form && has_other_metrics(scaler);
    let spec = scaler.field("spec");
    spec.put_if_unset("minReplicas", 1);
    if old_form {
        if !has_metrics {
            spec.put_if_unset("targetCPUUtilizationPercentage", TARGET);
        }
        return;
    }
    spec.put_if_blank("metrics", json!([cpu_utilization(TARGET)]));
    if spec["behavior"].is_set() {
        let behavior = spec.field("behavior");
        fill(
            behavior.field("scaleUp"),
            json!({
                "stabilizationWindowSeconds": 0,
                "selectPolicy": "Max",
                "policies": [
                    {"type": "Pods", "value": 4, "periodSeconds": 15},
                    {"type": "Percent", "value": 100, "periodSeconds": 15},
                ],
            }),
        );
        fill(
            behavior.field("scaleDown"),
            json!({
                "selectPolicy": "Max",
                "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
            }),
        );
    }
}

/// Returns the metric that `targetCPUUtilizationPercentage` represents.
pub(crate) fn cpu_utilization(percent: i64) -> Value {
    json!({
        "type": "Resource",
        "resource": {
            "name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": percent},
        },
    })
}

fn fill(rules: &mut Value, defaults: Value) {
    for (field, value) in defaults.entries() {
        rules.put_if_unset(field, value.clone());
    }
}
