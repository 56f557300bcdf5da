//! The nodes on which a DaemonSet has pods.

use kubewright_machinery::labels::{Operator, Requirement};
use serde_json::{Value, json};

use crate::workloads::objects::{DaemonSet, Node, Pod, Taint};

/// The taints that pods of DaemonSets tolerate: a key and an effect.
const TOLERATED: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

/// The taint that pods in the network of their node tolerate.
const NETWORK_UNAVAILABLE: (&str, &str) = ("node.kubernetes.io/network-unavailable", "NoSchedule");

/// Whether a node should have a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// It should have one.
    Run,
    /// An existing pod may stay.
    Stay,
    /// It should have none.
    Never,
}

/// Decides whether a node should have a pod of a DaemonSet, by names, labels and taints.
pub(super) fn fit(set: &DaemonSet, node: &Node) -> Fit {
    let spec = &set.spec.template.0["spec"];
    let name = node.metadata.name.as_deref().unwrap_or_default();
    let wanted = spec["nodeName"].as_str().unwrap_or_default();
    if !wanted.is_empty() && wanted != name || !matches_node(spec, node, name) {
        return Fit::Never;
    }
    let tolerations = tolerations(spec);
    let is_tolerated = |taint: &Taint| tolerations.iter().any(|t| taint.is_tolerated_by(t));
    let refused = |effects: &[&str]| {
        let mut taints = node.spec.taints.iter();
        taints.any(|taint| effects.contains(&taint.effect.as_str()) && !is_tolerated(taint))
    };
    match (
        refused(&["NoExecute", "NoSchedule"]),
        refused(&["NoExecute"]),
    ) {
        (false, _) => Fit::Run,
        (true, false) => Fit::Stay,
        (true, true) => Fit::Never,
    }
}

/// Returns the tolerations of a template with those of all DaemonSets.
pub(super) fn tolerations(spec: &Value) -> Vec<Value> {
    let own = spec["tolerations"].as_array().cloned();
    let mut tolerations = own.unwrap_or_default();
    let network = (spec["hostNetwork"] == true).then_some(NETWORK_UNAVAILABLE);
    for (key, effect) in TOLERATED.into_iter().chain(network) {
        let new = json!({"key": key, "operator": "Exists", "effect": effect});
        let is_same = |known: &Value| {
            known["key"] == key
                && known["effect"] == effect
                && known["operator"] == "Exists"
                && known["value"].as_str().unwrap_or_default().is_empty()
        };
        match tolerations.iter_mut().find(|known| is_same(known)) {
            Some(known) => *known = new,
            None => tolerations.push(new),
        }
    }
    tolerations
}

/// Reports whether the node selector and the required affinity of a template match a node.
fn matches_node(spec: &Value, node: &Node, name: &str) -> bool {
    let labels = node.metadata.labels.as_ref();
    let label = |key: &str| {
        labels
            .and_then(|labels| labels.get(key))
            .map(String::as_str)
    };
    let selector = spec["nodeSelector"].as_object().into_iter().flatten();
    let mut selector = selector.map(|(key, value)| label(key) == value.as_str());
    let terms = spec.pointer(
        "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms",
    );
    let is_met = |term: &Value| {
        let list = |field: &str| term[field].as_array().cloned().unwrap_or_default();
        let (expressions, fields) = (list("matchExpressions"), list("matchFields"));
        let is_name = |field: &Value| field["key"] == "metadata.name" && holds(field, Some(name));
        !(expressions.is_empty() && fields.is_empty())
            && expressions
                .iter()
                .all(|e| holds(e, label(e["key"].as_str().unwrap_or_default())))
            && fields.iter().all(is_name)
    };
    let affinity = match terms.and_then(Value::as_array) {
        Some(terms) => terms.iter().any(is_met),
        None => true,
    };
    selector.all(|is_met| is_met) && affinity
}

