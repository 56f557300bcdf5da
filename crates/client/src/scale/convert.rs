//! Conversion of `Scale` between versions.
//!
//! In `autoscaling/v1` the selector is text. The older versions, `extensions/v1beta1`, `apps/v1beta1` and
//! `apps/v1beta2`, have it as text in `targetSelector` and, if it is simple enough, as labels in `selector`.

use k8s_openapi::api::autoscaling::v1::Scale;
use kubewright_machinery::gvk::GroupVersionKind;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};

/// Converts any known version to `autoscaling/v1`.
pub(super) fn to_v1(mut scale: Value) -> Result<Scale> {
    let version = scale["apiVersion"].as_str().unwrap_or_default().to_owned();
    let kind = scale["kind"].as_str().unwrap_or_default();
    if kind != "Scale" || !is_known(&version) {
        return Err(Error::Decode(format!(
            "not a known Scale: {version}, Kind={kind}"
        )));
    }
    if version != "autoscaling/v1" {
        if let Some(status) = scale.get_mut("status").and_then(Value::as_object_mut) {
            let labels = status.remove("selector");
            let text = match status.remove("targetSelector") {
                Some(Value::String(text)) if !text.is_empty() => text,
                _ => labels.as_ref().map(selector_of).unwrap_or_default(),
            };
            if !text.is_empty() {
                status.insert("selector".to_owned(), text.into());
            }
        }
        scale["apiVersion"] = "autoscaling/v1".into();
    }
    serde_json::from_value(scale).map_err(|error| Error::Decode(error.to_string()))
}

/// Converts `autoscaling/v1` to that kind.
pub(super) fn from_v1(scale: &Scale, kind: &GroupVersionKind) -> Result<Value> {
    let mut value =
        serde_json::to_value(scale).map_err(|error| Error::Request(error.to_string()))?;
    let version = kind.api_version();
    if kind.kind != "Scale" || !is_known(&version) {
        return Err(Error::Request(format!("not a known Scale: {kind}")));
    }
    if version != "autoscaling/v1" {
        if let Some(status) = value.get_mut("status").and_then(Value::as_object_mut)
            && let Some(Value::String(text)) = status.remove("selector")
        {
            if let Some(labels) = labels_of(&text) {
                status.insert("selector".to_owned(), labels);
            }
            status.insert("targetSelector".to_owned(), text.into());
        }
        value["apiVersion"] = version.into();
    }
    value["kind"] = json!("Scale");
    Ok(value)
}

fn is_known(version: &str) -> bool {
    matches!(
        version,
        "autoscaling/v1" | "extensions/v1beta1" | "apps/v1beta1" | "apps/v1beta2"
    )
}

/// Converts `{"a": "1", "b": "2"}` to `a=1,b=2`.
fn selector_of(labels: &Value) -> String {
    let mut pairs: Vec<String> = labels
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)))
        .collect();
    pairs.sort();
    pairs.join(",")
}

/// Converts `a=1,b=2` to labels; `None` if labels cannot express it.
fn labels_of(selector: &str) -> Option<Value> {
    let mut labels = Map::new();
    for pair in selector.split(',') {
        let (key, value) = pair.split_once('=')?;
        let value = value.strip_prefix('=').unwrap_or(value);
        if key.is_empty() || key.contains(['!', ' ', '(']) || value.contains(['=', ' ', ')']) {
            return None;
        }
        labels.insert(key.to_owned(), value.into());
    }
    Some(labels.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn old(status: Value) -> Value {
        json!({
            "apiVersion": "extensions/v1beta1", "kind": "Scale",
            "metadata": {"name": "web"}, "spec": {"replicas": 2}, "status": status,
        })
    }

    #[test]
    fn older_versions_become_v1() {
        let selector = |status| to_v1(old(status)).unwrap().status.unwrap().selector;
        let labels = json!({"replicas": 1, "selector": {"b": "2", "a": "1"}});
        assert_eq!(selector(labels).as_deref(), Some("a=1,b=2"));
        let text = json!({"replicas": 1, "selector": {"a": "1"}, "targetSelector": "a in (1,2)"});
        assert_eq!(selector(text).as_deref(), Some("a in (1,2)"));
        assert_eq!(selector(json!({"replicas": 1})), None);
    }

    #[test]
    fn v1_becomes_what_the_server_has() {
        let scale = to_v1(old(json!({"replicas": 1, "targetSelector": "a=1"}))).unwrap();
        let kind = GroupVersionKind::new("apps", "v1beta2", "Scale");
        let back = from_v1(&scale, &kind).unwrap();
        assert_eq!(back["apiVersion"], "apps/v1beta2");
        assert_eq!(
            back["status"],
            json!({"replicas": 1, "selector": {"a": "1"}, "targetSelector": "a=1"})
        );
        assert_eq!(back["spec"]["replicas"], 2);
        assert_eq!(labels_of("a in (1,2)"), None);
        assert_eq!(labels_of("a!=1"), None);
    }

    #[test]
    fn objects_that_are_not_scales_are_rejected() {
        assert!(to_v1(json!({"apiVersion": "v1", "kind": "Pod"})).is_err());
        assert!(to_v1(json!([])).is_err());
        let scale = to_v1(old(json!({"replicas": 1}))).unwrap();
        assert!(from_v1(&scale, &GroupVersionKind::new("apps", "v1", "Scale")).is_err());
    }
}
