//! The strategy of pods: fields that a create or an update may set, and the grace period of deletion.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{app_armor, qos};
use crate::{
    Grace, general,
    json::{Read, Write, same},
};

/// Prepares a new pod: pending, generation 1, with its quality of service.
pub(crate) fn prepare_create(pod: &mut Value) {
    general::start_generation(pod);
    let class = qos::class_of(pod);
    pod.put("status", json!({"phase": "Pending", "qosClass": class}));
    mark_gated(pod);
    let labels = pod["metadata"]["labels"].clone();
    pod.field("spec").with("affinity", |affinity| {
        for side in ["podAffinity", "podAntiAffinity"] {
            affinity.with(side, |a| expand_affinity(a, &labels));
        }
    });
    pod.field("spec").each("topologySpreadConstraints", |c| {
        expand_label_keys(c, "matchLabelKeys", "In", &labels);
    });
    app_armor::sync(pod);
}

/// Prepares an update, which keeps the status.
pub(crate) fn prepare_update(new: &mut Value, old: &Value) {
    general::keep_status(new, old);
    count_generation(new, old);
}

/// Prepares a status update, which keeps the spec, the owners and the quality of service.
pub(crate) fn prepare_status_update(new: &mut Value, old: &Value) {
    general::copy(new, old, "spec");
    new.field("metadata").forget("deletionTimestamp");
    general::copy(new.field("metadata"), &old["metadata"], "ownerReferences");
    let class = old["status"]["qosClass"].clone();
    let observed = old["status"]["observedGeneration"].clone();
    let status = new.field("status");
    if class.is_set() {
        status.put_if_blank("qosClass", class);
    }
    if observed.is_set() {
        status.put_if_blank("observedGeneration", observed);
    }
    keep_observed_generations(status, &old["status"]);
}

/// Returns the grace period: the requested one, else the pod's; 0 for pods that do not run.
pub(crate) fn grace(pod: &Value, requested: Option<i64>) -> Grace {
    let own = pod["spec"]["terminationGracePeriodSeconds"].int();
    let mut seconds = requested.unwrap_or(own);
    let terminal = matches!(pod["status"]["phase"].text(), "Failed" | "Succeeded");
    if pod["spec"]["nodeName"].is_blank() || terminal {
        seconds = 0;
    }
    if seconds < 0 {
        seconds = 1;
    }
    Grace { seconds }
}

/// The next generation, if the spec changed.
pub(crate) fn count_generation(new: &mut Value, old: &Value) {
    if !same(&new["spec"], &old["spec"]) {
        general::next_generation(new, old);
    }
}

fn mark_gated(pod: &mut Value) {
    if pod["spec"]["schedulingGates"].is_blank() {
        return;
    }
    let now = pod["metadata"]["creationTimestamp"].clone();
    pod.field("status").put(
        "conditions",
        json!([{
            "type": "PodScheduled",
            "status": "False",
            "lastTransitionTime": now,
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }]),
    );
}

fn expand_affinity(affinity: &mut Value, labels: &Value) {
    let expand = |term: &mut Value| {
        expand_label_keys(term, "matchLabelKeys", "In", labels);
        expand_label_keys(term, "mismatchLabelKeys", "NotIn", labels);
    };
    affinity.each("preferredDuringSchedulingIgnoredDuringExecution", |p| {
        p.with("podAffinityTerm", expand);
    });
    affinity.each("requiredDuringSchedulingIgnoredDuringExecution", expand);
}

/// Adds label keys of the pod to the requirements of the term's selector.
fn expand_label_keys(term: &mut Value, field: &str, operator: &str, labels: &Value) {
    if !term["labelSelector"].is_set() {
        return;
    }
    let requirements: Vec<Value> = term[field]
        .items()
        .iter()
        .filter_map(|key| {
            let value = labels.get(key.text())?;
            Some(json!({"key": key, "operator": operator, "values": [value]}))
        })
        .collect();
    if requirements.is_empty() {
        return;
    }
    let expressions = term.field("labelSelector").field("matchExpressions");
    match expressions.as_array_mut() {
        Some(list) => list.extend(requirements),
        None => *expressions = Value::Array(requirements),
    }
}

/// Keeps `observedGeneration` for writers that do not know it: the n-th condition of a type keeps the n-th value.
fn keep_observed_generations(status: &mut Value, old: &Value) {
    let mut known: HashMap<&str, std::collections::VecDeque<i64>> = HashMap::new();
    for c in old["conditions"].items() {
        let generations = known.entry(c["type"].text()).or_default();
        generations.push_back(c["observedGeneration"].int());
    }
    status.each("conditions", |c| {
        let before = known
            .get_mut(c["type"].text())
            .and_then(|g| g.pop_front())
            .unwrap_or_default();
        if before != 0 {
            c.put_if_blank("observedGeneration", before);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_on_no_node_goes_at_once() {
        let pod = json!({"spec": {"terminationGracePeriodSeconds": 30}});
        assert_eq!(grace(&pod, Some(10)).seconds, 0);
    }

    #[test]
    fn a_running_pod_gets_the_requested_grace_period_or_its_own() {
        let pod = json!({"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 30}});
        assert_eq!(grace(&pod, Some(10)).seconds, 10);
        assert_eq!(grace(&pod, None).seconds, 30);
        assert_eq!(grace(&pod, Some(-5)).seconds, 1);
        let done = json!({"spec": {"nodeName": "n"}, "status": {"phase": "Succeeded"}});
        assert_eq!(grace(&done, Some(10)).seconds, 0);
    }

    #[test]
    fn a_gated_pod_says_so() {
        let mut pod = json!({"metadata": {}, "spec": {"schedulingGates": [{"name": "g"}]}});
        prepare_create(&mut pod);
        assert_eq!(pod["status"]["conditions"][0]["reason"], "SchedulingGated");
    }
}
