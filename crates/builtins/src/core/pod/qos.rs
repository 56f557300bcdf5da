//! The quality-of-service class of a pod, which is computed at creation and never changes.

use std::collections::BTreeMap;

use kubewright_machinery::quantity::Quantity;
use serde_json::Value;

use crate::{core::resources, json::Read};

const COUNTED: [&str; 2] = ["cpu", "memory"];

/// The class that the pod has, or else the one that follows from its spec.
pub(crate) fn class_of(pod: &Value) -> String {
    match pod["status"]["qosClass"].text() {
        "" => class(&pod["spec"]).to_owned(),
        known => known.to_owned(),
    }
}

/// Returns `Guaranteed`, `Burstable` or `BestEffort`, from requests and limits.
pub(crate) fn class(spec: &Value) -> &'static str {
    let mut requests = BTreeMap::new();
    let mut limits = BTreeMap::new();
    let mut guaranteed = true;
    if spec["resources"].is_set() {
        add(&spec["resources"]["requests"], &mut requests);
        let found = add(&spec["resources"]["limits"], &mut limits);
        guaranteed = found == COUNTED.len();
    } else {
        let containers = spec["containers"].items().iter();
        for c in containers.chain(spec["initContainers"].items()) {
            add(&c["resources"]["requests"], &mut requests);
            let found = add(&c["resources"]["limits"], &mut limits);
            guaranteed &= found == COUNTED.len();
        }
    }
    if requests.is_empty() && limits.is_empty() {
        return "BestEffort";
    }
    if guaranteed && requests == limits {
        return "Guaranteed";
    }
    "Burstable"
}

/// Adds what counts, and says how many of the counted resources were there.
fn add(list: &Value, sums: &mut BTreeMap<&'static str, Quantity>) -> usize {
    let mut found = 0;
    for name in COUNTED {
        let Some(quantity) = resources::quantity(&list[name]) else {
            continue;
        };
        if quantity.sign() <= 0 {
            continue;
        }
        found += 1;
        match sums.get_mut(name) {
            Some(sum) => *sum += &quantity,
            None => {
                sums.insert(name, quantity);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::class;

    #[test]
    fn equal_limits_and_requests_of_both_resources_are_guaranteed() {
        let both = json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m", "memory": "1Gi"}});
        assert_eq!(
            class(&json!({"containers": [{"resources": both}]})),
            "Guaranteed"
        );
        let two = json!({"containers": [{"resources": both}, {}]});
        assert_eq!(class(&two), "Burstable");
    }

    #[test]
    fn pods_without_requests_are_best_effort() {
        assert_eq!(class(&json!({"containers": [{}]})), "BestEffort");
        let zero = json!({"containers": [{"resources": {"requests": {"cpu": "0"}}}]});
        assert_eq!(class(&zero), "BestEffort");
    }
}
