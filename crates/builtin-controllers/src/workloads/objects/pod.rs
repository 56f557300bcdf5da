//! Pods.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    pub(crate) hostname: String,
    pub(crate) subdomain: String,
    pub(crate) containers: Vec<Container>,
    pub(crate) init_containers: Vec<Container>,
    pub(crate) volumes: Vec<Volume>,
    pub(crate) affinity: Value,
    pub(crate) tolerations: Vec<Value>,
}

/// A volume of a pod, and the claim that it refers to or is to get.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Volume {
    pub(crate) name: String,
    pub(crate) persistent_volume_claim: Option<ClaimSource>,
    pub(crate) ephemeral: Option<Value>,
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
    pub(crate) ports: Vec<ContainerPort>,
}

/// A port of a container.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContainerPort {
    pub(crate) name: String,
    pub(crate) container_port: i32,
    pub(crate) protocol: String,
}

/// The status of a pod.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodStatus {
    pub(crate) phase: String,
    pub(crate) reason: String,
    #[serde(rename = "podIP")]
    pub(crate) pod_ip: String,
    #[serde(rename = "podIPs")]
    pub(crate) pod_ips: Vec<PodIp>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) container_statuses: Vec<ContainerStatus>,
    pub(crate) init_container_statuses: Vec<ContainerStatus>,
}

/// An address of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct PodIp {
    pub(crate) ip: String,
}

/// The status of a container.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContainerStatus {
    pub(crate) name: String,
    pub(crate) restart_count: i32,
    pub(crate) state: ContainerState,
}

/// The state of a container.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContainerState {
    pub(crate) terminated: Option<Terminated>,
}

/// The end of a container.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Terminated {
    pub(crate) exit_code: i32,
    pub(crate) finished_at: Option<Time>,
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

    /// Returns the names of the claims of the pod, those of ephemeral volumes included.
    pub(crate) fn claims(&self) -> impl Iterator<Item = String> {
        let name = self.metadata.name.as_deref().unwrap_or_default();
        self.spec.volumes.iter().filter_map(move |volume| {
            let named = volume.persistent_volume_claim.as_ref();
            let named = named.map(|source| source.claim_name.clone());
            let own = || format!("{name}-{}", volume.name);
            named.or_else(|| volume.ephemeral.is_some().then(own))
        })
    }

    /// Reports whether the pod has a finalizer.
    pub(crate) fn has_finalizer(&self, name: &str) -> bool {
        let mut finalizers = self.metadata.finalizers.iter().flatten();
        finalizers.any(|finalizer| finalizer == name)
    }

    /// Returns the UID.
    pub(crate) fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Returns an annotation.
    pub(crate) fn annotation(&self, name: &str) -> Option<&str> {
        let annotations = self.metadata.annotations.as_ref()?;
        annotations.get(name).map(String::as_str)
    }

    /// Returns the value of a label.
    pub(crate) fn label(&self, name: &str) -> Option<&str> {
        let labels = self.metadata.labels.as_ref()?;
        labels.get(name).map(String::as_str)
    }
}
