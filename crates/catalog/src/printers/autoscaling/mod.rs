//! Printers of the `autoscaling` group.
//!
//! Horizontal pod autoscalers print from their v2 shape; `v1` brings objects of version 1 into it.

mod v1;

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::columns::{AGE, NAME, integer, text};
use super::text::quantity_if_set;
use super::{Column, PrintOptions, Printer, age, fields, row};

/// The printer of a kind of this group.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    Some(match kind {
        "HorizontalPodAutoscaler" => &HORIZONTAL_POD_AUTOSCALER,
        "Scale" => &SCALE,
        _ => return None,
    })
}

static HORIZONTAL_POD_AUTOSCALER: Printer = Printer::new(
    &[
        NAME,
        text("Reference", "The object that is scaled."),
        text(
            "Targets",
            "Each metric as it is and as it should be, cut short.",
        ),
        text("MinPods", "The least number of replicas."),
        text("MaxPods", "The greatest number of replicas."),
        text("Replicas", "How many replicas there are."),
        AGE,
    ],
    horizontal_pod_autoscaler,
);

static SCALE: Printer = Printer::new(
    &[
        Column { format: "", ..NAME },
        integer("Desired", "How many replicas are wanted."),
        integer("Available", "How many replicas there are."),
        AGE,
    ],
    scale,
);

fn horizontal_pod_autoscaler(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let target = &spec["scaleTargetRef"];
    let targets = if v1::is_v1(object) {
        targets(&v1::metric_specs(object), &v1::metric_statuses(object))
    } else {
        targets(spec["metrics"].items(), status["currentMetrics"].items())
    };
    let min_replicas = spec["minReplicas"].as_i64();
    row![
        fields::name(object),
        format!("{}/{}", target["kind"].text(), target["name"].text()),
        targets,
        min_replicas.map_or_else(|| "<unset>".to_owned(), |replicas| replicas.to_string()),
        spec["maxReplicas"].int(),
        status["currentReplicas"].int(),
        age::of(object, options),
    ]
}

fn scale(object: &Value, options: &PrintOptions) -> Vec<Value> {
    row![
        fields::name(object),
        object["spec"]["replicas"].int(),
        object["status"]["replicas"].int(),
        age::of(object, options),
    ]
}

fn targets(specs: &[Value], statuses: &[Value]) -> String {
    const SHOWN: usize = 2;
    if specs.is_empty() {
        return "<none>".to_owned();
    }
    let shown: Vec<String> = specs
        .iter()
        .take(SHOWN)
        .enumerate()
        .map(|(index, spec)| target(spec, statuses.get(index).unwrap_or(&Value::Null)))
        .collect();
    let shown = shown.join(", ");
    match specs.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} + {more} more..."),
    }
}

fn target(spec: &Value, status: &Value) -> String {
    match spec["type"].text() {
        "External" => value_or_average(&spec["external"], &status["external"]),
        "Object" => value_or_average(&spec["object"], &status["object"]),
        "Pods" => {
            let current = current_amount(&status["pods"], "averageValue");
            format!(
                "{current}/{}",
                amount(&spec["pods"]["target"]["averageValue"])
            )
        }
        "Resource" => utilization_or_average(&spec["resource"], &status["resource"]),
        "ContainerResource" => {
            utilization_or_average(&spec["containerResource"], &status["containerResource"])
        }
        _ => "<unknown type>".to_owned(),
    }
}

fn value_or_average(spec: &Value, status: &Value) -> String {
    match quantity_if_set(&spec["target"]["averageValue"]) {
        Some(wanted) => {
            let current = quantity_if_set(&status["current"]["averageValue"]);
            format!("{}/{wanted} (avg)", current.unwrap_or_else(unknown))
        }
        None => {
            let current = current_amount(status, "value");
            format!("{current}/{}", amount(&spec["target"]["value"]))
        }
    }
}

fn utilization_or_average(spec: &Value, status: &Value) -> String {
    let name = spec["name"].text();
    let (wanted, current) = (&spec["target"], &status["current"]);
    match quantity_if_set(&wanted["averageValue"]) {
        Some(wanted) => format!(
            "{name}: {}/{wanted}",
            current_amount(status, "averageValue")
        ),
        None => {
            let current = percent(&current["averageUtilization"]).unwrap_or_else(unknown);
            let wanted = percent(&wanted["averageUtilization"]);
            format!(
                "{name}: {current}/{}",
                wanted.unwrap_or_else(|| "<auto>".to_owned())
            )
        }
    }
}

/// An amount of a metric's status, `<unknown>` while there is no status.
fn current_amount(status: &Value, field: &str) -> String {
    if status.is_object() {
        amount(&status["current"][field])
    } else {
        unknown()
    }
}

fn amount(field: &Value) -> String {
    quantity_if_set(field).unwrap_or_else(|| "<nil>".to_owned())
}

fn percent(field: &Value) -> Option<String> {
    field.as_i64().map(|percent| format!("{percent}%"))
}

fn unknown() -> String {
    "<unknown>".to_owned()
}
