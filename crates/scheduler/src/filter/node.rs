//! Filters by properties of the node: unschedulable, taints, labels, ports.

use super::Rejection;
use crate::{
    node::NodeInfo,
    pod::{HostPort, Taint, Template},
};

/// The taint of a cordoned node.
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// The reason for nodes with taints that the pod does not tolerate.
const UNTOLERATED: &str = "node(s) had untolerated taint(s)";

pub(super) fn unschedulable(pod: &Template, node: &NodeInfo) -> Result<(), Rejection> {
    let taint = || Taint {
        key: UNSCHEDULABLE.to_owned(),
        value: String::new(),
        effect: "NoSchedule".to_owned(),
    };
    if node.is_unschedulable && !pod.tolerations.iter().any(|t| t.tolerates(&taint())) {
        return Err(Rejection::new("node(s) were unschedulable", false));
    }
    Ok(())
}

pub(super) fn taints(pod: &Template, node: &NodeInfo) -> Result<(), Rejection> {
    if has_untolerated(pod, node) {
        return Err(Rejection::new(UNTOLERATED, false));
    }
    Ok(())
}

/// Checks the taints with the effect `NoExecute`, which evict running pods.
pub(crate) fn evicting_taints(pod: &Template, node: &NodeInfo) -> Result<(), Rejection> {
    if has_untolerated_effect(pod, node, |effect| effect == "NoExecute") {
        return Err(Rejection::new(UNTOLERATED, false));
    }
    Ok(())
}

/// Reports whether the node has a taint that the pod does not tolerate.
pub(super) fn has_untolerated(pod: &Template, node: &NodeInfo) -> bool {
    has_untolerated_effect(pod, node, |effect| {
        matches!(effect, "NoSchedule" | "NoExecute")
    })
}

fn has_untolerated_effect(pod: &Template, node: &NodeInfo, matters: impl Fn(&str) -> bool) -> bool {
    let hard = |taint: &&Taint| matters(&taint.effect);
    let untolerated = |taint: &Taint| !pod.tolerations.iter().any(|t| t.tolerates(taint));
    node.taints.iter().filter(hard).any(untolerated)
}

pub(crate) fn affinity(pod: &Template, node: &NodeInfo) -> Result<(), Rejection> {
    if matches_affinity(pod, node) {
        return Ok(());
    }
    Err(Rejection::new(
        "node(s) didn't match Pod's node affinity/selector",
        false,
    ))
}

/// Reports whether the node matches the pod's node selector and required node affinity.
pub(super) fn matches_affinity(pod: &Template, node: &NodeInfo) -> bool {
    let labels = &node.labels;
    let mut selector = pod.node_selector.iter();
    let required = pod.affinity.node_affinity.as_ref();
    let required = required.and_then(|affinity| affinity.required.as_ref());
    selector.all(|(key, value)| labels.get(key) == Some(value))
        && required.is_none_or(|terms| {
            let mut terms = terms.node_selector_terms.iter();
            terms.any(|term| term.matches(&node.name, labels))
        })
}

pub(crate) fn ports(pod: &Template, node: &NodeInfo) -> Result<(), Rejection> {
    let taken = |port: &HostPort| node.ports.iter().any(|other| conflicts(port, other));
    if pod.ports.iter().any(taken) {
        return Err(Rejection::new(
            "node(s) didn't have free ports for the requested pod ports",
            true,
        ));
    }
    Ok(())
}

fn conflicts(one: &HostPort, other: &HostPort) -> bool {
    let is_any = |port: &HostPort| port.ip == "0.0.0.0";
    one.port == other.port
        && one.protocol == other.protocol
        && (one.ip == other.ip || is_any(one) || is_any(other))
}
