//! The scale subresource of deployments, replica sets, stateful sets and replication controllers.

use kubewright_machinery::{
    field::{ErrorList, Path},
    labels::LabelSelector,
};
use serde_json::{Value, json};

use crate::{
    checks,
    json::{Read, Write},
    meta,
};

/// Returns the `Scale` of an object.
///
/// ```
/// use kubewright_builtins::scale::{apply_scale, to_scale};
/// use serde_json::json;
///
/// let mut deployment = json!({
///     "metadata": {"name": "web", "namespace": "shop"},
///     "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}},
/// });
/// let mut scale = to_scale(&deployment);
/// assert_eq!(scale["status"]["selector"], "app=web");
/// scale["spec"]["replicas"] = json!(5);
/// apply_scale(&mut deployment, &scale);
/// assert_eq!(deployment["spec"]["replicas"], 5);
/// ```
pub fn to_scale(obj: &Value) -> Value {
    let mut metadata = json!({});
    for name in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        if obj["metadata"][name].is_set() {
            metadata.put(name, obj["metadata"][name].clone());
        }
    }
    let mut status = json!({"replicas": obj["status"]["replicas"].int()});
    let selector = selector_text(&obj["spec"]["selector"]);
    if !selector.is_empty() {
        status.put("selector", selector);
    }
    let mut spec = json!({});
    if obj["spec"]["replicas"].int() != 0 {
        spec.put("replicas", obj["spec"]["replicas"].clone());
    }
    json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    })
}

/// Writes the replicas of a scale into its object, with the resourceVersion for the check on write.
pub fn apply_scale(obj: &mut Value, scale: &Value) {
    obj.field("spec")
        .put("replicas", scale["spec"]["replicas"].int());
    let version = scale["metadata"]["resourceVersion"].clone();
    if version.is_blank() {
        obj.field("metadata").forget("resourceVersion");
    } else {
        obj.field("metadata").put("resourceVersion", version);
    }
}

/// Validates a `Scale`. The 422 is about `Scale.autoscaling` with the name of the object.
pub fn validate(scale: &Value) -> ErrorList {
    let mut errors = meta::validate(scale, true, meta::subdomain);
    let path = Path::new("spec").child("replicas");
    checks::non_negative(&scale["spec"]["replicas"], &path, &mut errors);
    errors
}

/// The selector as text; replication controllers have a plain map of labels.
fn selector_text(selector: &Value) -> String {
    let structured = selector["matchLabels"].is_object() || selector["matchExpressions"].is_array();
    let selector = match structured || selector.is_blank() {
        true => selector.clone(),
        false => json!({"matchLabels": selector}),
    };
    match LabelSelector::from_label_selector(&selector) {
        Ok(selector) if !selector.is_nothing() => selector.to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_shows_the_numbers_and_the_selector() {
        let deployment = json!({
            "metadata": {"name": "d", "namespace": "n", "labels": {"a": "b"}},
            "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "d"}}},
            "status": {"replicas": 2},
        });
        let scale = to_scale(&deployment);
        assert_eq!(scale["metadata"], json!({"name": "d", "namespace": "n"}));
        assert_eq!(scale["spec"], json!({"replicas": 3}));
        assert_eq!(scale["status"], json!({"replicas": 2, "selector": "app=d"}));
        let rc = json!({"metadata": {}, "spec": {"replicas": 0, "selector": {"app": "d"}}});
        assert_eq!(to_scale(&rc)["status"]["selector"], "app=d");
        assert_eq!(to_scale(&rc)["spec"], json!({}));
    }

    #[test]
    fn a_scale_is_written_back_with_its_version() {
        let mut rc = json!({"metadata": {"resourceVersion": "5"}, "spec": {"replicas": 1}});
        apply_scale(
            &mut rc,
            &json!({"metadata": {"resourceVersion": "4"}, "spec": {"replicas": 2}}),
        );
        assert_eq!(rc["spec"]["replicas"], 2);
        assert_eq!(rc["metadata"]["resourceVersion"], "4");
    }

    #[test]
    fn a_negative_scale_is_refused() {
        let scale = json!({"metadata": {"name": "d", "namespace": "n"}, "spec": {"replicas": -1}});
        let errors = validate(&scale);
        assert_eq!(errors.len(), 1);
        assert_eq!(
            errors[0].to_string(),
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
        );
    }
}
