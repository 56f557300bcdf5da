//! Converts stored objects to another version or group of the same kind.
//!
//! Two kinds have two representations. Events are stored as core `v1` and also served as `events.k8s.io/v1`; horizontal pod
//! autoscalers are stored as `autoscaling/v2` and also served as `v1`, where what `v1` has no field for travels in
//! annotations. Any other pair only changes `apiVersion`.

pub(crate) mod autoscaler;
mod event;

use serde_json::Value;

use crate::json::Write;

/// Converts an object between two groups and versions.
///
/// ```
/// use kubewright_builtins::convert::convert;
/// use serde_json::json;
///
/// let event = json!({"apiVersion": "v1", "kind": "Event", "message": "started"});
/// let event = convert(event, ("", "v1"), ("events.k8s.io", "v1"), "Event");
/// assert_eq!(event["note"], "started");
/// ```
pub fn convert(mut value: Value, from: (&str, &str), to: (&str, &str), kind: &str) -> Value {
    if from == to {
        return value;
    }
    match (kind, from, to) {
        ("Event", ("", _), ("events.k8s.io", _)) => event::from_core(&mut value),
        ("Event", ("events.k8s.io", _), ("", _)) => event::to_core(&mut value),
        ("HorizontalPodAutoscaler", ("autoscaling", "v2"), ("autoscaling", "v1")) => {
            autoscaler::to_v1(&mut value);
        }
        ("HorizontalPodAutoscaler", ("autoscaling", "v1"), ("autoscaling", "v2")) => {
            autoscaler::to_v2(&mut value);
        }
        _ => {}
    }
    let api_version = match to {
        ("", version) => version.to_owned(),
        (group, version) => format!("{group}/{version}"),
    };
    value.put("apiVersion", api_version);
    value
}

/// Returns the group and version that a kind is stored in, if it is served in several.
pub fn storage_version(group: &str, kind: &str) -> Option<(&'static str, &'static str)> {
    match (group, kind) {
        ("" | "events.k8s.io", "Event") => Some(("", "v1")),
        ("autoscaling", "HorizontalPodAutoscaler") => Some(("autoscaling", "v2")),
        _ => None,
    }
}

/// Moves a field to another name.
fn rename(value: &mut Value, from: &str, to: &str) {
    let Some(map) = value.as_object_mut() else {
        return;
    };
    if let Some(v) = map.remove(from) {
        map.insert(to.to_owned(), v);
    }
}
