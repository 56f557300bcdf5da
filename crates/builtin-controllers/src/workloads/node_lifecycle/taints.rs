//! The taints that follow from the conditions of a node.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::workloads::objects::{Condition, Node, whole_seconds};

/// The taint of a node that says that it is not ready.
const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// The taint of a node that says nothing.
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// The taint of a node that is cordoned.
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// The conditions that taint a node, with the status in which they do.
const CONDITIONS: [(&str, &str, &str); 6] = [
    ("Ready", "False", NOT_READY),
    ("Ready", "Unknown", UNREACHABLE),
    (
        "MemoryPressure",
        "True",
        "node.kubernetes.io/memory-pressure",
    ),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    (
        "NetworkUnavailable",
        "True",
        "node.kubernetes.io/network-unavailable",
    ),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
];

/// Taints with one effect, by key.
pub(super) struct Wanted {
    effect: &'static str,
    keys: Vec<&'static str>,
}

impl Wanted {
    /// Returns the taints that keep pods away from a node.
    pub(super) fn no_schedule(node: &Node) -> Self {
        let mut keys = Vec::new();
        for condition in &node.status.conditions {
            let found = CONDITIONS
                .iter()
                .find(|(kind, status, _)| *kind == condition.r#type && *status == condition.status);
            keys.extend(found.map(|(_, _, key)| *key));
        }
        if node.spec.unschedulable {
            keys.push(UNSCHEDULABLE);
        }
        Self {
            effect: "NoSchedule",
            keys,
        }
    }

    /// Returns the taint that evicts pods from a node with that condition `Ready`.
    pub(super) fn no_execute(ready: &Condition) -> Self {
        let key = match ready.status.as_str() {
            "False" => Some(NOT_READY),
            "Unknown" => Some(UNREACHABLE),
            _ => None,
        };
        Self {
            effect: "NoExecute",
            keys: key.into_iter().collect(),
        }
    }

    /// Returns no taints that evict.
    pub(super) fn none_that_evict() -> Self {
        Self {
            effect: "NoExecute",
            keys: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Reports whether a node has all these taints.
    pub(super) fn are_on(&self, node: &Node) -> bool {
        self.keys.iter().all(|key| {
            let mut taints = node.spec.taints.iter();
            taints.any(|taint| taint.key == *key && taint.effect == self.effect)
        })
    }

    /// Reports whether a node has the taint of another state, which this one replaces at once.
    pub(super) fn replace_another(&self, node: &Node) -> bool {
        let mut taints = node.spec.taints.iter();
        taints.any(|taint| {
            taint.effect == self.effect
                && self.is_managed(&taint.key)
                && !self.keys.contains(&taint.key.as_str())
        })
    }

    /// Sets the desired taints of a node. Returns whether anything changed.
    pub(super) fn put(&self, taints: &mut Vec<Value>, now: Timestamp) -> bool {
        let before = taints.len();
        let is_of = |taint: &Value| taint["effect"] == self.effect;
        taints.retain(|taint| {
            let key = taint["key"].as_str().unwrap_or_default();
            !is_of(taint) || !self.is_managed(key) || self.keys.contains(&key)
        });
        let mut is_changed = taints.len() != before;
        for key in &self.keys {
            if !taints
                .iter()
                .any(|taint| is_of(taint) && taint["key"] == *key)
            {
                let added = whole_seconds(now);
                taints.push(json!({"key": key, "effect": self.effect, "timeAdded": added}));
                is_changed = true;
            }
        }
        is_changed
    }

    /// Reports whether the controller adds and removes a taint. One that evicts follows from the condition `Ready` only.
    fn is_managed(&self, key: &str) -> bool {
        let mut conditions = CONDITIONS.iter();
        let is_it = |(kind, _, own): &(&str, &str, &str)| {
            *own == key && (self.effect == "NoSchedule" || *kind == "Ready")
        };
        conditions.any(is_it) || self.effect == "NoSchedule" && key == UNSCHEDULABLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(spec: Value, ready: &str) -> Node {
        serde_json::from_value(json!({"spec": spec, "status": {"conditions": [
            {"type": "Ready", "status": ready}, {"type": "DiskPressure", "status": "True"},
        ]}}))
        .unwrap()
    }

    #[test]
    fn taints_follow_conditions_and_those_of_others_stay() {
        let now = Timestamp::UNIX_EPOCH;
        let node = node(json!({"unschedulable": true}), "False");
        let mut taints = vec![
            json!({"key": UNREACHABLE, "effect": "NoSchedule"}),
            json!({"key": UNREACHABLE, "effect": "NoExecute"}),
            json!({"key": "own", "effect": "NoSchedule"}),
        ];
        assert!(Wanted::no_schedule(&node).put(&mut taints, now));
        let keys = |taints: &[Value]| -> Vec<String> {
            let text = |taint: &Value| format!("{}:{}", taint["key"], taint["effect"]);
            taints.iter().map(|t| text(t).replace('"', "")).collect()
        };
        assert_eq!(
            keys(&taints),
            [
                "node.kubernetes.io/unreachable:NoExecute",
                "own:NoSchedule",
                "node.kubernetes.io/not-ready:NoSchedule",
                "node.kubernetes.io/disk-pressure:NoSchedule",
                "node.kubernetes.io/unschedulable:NoSchedule",
            ]
        );
        assert!(!Wanted::no_schedule(&node).put(&mut taints, now));
        assert!(Wanted::none_that_evict().put(&mut taints, now));
        assert_eq!(taints.len(), 4);
        assert_eq!(taints[1]["timeAdded"], "1970-01-01T00:00:00Z");
    }

    #[test]
    fn the_taint_of_another_state_is_replaced() {
        let tainted = json!({"taints": [{"key": UNREACHABLE, "effect": "NoExecute"}]});
        let node = node(tainted, "False");
        let wanted = Wanted::no_execute(node.readiness().unwrap());
        assert!(wanted.replace_another(&node) && !wanted.are_on(&node));
        assert!(!Wanted::no_schedule(&node).replace_another(&node));
    }
}
