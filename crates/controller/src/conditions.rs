//! Conditions of a status, with the semantics of `meta.SetStatusCondition`.
//!
//! The time of a condition is that of its last change of *status*; a new reason or message does not affect it.
//! [`Context::condition`](crate::Context::condition) builds conditions with the cluster's time.

use std::borrow::Borrow;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// The status of a condition.
///
/// ```
/// use kubewright_controller::conditions::ConditionStatus;
///
/// assert_eq!(ConditionStatus::from(true).as_str(), "True");
/// assert_eq!(ConditionStatus::Unknown.as_str(), "Unknown");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConditionStatus {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// Not known yet.
    Unknown,
}

/// The conditions of a status, as a list of them.
///
/// ```
/// use kubewright_controller::conditions::{ConditionsExt, condition};
///
/// let mut conditions = Vec::new();
/// assert!(conditions.set(condition("Ready", "True", "Available", "2 of 2 pods are up")));
/// assert!(conditions.is_true("Ready"));
/// assert_eq!(conditions.find("Ready").unwrap().reason, "Available");
/// assert!(conditions.unset("Ready"));
/// ```
pub trait ConditionsExt {
    /// Sets a condition by its type, and reports whether anything changed. The transition time changes only with the
    /// status.
    fn set(&mut self, condition: impl Borrow<Condition>) -> bool;

    /// Removes the condition of that type, and reports whether there was one.
    fn unset(&mut self, type_: &str) -> bool;

    /// Returns the condition of that type.
    fn find(&self, type_: &str) -> Option<&Condition>;

    /// Reports whether there is a condition of that type with the status `True`.
    fn is_true(&self, type_: &str) -> bool {
        self.find(type_)
            .is_some_and(|condition| condition.status == "True")
    }
}

impl ConditionStatus {
    /// Returns the status as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        match holds {
            true => Self::True,
            false => Self::False,
        }
    }
}

impl ConditionsExt for Vec<Condition> {
    fn set(&mut self, condition: impl Borrow<Condition>) -> bool {
        set_status_condition(self, condition.borrow().clone())
    }

    fn unset(&mut self, type_: &str) -> bool {
        remove_status_condition(self, type_)
    }

    fn find(&self, type_: &str) -> Option<&Condition> {
        find_status_condition(self, type_)
    }
}

/// Builds a condition without a time, for [`set_status_condition`].
///
/// ```
/// use kubewright_controller::conditions::{condition, is_status_condition_true, set_status_condition};
///
/// let mut conditions = Vec::new();
/// let ready = condition("Ready", "True", "Available", "2 of 2 pods are up");
/// assert!(set_status_condition(&mut conditions, ready.clone()));
/// assert!(!set_status_condition(&mut conditions, ready));
/// assert!(is_status_condition_true(&conditions, "Ready"));
/// ```
pub fn condition(type_: &str, status: &str, reason: &str, message: impl Into<String>) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.into(),
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
        observed_generation: None,
    }
}

/// Sets a condition by its type, and reports whether anything changed.
///
/// A `last_transition_time` of zero, as [`condition`] sets it, means now.
///
/// ```
/// use kubewright_controller::conditions::{
///     condition, is_status_condition_true, set_status_condition,
/// };
///
/// let mut conditions = Vec::new();
/// let ready = condition("Ready", "True", "AllSold", "nothing is left");
/// assert!(set_status_condition(&mut conditions, ready.clone()));
/// assert!(!set_status_condition(&mut conditions, ready));
/// assert!(is_status_condition_true(&conditions, "Ready"));
/// ```
pub fn set_status_condition(conditions: &mut Vec<Condition>, condition: Condition) -> bool {
    set_status_condition_at(conditions, condition, Timestamp::now())
}

