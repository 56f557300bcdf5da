//! PodDisruptionBudgets.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Condition, kind};

kind! {
    /// A PodDisruptionBudget.
    PodDisruptionBudget, "policy", "v1", "poddisruptionbudgets", BudgetSpec, PodDisruptionBudgetStatus
}

/// The spec of a PodDisruptionBudget: a selector, and one of two numbers or percentages.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct BudgetSpec {
    pub(crate) selector: Value,
    pub(crate) min_available: Option<Value>,
    pub(crate) max_unavailable: Option<Value>,
}

/// The status of a PodDisruptionBudget.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodDisruptionBudgetStatus {
    pub(crate) observed_generation: i64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) disrupted_pods: BTreeMap<String, Time>,
    pub(crate) disruptions_allowed: i32,
    pub(crate) current_healthy: i32,
    pub(crate) desired_healthy: i32,
    pub(crate) expected_pods: i32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<Condition>,
}
