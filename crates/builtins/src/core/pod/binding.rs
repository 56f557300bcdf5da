//! `pods/binding`: a pod gets its node, once.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    go,
};
use serde_json::{Value, json};

use crate::json::{Read, Write};

/// Validates a binding.
pub fn validate(binding: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    let path = Path::new("target");
    let kind = binding["target"]["kind"].text();
    if !matches!(kind, "" | "Node") {
        errors.push(field::not_supported(
            &path.child("kind"),
            kind,
            &["Node", "<empty>"],
        ));
    }
    if binding["target"]["name"].is_blank() {
        errors.push(field::required(&path.child("name"), ""));
    }
    errors
}

/// Assigns the pod to the node of the binding. The error completes the sentence of a 409 about `pods/binding`.
///
/// # Errors
///
/// Returns a message if the pod is being deleted or bound already.
///
/// ```
/// use kubewright_builtins::core::pod::binding::bind;
/// use serde_json::json;
///
/// let mut pod = json!({"metadata": {"name": "p"}, "spec": {}});
/// let binding = json!({"target": {"kind": "Node", "name": "n1"}});
/// bind(&mut pod, &binding, "2026-01-02T03:04:05Z")?;
/// assert_eq!(pod["spec"]["nodeName"], "n1");
/// assert!(bind(&mut pod, &binding, "2026-01-02T03:04:05Z").is_err());
/// # Ok::<(), String>(())
/// ```
pub fn bind(pod: &mut Value, binding: &Value, now: &str) -> Result<(), String> {
    let name = pod["metadata"]["name"].text();
    if pod["metadata"]["deletionTimestamp"].is_set() {
        return Err(format!(
            "pod {name} is being deleted, cannot be assigned to a host"
        ));
    }
    let node = pod["spec"]["nodeName"].text();
    if !node.is_empty() {
        return Err(format!(
            "pod {name} is already assigned to node {}",
            go::quote(node)
        ));
    }
    if !pod["spec"]["schedulingGates"].is_blank() {
        return Err(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    pod.field("spec")
        .put("nodeName", binding["target"]["name"].clone());
    pod.with("status", |s| s.forget("nominatedNodeName"));
    for map in ["annotations", "labels"] {
        for (key, value) in binding["metadata"][map].entries() {
            pod.field("metadata").field(map).put(key, value.clone());
        }
    }
    mark_scheduled(pod, now);
    Ok(())
}

fn mark_scheduled(pod: &mut Value, now: &str) {
    let scheduled = json!({
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": null,
        "lastTransitionTime": now,
    });
    let conditions = pod.field("status").field("conditions");
    let Some(list) = conditions.as_array_mut() else {
        *conditions = json!([scheduled]);
        return;
    };
    match list.iter_mut().find(|c| c["type"] == "PodScheduled") {
        Some(known) if known["status"] == "True" => {}
        Some(known) => *known = scheduled,
        None => list.push(scheduled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_bound_once() {
        let binding = json!({"metadata": {"annotations": {"a": "b"}}, "target": {"kind": "Node", "name": "n"}});
        assert!(validate(&binding).is_empty());
        let mut pod = json!({"metadata": {"name": "p"}, "spec": {}, "status": {}});
        assert_eq!(bind(&mut pod, &binding, "now"), Ok(()));
        assert_eq!(pod["spec"]["nodeName"], "n");
        assert_eq!(pod["metadata"]["annotations"]["a"], "b");
        assert_eq!(pod["status"]["conditions"][0]["type"], "PodScheduled");
        let again = bind(&mut pod, &binding, "now");
        assert_eq!(
            again,
            Err("pod p is already assigned to node \"n\"".to_owned())
        );
    }

    #[test]
    fn a_binding_needs_a_node() {
        let errors = validate(&json!({"target": {"kind": "Pod"}}));
        assert_eq!(errors.len(), 2);
    }
}
