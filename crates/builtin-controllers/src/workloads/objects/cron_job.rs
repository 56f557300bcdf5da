//! CronJobs.

use k8s_openapi::{api::core::v1::ObjectReference, apimachinery::pkg::apis::meta::v1::Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kind;

kind! {
    /// A CronJob.
    CronJob, "batch", "v1", "cronjobs", CronJobSpec, CronJobStatus
}

/// The spec of a CronJob.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CronJobSpec {
    pub(crate) schedule: String,
    pub(crate) time_zone: Option<String>,
    pub(crate) starting_deadline_seconds: Option<i64>,
    pub(crate) concurrency_policy: String,
    pub(crate) suspend: bool,
    pub(crate) job_template: Value,
    pub(crate) successful_jobs_history_limit: Option<i32>,
    pub(crate) failed_jobs_history_limit: Option<i32>,
}

/// The status of a CronJob.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CronJobStatus {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) active: Vec<ObjectReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_schedule_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_successful_time: Option<Time>,
}

impl CronJobStatus {
    /// Reports whether a Job is active.
    pub(crate) fn has_active(&self, uid: Option<&str>) -> bool {
        self.active
            .iter()
            .any(|active| active.uid.as_deref() == uid)
    }

    /// Removes a Job from the active ones.
    pub(crate) fn remove_active(&mut self, uid: Option<&str>) {
        self.active.retain(|active| active.uid.as_deref() != uid);
    }
}
