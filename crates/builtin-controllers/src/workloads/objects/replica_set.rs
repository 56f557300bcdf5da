//! ReplicaSets and ReplicationControllers, which differ in their selectors only.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Condition, Template, kind};

kind! {
    /// A ReplicaSet.
    ReplicaSet, "apps", "v1", "replicasets", SetSpec, SetStatus
}

kind! {
    /// A ReplicationController.
    ReplicationController, "", "v1", "replicationcontrollers", SetSpec, SetStatus
}

/// The spec of a set of pods.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SetSpec {
    pub(crate) replicas: Option<i32>,
    pub(crate) min_ready_seconds: i32,
    /// A label selector; of a ReplicationController a map of labels.
    pub(crate) selector: Value,
    pub(crate) template: Template,
}

/// The status of a set of pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SetStatus {
    pub(crate) replicas: i32,
    pub(crate) fully_labeled_replicas: i32,
    pub(crate) ready_replicas: i32,
    pub(crate) available_replicas: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) terminating_replicas: Option<i32>,
    pub(crate) observed_generation: i64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<Condition>,
}

impl ReplicaSet {
    /// Returns the desired number of pods.
    pub(crate) fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }

    /// Returns an annotation.
    pub(crate) fn annotation(&self, name: &str) -> Option<&str> {
        let annotations = self.metadata.annotations.as_ref()?;
        annotations.get(name).map(String::as_str)
    }
}