/// Reports whether a condition of a node selector holds for a value.
fn holds(condition: &Value, value: Option<&str>) -> bool {
    let operator = match condition["operator"].as_str() {
        Some("In") => Operator::In,
        Some("NotIn") => Operator::NotIn,
        Some("Exists") => Operator::Exists,
        Some("DoesNotExist") => Operator::DoesNotExist,
        Some("Gt") => Operator::GreaterThan,
        Some("Lt") => Operator::LessThan,
        _ => return false,
    };
    let values = condition["values"].as_array().into_iter().flatten();
    let values = values.filter_map(|value| value.as_str().map(str::to_owned));
    let key = condition["key"].as_str().unwrap_or_default().to_owned();
    let requirement = Requirement::new(key, operator, values.collect());
    requirement.is_ok_and(|requirement| requirement.matches(value))
}

/// Replaces the required affinity of a pod, as JSON, by that to a node.
pub(super) fn set_node(pod: &mut Value, node: &str) {
    let field = json!({"key": "metadata.name", "operator": "In", "values": [node]});
    pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        json!({"nodeSelectorTerms": [{"matchFields": [field]}]});
}

/// Returns the node for which a pod was created.
pub(super) fn node_of(pod: &Pod) -> Option<String> {
    if !pod.spec.node_name.is_empty() {
        return Some(pod.spec.node_name.clone());
    }
    let terms = pod
        .spec
        .affinity
        .pointer("/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms");
    let fields = terms?.as_array()?.iter();
    let mut fields = fields.flat_map(|term| term["matchFields"].as_array().into_iter().flatten());
    let field = fields.find(|f| f["key"] == "metadata.name" && f["operator"] == "In")?;
    Some(field["values"].get(0)?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(spec: Value, labels: Value, taints: Value) -> Fit {
        let set = json!({"spec": {"template": {"spec": spec}}});
        let node =
            json!({"metadata": {"name": "n1", "labels": labels}, "spec": {"taints": taints}});
        fit(
            &serde_json::from_value(set).unwrap(),
            &serde_json::from_value(node).unwrap(),
        )
    }

    #[test]
    fn names_labels_and_affinity_choose_nodes() {
        let on = |spec: Value| fits(spec, json!({"disk": "ssd"}), json!([]));
        assert_eq!(on(json!({})), Fit::Run);
        assert_eq!(on(json!({"nodeName": "n2"})), Fit::Never);
        assert_eq!(on(json!({"nodeSelector": {"disk": "ssd"}})), Fit::Run);
        assert_eq!(on(json!({"nodeSelector": {"disk": "hdd"}})), Fit::Never);
        let affinity = |terms: Value| {
            let required = json!({"nodeSelectorTerms": terms});
            on(json!({"affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": required,
            }}}))
        };
        let disk = |operator: &str, values: Value| json!({"matchExpressions": [{"key": "disk", "operator": operator, "values": values}]});
        assert_eq!(affinity(json!([disk("In", json!(["ssd"]))])), Fit::Run);
        assert_eq!(affinity(json!([disk("NotIn", json!(["ssd"]))])), Fit::Never);
        assert_eq!(affinity(json!([{}])), Fit::Never);
    }

    #[test]
    fn taints_keep_pods_away_or_let_them_stay() {
        let with = |key: &str, effect: &str| {
            fits(
                json!({}),
                json!({}),
                json!([{"key": key, "value": "x", "effect": effect}]),
            )
        };
        assert_eq!(with("own", "NoSchedule"), Fit::Stay);
        assert_eq!(with("own", "NoExecute"), Fit::Never);
        assert_eq!(with("own", "PreferNoSchedule"), Fit::Run);
        assert_eq!(
            with("node.kubernetes.io/unschedulable", "NoSchedule"),
            Fit::Run
        );
        let tolerant = json!({"tolerations": [{"key": "own", "value": "x"}]});
        let taint = json!([{"key": "own", "value": "x", "effect": "NoExecute"}]);
        assert_eq!(fits(tolerant, json!({}), taint), Fit::Run);
        assert_eq!(
            with("node.kubernetes.io/network-unavailable", "NoSchedule"),
            Fit::Stay
        );
        let taint =
            json!([{"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"}]);
        assert_eq!(
            fits(json!({"hostNetwork": true}), json!({}), taint),
            Fit::Run
        );
    }
}
