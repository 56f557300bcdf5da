//! [`ResourceList`]: quantities by resource name, as requests, limits and quotas have them.

use std::collections::BTreeMap;

use kubewright_machinery::{quantity::Quantity, validation::names::is_qualified_name};
use serde_json::{Map, Value};

/// The prefix of requests in quotas.
const REQUESTS: &str = "requests.";

/// Quantities by resource name. A missing quantity is not the same as zero.
pub type ResourceList = BTreeMap<String, Quantity>;

/// Reads a list, and skips invalid quantities.
pub fn read(value: &Value) -> ResourceList {
    let fields = value.as_object().into_iter().flatten();
    fields
        .filter_map(|(name, value)| Some((name.clone(), quantity(value)?)))
        .collect()
}

/// Reads a quantity.
pub fn quantity(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        _ => None,
    }
}

/// Returns whether a resource is native to Kubernetes.
pub fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Returns whether a resource has the name of an extended one.
pub fn is_extended_name(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with(REQUESTS)
        && is_qualified_name(&format!("{REQUESTS}{name}")).is_empty()
}

/// Encodes a list.
pub fn write(list: &ResourceList) -> Value {
    let fields: Map<String, Value> = list
        .iter()
        .map(|(name, q)| (name.clone(), q.canonical().into()))
        .collect();
    fields.into()
}

/// Adds every quantity of `more`.
pub fn add(list: &mut ResourceList, more: &ResourceList) {
    for (name, quantity) in more {
        match list.get_mut(name) {
            Some(sum) => *sum += quantity,
            None => {
                list.insert(name.clone(), quantity.clone());
            }
        }
    }
}

/// Raises every quantity to at least that of `floor`.
pub fn raise(list: &mut ResourceList, floor: &ResourceList) {
    for (name, quantity) in floor {
        if list.get(name).is_none_or(|current| quantity > current) {
            list.insert(name.clone(), quantity.clone());
        }
    }
}

/// Returns `list` minus `other`, at least zero.
pub fn less(list: &ResourceList, other: &ResourceList) -> ResourceList {
    let mut out: ResourceList = other
        .keys()
        .map(|name| (name.clone(), Quantity::zero()))
        .collect();
    for (name, quantity) in list {
        let left = match other.get(name) {
            Some(taken) => quantity - taken,
            None => quantity.clone(),
        };
        out.insert(
            name.clone(),
            if left.sign() > 0 {
                left
            } else {
                Quantity::zero()
            },
        );
    }
    out
}

/// Returns the quantities whose names `keep` accepts.
pub fn only(list: &ResourceList, keep: impl Fn(&str) -> bool) -> ResourceList {
    let kept = list.iter().filter(|(name, _)| keep(name));
    kept.map(|(name, quantity)| (name.clone(), quantity.clone()))
        .collect()
}

/// Formats a list: `cpu=1,memory=1Gi`.
pub fn print(list: &ResourceList) -> String {
    let parts: Vec<String> = list
        .iter()
        .map(|(name, q)| format!("{name}={}", q.canonical()))
        .collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_add_up_and_never_fall_below_zero() {
        let mut list = read(&json!({"cpu": "500m", "memory": "1Gi"}));
        add(&mut list, &read(&json!({"cpu": "1", "pods": 2})));
        assert_eq!(print(&list), "cpu=1500m,memory=1Gi,pods=2");
        let left = less(
            &list,
            &read(&json!({"cpu": "2", "memory": "512Mi", "storage": "1"})),
        );
        assert_eq!(print(&left), "cpu=0,memory=512Mi,pods=2,storage=0");
        raise(&mut list, &read(&json!({"cpu": "1", "pods": "3"})));
        assert_eq!(
            write(&list),
            json!({"cpu": "1500m", "memory": "1Gi", "pods": "3"})
        );
    }
}
