//! DaemonSets.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Template, kind};

kind! {
    /// A DaemonSet.
    DaemonSet, "apps", "v1", "daemonsets", DaemonSetSpec, DaemonSetStatus
}

/// The spec of a DaemonSet.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DaemonSetSpec {
    pub(crate) selector: Value,
    pub(crate) template: Template,
    pub(crate) update_strategy: DaemonStrategy,
    pub(crate) min_ready_seconds: i32,
    pub(crate) revision_history_limit: Option<i32>,
}

/// The way in which pods are replaced.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DaemonStrategy {
    pub(crate) r#type: String,
    pub(crate) rolling_update: DaemonLimits,
}

/// The limits of a rolling update: numbers or percentages.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DaemonLimits {
    pub(crate) max_unavailable: Value,
    pub(crate) max_surge: Value,
}

/// The status of a DaemonSet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DaemonSetStatus {
    pub(crate) current_number_scheduled: i32,
    pub(crate) number_misscheduled: i32,
    pub(crate) desired_number_scheduled: i32,
    pub(crate) number_ready: i32,
    pub(crate) observed_generation: i64,
    pub(crate) updated_number_scheduled: i32,
    pub(crate) number_available: i32,
    pub(crate) number_unavailable: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) collision_count: Option<i32>,
}

impl DaemonSet {
    /// Returns the generation of the template, as an older release counted it.
    pub(crate) fn template_generation(&self) -> Option<i64> {
        let annotations = self.metadata.annotations.as_ref()?;
        let text = annotations.get("deprecated.daemonset.template.generation")?;
        text.parse().ok()
    }
}
