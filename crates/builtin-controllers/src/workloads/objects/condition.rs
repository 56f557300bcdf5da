//! Conditions of a status. A condition that changes moves to the end of the list.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

/// A condition of any workload, or of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Condition {
    pub(crate) r#type: String,
    pub(crate) status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_probe_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_heartbeat_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_update_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_transition_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) observed_generation: Option<i64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) message: String,
}

impl Condition {
    /// Returns a condition that changes now.
    pub(crate) fn new(
        type_: &str,
        status: &str,
        reason: &str,
        message: impl Into<String>,
        now: Time,
    ) -> Self {
        Self {
            r#type: type_.to_owned(),
            status: status.to_owned(),
            last_transition_time: Some(now),
            reason: reason.to_owned(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// Finds a condition.
    pub(crate) fn find<'a>(conditions: &'a [Self], type_: &str) -> Option<&'a Self> {
        conditions
            .iter()
            .find(|condition| condition.r#type == type_)
    }

    /// Removes a condition.
    pub(crate) fn remove(conditions: &mut Vec<Self>, type_: &str) {
        conditions.retain(|condition| condition.r#type != type_);
    }

    /// Adds or replaces a condition, unless there is one with the same status and reason. The time of its transition stays
    /// if the status does.
    pub(crate) fn set(conditions: &mut Vec<Self>, mut condition: Self) {
        if let Some(current) = Self::find(conditions, &condition.r#type)
            && current.status == condition.status
        {
            if current.reason == condition.reason {
                return;
            }
            condition.last_transition_time = current.last_transition_time.clone();
        }
        Self::remove(conditions, &condition.r#type);
        conditions.push(condition);
    }

    pub(crate) fn is_true(&self) -> bool {
        self.status == "True"
    }
}
