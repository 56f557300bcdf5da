//! Jobs.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Condition, Template, kind};

kind! {
    /// A Job.
    Job, "batch", "v1", "jobs", JobSpec, JobStatus
}

/// The spec of a Job.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct JobSpec {
    pub(crate) parallelism: Option<i32>,
    pub(crate) completions: Option<i32>,
    pub(crate) active_deadline_seconds: Option<i64>,
    pub(crate) backoff_limit: Option<i32>,
    pub(crate) backoff_limit_per_index: Option<i32>,
    pub(crate) max_failed_indexes: Option<i32>,
    pub(crate) selector: Value,
    pub(crate) template: Template,
    pub(crate) ttl_seconds_after_finished: Option<i32>,
    pub(crate) completion_mode: Option<String>,
    pub(crate) suspend: bool,
    pub(crate) pod_failure_policy: Option<PodFailurePolicy>,
    pub(crate) success_policy: Option<SuccessPolicy>,
    pub(crate) pod_replacement_policy: Option<String>,
    pub(crate) managed_by: Option<String>,
}

/// The treatment of failed pods.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct PodFailurePolicy {
    pub(crate) rules: Vec<FailureRule>,
}

/// A rule for failed pods.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FailureRule {
    pub(crate) action: String,
    pub(crate) on_exit_codes: Option<OnExitCodes>,
    pub(crate) on_pod_conditions: Vec<ConditionPattern>,
}

/// Exit codes that a rule is for.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct OnExitCodes {
    pub(crate) container_name: Option<String>,
    pub(crate) operator: String,
    pub(crate) values: Vec<i32>,
}

/// A condition that a rule is for.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct ConditionPattern {
    pub(crate) r#type: String,
    pub(crate) status: String,
}

/// The successes that suffice.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct SuccessPolicy {
    pub(crate) rules: Vec<SuccessRule>,
}

/// Indexes, or a number of them, that suffice.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SuccessRule {
    pub(crate) succeeded_indexes: Option<String>,
    pub(crate) succeeded_count: Option<i32>,
}

/// The status of a Job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct JobStatus {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) start_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) completion_time: Option<Time>,
    pub(crate) active: i32,
    pub(crate) succeeded: i32,
    pub(crate) failed: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) terminating: Option<i32>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) completed_indexes: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failed_indexes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) uncounted_terminated_pods: Option<Uncounted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ready: Option<i32>,
}

/// The UIDs of pods that have ended and are not counted yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Uncounted {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) succeeded: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) failed: Vec<String>,
}

/// The end of a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobEnd {
    Complete,
    Failed,
}

impl JobEnd {
    /// Returns the type of the condition.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "Complete",
            Self::Failed => "Failed",
        }
    }
}

impl Job {
    /// Returns the condition of a Job that has ended.
    pub(crate) fn finished(&self) -> Option<(JobEnd, &Condition)> {
        self.status.conditions.iter().find_map(|condition| {
            let end = match condition.r#type.as_str() {
                "Complete" => JobEnd::Complete,
                "Failed" => JobEnd::Failed,
                _ => return None,
            };
            condition.is_true().then_some((end, condition))
        })
    }

    /// Reports whether each pod has an index.
    pub(crate) fn is_indexed(&self) -> bool {
        self.spec.completion_mode.as_deref() == Some("Indexed")
    }

    /// Returns the number of indexes.
    pub(crate) fn completions(&self) -> usize {
        usize::try_from(self.spec.completions.unwrap_or(1)).unwrap_or(0)
    }

    /// Reports whether another controller takes care of the Job.
    pub(crate) fn is_managed_elsewhere(&self) -> bool {
        let manager = self.spec.managed_by.as_deref();
        manager.is_some_and(|manager| manager != "kubernetes.io/job-controller")
    }

    /// Reports whether a pod is replaced only once it has failed, not while it terminates.
    pub(crate) fn only_replaces_failed(&self) -> bool {
        self.spec.pod_replacement_policy.as_deref() == Some("Failed")
            || self.spec.pod_failure_policy.is_some()
    }
}
