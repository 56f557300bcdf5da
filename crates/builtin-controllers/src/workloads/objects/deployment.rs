//! Deployments.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Condition, Template, kind};

kind! {
    /// A Deployment.
    Deployment, "apps", "v1", "deployments", DeploymentSpec, DeploymentStatus
}

/// The spec of a Deployment.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeploymentSpec {
    pub(crate) replicas: Option<i32>,
    pub(crate) min_ready_seconds: i32,
    pub(crate) selector: Value,
    pub(crate) template: Template,
    pub(crate) strategy: Strategy,
    pub(crate) paused: bool,
    pub(crate) progress_deadline_seconds: Option<i32>,
    pub(crate) revision_history_limit: Option<i32>,
}

/// The strategy of a Deployment.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Strategy {
    pub(crate) r#type: String,
    pub(crate) rolling_update: RollingUpdate,
}

/// The limits of a rolling update: numbers or percentages.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RollingUpdate {
    pub(crate) max_surge: Value,
    pub(crate) max_unavailable: Value,
}

/// The status of a Deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeploymentStatus {
    pub(crate) observed_generation: i64,
    pub(crate) replicas: i32,
    pub(crate) updated_replicas: i32,
    pub(crate) ready_replicas: i32,
    pub(crate) available_replicas: i32,
    pub(crate) unavailable_replicas: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) terminating_replicas: Option<i32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) collision_count: Option<i32>,
}

impl Deployment {
    /// Returns the desired number of pods.
    pub(crate) fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }

    /// Returns an annotation.
    pub(crate) fn annotation(&self, name: &str) -> Option<&str> {
        let annotations = self.metadata.annotations.as_ref()?;
        annotations.get(name).map(String::as_str)
    }

    /// Returns the deadline of progress, unless there is none.
    pub(crate) fn progress_deadline(&self) -> Option<i32> {
        self.spec
            .progress_deadline_seconds
            .filter(|deadline| *deadline != i32::MAX)
    }

    /// Returns the number of old revisions to keep, unless all are kept.
    pub(crate) fn history_limit(&self) -> Option<i32> {
        self.spec
            .revision_history_limit
            .filter(|limit| *limit != i32::MAX)
    }

    /// Reports whether pods are replaced gradually.
    pub(crate) fn is_rolling(&self) -> bool {
        self.spec.strategy.r#type == "RollingUpdate"
    }
}
