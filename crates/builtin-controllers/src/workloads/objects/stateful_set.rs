//! StatefulSets and their claims.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Template, kind};

kind! {
    /// A StatefulSet.
    StatefulSet, "apps", "v1", "statefulsets", StatefulSetSpec, StatefulSetStatus
}

kind! {
    /// A PersistentVolumeClaim, of which only the metadata matters.
    PersistentVolumeClaim, "", "v1", "persistentvolumeclaims", Value, Value
}

/// The spec of a StatefulSet.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct StatefulSetSpec {
    pub(crate) replicas: Option<i32>,
    pub(crate) selector: Value,
    pub(crate) template: Template,
    pub(crate) service_name: String,
    pub(crate) pod_management_policy: String,
    pub(crate) update_strategy: UpdateStrategy,
    pub(crate) revision_history_limit: Option<i32>,
    pub(crate) min_ready_seconds: i32,
    pub(crate) ordinals: Ordinals,
    pub(crate) volume_claim_templates: Vec<Value>,
    pub(crate) persistent_volume_claim_retention_policy: RetentionPolicy,
}

/// The way in which pods are replaced.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct UpdateStrategy {
    pub(crate) r#type: String,
    pub(crate) rolling_update: Option<Partition>,
}

/// The part of the pods that is replaced.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Partition {
    pub(crate) partition: i32,
}

/// The first ordinal.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Ordinals {
    pub(crate) start: i32,
}

/// The policies of claims.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RetentionPolicy {
    pub(crate) when_deleted: Retention,
    pub(crate) when_scaled: Retention,
}

/// The fate of claims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum Retention {
    #[default]
    Retain,
    Delete,
}

/// The status of a StatefulSet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct StatefulSetStatus {
    pub(crate) observed_generation: i64,
    pub(crate) replicas: i32,
    pub(crate) ready_replicas: i32,
    pub(crate) available_replicas: i32,
    pub(crate) current_replicas: i32,
    pub(crate) updated_replicas: i32,
    pub(crate) current_revision: String,
    pub(crate) update_revision: String,
    pub(crate) collision_count: Option<i32>,
}

impl StatefulSet {
    /// Returns the desired number of pods.
    pub(crate) fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }

    /// Returns the ordinals of the pods that there should be.
    pub(crate) fn ordinals(&self) -> std::ops::Range<i32> {
        let start = self.spec.ordinals.start;
        start..start.saturating_add(self.replicas())
    }

    /// Reports whether pods are created and deleted one after the other.
    pub(crate) fn is_ordered(&self) -> bool {
        self.spec.pod_management_policy != "Parallel"
    }
}
