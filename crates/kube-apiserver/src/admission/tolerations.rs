//! Merging of tolerations.

use kubewright_machinery::json::Read;
use serde_json::Value;

/// Merges two lists, and leaves out tolerations that another one includes.
pub(super) fn merge(first: &[Value], second: &[Value]) -> Vec<Value> {
    let all: Vec<(&Value, Toleration<'_>)> = first
        .iter()
        .chain(second)
        .map(|value| (value, Toleration::read(value)))
        .collect();
    let mut merged: Vec<(&Value, Toleration<'_>)> = Vec::new();
    for (i, (value, toleration)) in all.iter().enumerate() {
        let included = merged.iter().any(|(_, other)| other.includes(toleration));
        let later = &all[i + 1..];
        // Of equal tolerations the first is kept.
        let included_later = || {
            later
                .iter()
                .any(|(_, other)| other != toleration && other.includes(toleration))
        };
        if !included && !included_later() {
            merged.push((value, *toleration));
        }
    }
    merged.into_iter().map(|(value, _)| value.clone()).collect()
}

/// Returns whether each toleration is included in one of those that are allowed. If none are listed, all are allowed.
pub(super) fn are_allowed(tolerations: &[Value], allowed: &[Value]) -> bool {
    let is_allowed = |toleration: &Value| {
        let toleration = Toleration::read(toleration);
        let mut allowed = allowed.iter().map(Toleration::read);
        allowed.any(|allowed| allowed.includes(&toleration))
    };
    allowed.is_empty() || tolerations.iter().all(is_allowed)
}

#[derive(Clone, Copy, PartialEq)]
struct Toleration<'a> {
    key: &'a str,
    operator: &'a str,
    value: &'a str,
    effect: &'a str,
    seconds: Option<i64>,
}

impl<'a> Toleration<'a> {
    fn read(value: &'a Value) -> Self {
        Self {
            key: value["key"].text(),
            operator: value["operator"].text(),
            value: value["value"].text(),
            effect: value["effect"].text(),
            seconds: value["tolerationSeconds"].as_i64(),
        }
    }

    /// Returns whether this toleration tolerates everything that `other` does.
    fn includes(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        let every_key = self.key.is_empty() && self.operator == "Exists";
        if self.key != other.key && !every_key {
            return false;
        }
        if self.effect != other.effect && !self.effect.is_empty() {
            return false;
        }
        if self.effect == "NoExecute"
            && self
                .seconds
                .is_some_and(|most| other.seconds.is_none_or(|s| s > most))
        {
            return false;
        }
        match self.operator {
            "Equal" | "" => other.operator == "Equal" && other.value == self.value,
            "Exists" => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_toleration_that_another_includes_is_left_out() {
        let narrow = json!({"key": "a", "operator": "Equal", "value": "x", "effect": "NoSchedule"});
        let wide = json!({"key": "a", "operator": "Exists"});
        let other = json!({"key": "b", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5});
        let merged = merge(
            &[narrow.clone(), other.clone()],
            &[wide.clone(), other.clone()],
        );
        assert_eq!(merged, [other.clone(), wide]);
        let longer = json!({"key": "b", "operator": "Exists", "effect": "NoExecute"});
        assert_eq!(merge(&[other], std::slice::from_ref(&longer)), [longer]);
    }
}
