//! Pods.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Condition, kind};

kind! {
    /// A pod.
    Pod, "", "v1", "pods", PodSpec, PodStatus
}

/// The spec of a pod.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodSpec {
    pub(crate) node_name: String,
    pub(crate) init_containers: Vec<Container>,
    pub(crate) volumes: Vec<Volume>,
}

/// A volume of a pod, and the claim that it refers to.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Volume {
    pub(crate) name: String,
    pub(crate) persistent_volume_claim: Option<ClaimSource>,
}

/// A reference to a claim.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClaimSource {
    pub(crate) claim_name: String,
}

/// A container.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Container {
    pub(crate) name: String,
    pub(crate) restart_policy: Option<String>,
}

/// The status of a pod.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodStatus {
    pub(crate) phase: String,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) container_statuses: Vec<ContainerStatus>,
    pub(crate) init_container_statuses: Vec<ContainerStatus>,
}

/// The status of a container.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContainerStatus {
    pub(crate) name: String,
    pub(crate) restart_count: i32,
}

impl Pod {
    /// Reports whether the pod has neither ended nor been deleted.
    pub(crate) fn is_active(&self) -> bool {
        !self.is_terminal() && self.metadata.deletion_timestamp.is_none()
    }

    /// Reports whether the pod has been deleted and has not ended.
    pub(crate) fn is_terminating(&self) -> bool {
        !self.is_terminal() && self.metadata.deletion_timestamp.is_some()
    }

    /// Reports whether the pod has ended.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Returns the condition `Ready` if it is true.
    pub(crate) fn ready(&self) -> Option<&Condition> {
        Condition::find(&self.status.conditions, "Ready").filter(|ready| ready.is_true())
    }

    /// Returns the time at which the pod became ready.
    pub(crate) fn ready_since(&self) -> Option<Timestamp> {
        Some(self.ready()?.last_transition_time.as_ref()?.0)
    }

    /// Reports whether the pod has been ready for that long.
    pub(crate) fn is_available(&self, min_ready_seconds: i32, now: Timestamp) -> bool {
        match self.ready() {
            None => false,
            Some(_) if min_ready_seconds <= 0 => true,
            Some(_) => self
                .available_at(min_ready_seconds)
                .is_some_and(|at| at <= now),
        }
    }

    /// Returns the time from which the pod is available, if it stays ready.
    pub(crate) fn available_at(&self, min_ready_seconds: i32) -> Option<Timestamp> {
        let wait = jiff::SignedDuration::from_secs(i64::from(min_ready_seconds));
        self.ready_since()?.checked_add(wait).ok()
    }

    /// Returns the value of a label.
    pub(crate) fn label(&self, name: &str) -> Option<&str> {
        let labels = self.metadata.labels.as_ref()?;
        labels.get(name).map(String::as_str)
    }
}