/// Sets a condition by its type, at a given time, and reports whether anything changed.
pub fn set_status_condition_at(
    conditions: &mut Vec<Condition>,
    mut condition: Condition,
    now: Timestamp,
) -> bool {
    if condition.last_transition_time == Time(Timestamp::UNIX_EPOCH) {
        // These times have whole seconds on the wire.
        condition.last_transition_time =
            Time(Timestamp::from_second(now.as_second()).unwrap_or(now));
    }
    let Some(existing) = conditions.iter_mut().find(|c| c.type_ == condition.type_) else {
        conditions.push(condition);
        return true;
    };
    if existing.status == condition.status {
        condition.last_transition_time = existing.last_transition_time.clone();
    }
    let changed = *existing != condition;
    *existing = condition;
    changed
}

/// Removes the condition of that type, and reports whether there was one.
pub fn remove_status_condition(conditions: &mut Vec<Condition>, type_: &str) -> bool {
    let before = conditions.len();
    conditions.retain(|condition| condition.type_ != type_);
    conditions.len() != before
}

/// Returns the condition of that type.
pub fn find_status_condition<'a>(
    conditions: &'a [Condition],
    type_: &str,
) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Reports whether there is a condition of that type with the status `True`.
pub fn is_status_condition_true(conditions: &[Condition], type_: &str) -> bool {
    is_status_condition(conditions, type_, "True")
}

/// Reports whether there is a condition of that type with the status `False`.
pub fn is_status_condition_false(conditions: &[Condition], type_: &str) -> bool {
    is_status_condition(conditions, type_, "False")
}

/// Reports whether there is a condition of that type with that status.
///
/// ```
/// use kubewright_controller::conditions::{
///     condition, is_status_condition, is_status_condition_false, is_status_condition_true,
/// };
///
/// let conditions = [condition("Ready", "Unknown", "Starting", "")];
/// assert!(is_status_condition(&conditions, "Ready", "Unknown"));
/// assert!(!is_status_condition_true(&conditions, "Ready"));
/// assert!(!is_status_condition_false(&conditions, "Ready"));
/// ```
pub fn is_status_condition(conditions: &[Condition], type_: &str, status: &str) -> bool {
    find_status_condition(conditions, type_).is_some_and(|condition| condition.status == status)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn ready(status: &str, reason: &str) -> Condition {
        condition("Ready", status, reason, "")
    }

    #[test]
    fn only_a_change_of_status_is_a_transition() {
        let mut all = Vec::new();
        assert!(set_status_condition_at(
            &mut all,
            ready("True", "A"),
            at(10)
        ));
        assert_eq!(all[0].last_transition_time.0, at(10));
        assert!(set_status_condition_at(
            &mut all,
            ready("True", "B"),
            at(20)
        ));
        assert_eq!(all[0].reason, "B");
        assert_eq!(all[0].last_transition_time.0, at(10));
        assert!(!set_status_condition_at(
            &mut all,
            ready("True", "B"),
            at(30)
        ));
        assert!(set_status_condition_at(
            &mut all,
            ready("False", "B"),
            at(40)
        ));
        assert_eq!(all[0].last_transition_time.0, at(40));
        assert!(is_status_condition_false(&all, "Ready"));
        assert!(!is_status_condition_true(&all, "Ready"));
    }

    #[test]
    fn a_time_that_is_given_is_kept() {
        let mut all = Vec::new();
        let mut given = ready("True", "A");
        given.last_transition_time = Time(at(5));
        set_status_condition_at(&mut all, given.clone(), at(10));
        assert_eq!(all[0].last_transition_time.0, at(5));
        given.status = "False".into();
        given.last_transition_time = Time(at(7));
        set_status_condition_at(&mut all, given, at(10));
        assert_eq!(all[0].last_transition_time.0, at(7));
    }

    #[test]
    fn a_generation_counts_as_a_change_and_conditions_can_be_removed() {
        let mut all = vec![ready("True", "A")];
        let mut next = ready("True", "A");
        next.observed_generation = Some(2);
        assert!(set_status_condition_at(&mut all, next, at(10)));
        assert_eq!(all.len(), 1);
        assert!(remove_status_condition(&mut all, "Ready"));
        assert!(!remove_status_condition(&mut all, "Ready"));
        assert!(find_status_condition(&all, "Ready").is_none());
    }
}
