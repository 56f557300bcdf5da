//! Conditions: what is observed about an object, by type.
//!
//! A list holds at most one condition of each type. When a condition's status changes, the time of the change is noted;
//! the time comes from the caller.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::time::Time;

/// One aspect of an object's state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// `Ready`
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The generation of the object that was observed.
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// When the status last changed, in RFC 3339.
    pub last_transition_time: String,
    /// Why, as one word for programs.
    pub reason: String,
    /// Why, for people.
    pub message: String,
}

impl Condition {
    /// A condition that has yet to be set, with no time of change.
    pub fn new(type_: &str, status: &str, reason: &str, message: impl Into<String>) -> Self {
        Self {
            type_: type_.into(),
            status: status.into(),
            reason: reason.into(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// Whether the status is `True`.
    pub fn is_true(&self) -> bool {
        self.status == "True"
    }
}

/// Puts a condition in the place of the one of its type, and says whether anything changed. Where the status changes and
/// the condition does not say when, that is `now`.
pub fn set_condition(conditions: &mut Vec<Condition>, mut new: Condition, now: Time) -> bool {
    let time = if new.last_transition_time.is_empty() {
        now.to_seconds()
    } else {
        std::mem::take(&mut new.last_transition_time)
    };
    let Some(old) = conditions.iter_mut().find(|c| c.type_ == new.type_) else {
        new.last_transition_time = time;
        conditions.push(new);
        return true;
    };
    new.last_transition_time = if old.status == new.status {
        old.last_transition_time.clone()
    } else {
        time
    };
    let changed = *old != new;
    *old = new;
    changed
}

/// The condition of a type.
pub fn find_condition<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|c| c.type_ == type_)
}

/// Removes the condition of a type, and says whether there was one.
pub fn remove_condition(conditions: &mut Vec<Condition>, type_: &str) -> bool {
    let before = conditions.len();
    conditions.retain(|c| c.type_ != type_);
    conditions.len() != before
}

/// Whether the condition of a type is there and `True`.
pub fn is_condition_true(conditions: &[Condition], type_: &str) -> bool {
    find_condition(conditions, type_).is_some_and(Condition::is_true)
}

/// The conditions in an object's status. What is not a condition is left out.
pub fn conditions_of(object: &Value) -> Vec<Condition> {
    let list = object
        .get("status")
        .and_then(|s| s.get("conditions"))
        .and_then(Value::as_array);
    let list = list.into_iter().flatten();
    list.filter_map(|c| Condition::deserialize(c).ok())
        .collect()
}

fn is_zero(n: &i64) -> bool {
    *n == 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_time_of_change_moves_only_with_the_status() {
        let at = |seconds| Time::from_unix(seconds, 0);
        let mut list = Vec::new();
        assert!(set_condition(
            &mut list,
            Condition::new("Ready", "False", "Starting", ""),
            at(0)
        ));
        assert!(!set_condition(
            &mut list,
            Condition::new("Ready", "False", "Starting", ""),
            at(10)
        ));
        assert!(set_condition(
            &mut list,
            Condition::new("Ready", "False", "Pulling", ""),
            at(20)
        ));
        assert_eq!(list[0].last_transition_time, "1970-01-01T00:00:00Z");
        assert!(set_condition(
            &mut list,
            Condition::new("Ready", "True", "Up", ""),
            at(30)
        ));
        assert_eq!(list[0].last_transition_time, "1970-01-01T00:00:30Z");
        assert!(is_condition_true(&list, "Ready"));
        assert!(!is_condition_true(&list, "Other"));
        assert!(remove_condition(&mut list, "Ready"));
        assert!(!remove_condition(&mut list, "Ready"));
    }

    #[test]
    fn conditions_are_read_from_a_status() {
        let object = json!({"status": {"conditions": [
            {"type": "Ready", "status": "True", "lastProbeTime": null}, 5]}});
        assert!(is_condition_true(&conditions_of(&object), "Ready"));
        assert_eq!(
            serde_json::to_value(Condition::new("A", "True", "R", "m")).unwrap(),
            json!({"type": "A", "status": "True", "lastTransitionTime": "", "reason": "R", "message": "m"})
        );
    }
}
