//! The count of pods that have ended, exactly once each.
//!
//! A pod keeps its finalizer until its UID is in the status; when the finalizer is gone, the UID becomes a number. Whenever
//! the controller stops, the next pass continues from the status and the finalizers.

use std::{collections::HashSet, sync::Arc};

use futures_util::future::join_all;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubewright_client::Error;
use kubewright_controller::{Client, Result};
use serde_json::{Value, json};

use super::{
    FINALIZER,
    indexed::index_of,
    manage::remove_finalizer,
    pass::{FAILURE_TARGET, Pass, SUCCESS_CRITERIA_MET},
    policy::{is_failed, verdict},
};
use crate::workloads::objects::{Condition, Draft, Job, JobStatus, Pod};

/// The maximum number of UIDs in the status.
const MAX_UNCOUNTED: usize = 500;

/// Writes the status of one Job, several times in a pass.
pub(super) struct StatusWriter<'a> {
    client: &'a Client,
    metadata: ObjectMeta,
    body: Value,
}

impl<'a> StatusWriter<'a> {
    pub(super) fn new(client: &'a Client, metadata: ObjectMeta, body: Value) -> Self {
        Self {
            client,
            metadata,
            body,
        }
    }

    async fn write(&mut self, status: &JobStatus) -> std::result::Result<(), Error> {
        self.body["status"] = json!(status);
        let draft = Draft::<Job>::new(self.metadata.clone(), self.body.clone());
        let written = self.client.replace_status(&draft).await?;
        self.body["metadata"]["resourceVersion"] = json!(written.metadata.resource_version);
        self.metadata = written.metadata;
        Ok(())
    }
}

/// The progress of a Job's status.
#[derive(Debug, Default)]
pub(super) struct Tracked {
    /// The condition with which the Job has ended.
    pub(super) ended: Option<Condition>,
    /// Whether the status was written, and with it the failures that delay replacements.
    pub(super) is_flushed: bool,
}

/// Counts pods that have ended, and writes the status. The Job has ended once nothing is left to count and no pod terminates.
pub(super) async fn track(
    writer: &mut StatusWriter<'_>,
    pass: &mut Pass<'_>,
    mut is_changed: bool,
) -> Result<Tracked> {
    let mut tracked = Tracked::default();
    let mut with_finalizer: HashSet<String> = pass
        .pods
        .iter()
        .filter(|pod| pod.has_finalizer(FINALIZER))
        .map(|pod| pod.uid().to_owned())
        .collect();
    is_changed |= count_released(&mut pass.status, &with_finalizer);
    let (released, is_full, has_new) = collect(pass);
    is_changed |= has_new;
    is_changed |= announce_end(pass);
    if is_changed {
        writer.write(&pass.status).await?;
        tracked.is_flushed = true;
        is_changed = false;
    }
    let removals = released
        .iter()
        .map(|pod| remove_finalizer(writer.client, pod));
    let mut failure = None;
    for (pod, outcome) in released.iter().zip(join_all(removals).await) {
        match outcome {
            Ok(()) => drop(with_finalizer.remove(pod.uid())),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    is_changed |= count_released(&mut pass.status, &with_finalizer);
    if let Some(error) = failure {
        if is_changed {
            writer.write(&pass.status).await?;
        }
        return Err(error.into());
    }
    tracked.ended = match is_full {
        true => None,
        false => enact(pass),
    };
    if is_changed || tracked.ended.is_some() {
        writer.write(&pass.status).await?;
    }
    Ok(tracked)
}

/// Turns the UIDs of pods without finalizers into numbers. Returns whether there were any.
fn count_released(status: &mut JobStatus, with_finalizer: &HashSet<String>) -> bool {
    let uncounted = status.uncounted_terminated_pods.get_or_insert_default();
    let released = |uids: &mut Vec<String>| {
        let before = uids.len();
        uids.retain(|uid| with_finalizer.contains(uid));
        i32::try_from(before - uids.len()).unwrap_or(i32::MAX)
    };
    let succeeded = released(&mut uncounted.succeeded);
    let failed = released(&mut uncounted.failed);
    status.succeeded += succeeded;
    status.failed += failed;
    succeeded + failed > 0
}

/// Adds pods that have ended to the status. Returns those whose finalizers may go, whether the status has room for no more,
/// and whether it changed.
fn collect(pass: &mut Pass<'_>) -> (Vec<Arc<Pod>>, bool, bool) {
    let (is_indexed, completions) = (pass.job.is_indexed(), pass.job.completions());
    let mut is_changed = false;
    let mut is_full = false;
    let mut released = Vec::new();
    let mut indexes = Vec::new();
    let mut uncounted = pass
        .status
        .uncounted_terminated_pods
        .take()
        .unwrap_or_default();
    let tracked = pass.pods.iter().filter(|pod| pod.has_finalizer(FINALIZER));
    for pod in tracked {
        let is_failed = is_failed(pass.job, pod);
        if !may_go(pass, pod, is_failed) {
            continue;
        }
        released.push(pod.clone());
        let index = index_of(pod).filter(|index| *index < completions);
        let is_known = |uids: &[String]| uids.iter().any(|uid| uid == pod.uid());
        if pod.status.phase == "Succeeded" && !is_known(&pass.uncounted.failed) {
            if is_indexed {
                let new = index.filter(|index| !pass.succeeded_before.has(*index));
                is_changed |= new.is_some();
                indexes.extend(new);
            } else if !is_known(&pass.uncounted.succeeded) {
                uncounted.succeeded.push(pod.uid().to_owned());
                is_changed = true;
            }
        } else if (is_failed || has_failed(pass))
            && !is_known(&pass.uncounted.failed)
            && (!is_indexed || index.is_some())
            && verdict(pass.job, pod).counts()
        {
            uncounted.failed.push(pod.uid().to_owned());
            is_changed = true;
        }
        if indexes.len() + uncounted.succeeded.len() + uncounted.failed.len() >= MAX_UNCOUNTED {
            is_full = true;
            break;
        }
    }
    pass.status.uncounted_terminated_pods = Some(uncounted);
    if is_indexed {
        is_changed |= note_indexes(pass, indexes);
    }
    (released, is_full, is_changed)
}

/// Reports whether the finalizer of a pod may go.
fn may_go(pass: &Pass<'_>, pod: &Pod, is_failed: bool) -> bool {
    if pass.job.metadata.deletion_timestamp.is_some()
        || pass.end.is_some()
        || pod.status.phase == "Succeeded"
    {
        return true;
    }
    let is_delayed = || {
        let delayed = index_of(pod).and_then(|index| pass.delayed.get(&index));
        delayed.is_some_and(|delayed| delayed.uid() == pod.uid())
    };
    is_failed && !is_delayed()
}

/// Reports whether the Job ends with a failure, so that all pods that are left count as failed.
fn has_failed(pass: &Pass<'_>) -> bool {
    let end = pass.end.as_ref();
    end.is_some_and(|end| end.r#type != SUCCESS_CRITERIA_MET)
}

fn note_indexes(pass: &mut Pass<'_>, new: Vec<usize>) -> bool {
    pass.succeeded_indexes = pass.succeeded_indexes.with(new);
    let completed = pass.succeeded_indexes.to_string();
    let failed = pass.failed_indexes.as_ref().map(ToString::to_string);
    let status = &mut pass.status;
    let is_changed = completed != status.completed_indexes || failed != status.failed_indexes;
    status.succeeded = i32::try_from(pass.succeeded_indexes.len()).unwrap_or(i32::MAX);
    status.completed_indexes = completed;
    status.failed_indexes = failed;
    is_changed
}

/// Adds the condition that announces the end, and prepares the one of the end. Returns whether it is new.
fn announce_end(pass: &mut Pass<'_>) -> bool {
    let Some(end) = pass.end.take() else {
        return false;
    };
    let final_ = match end.r#type.as_str() {
        FAILURE_TARGET => "Failed",
        SUCCESS_CRITERIA_MET => "Complete",
        _ => {
            pass.end = Some(end);
            return false;
        }
    };
    pass.end = Some(pass.condition(final_, &end.reason, &end.message));
    let is_new = Condition::find(&pass.status.conditions, &end.r#type).is_none();
    if is_new {
        pass.status.conditions.push(end);
    }
    is_new
}

/// Adds the condition of the end if nothing is left to count and no pod terminates.
fn enact(pass: &mut Pass<'_>) -> Option<Condition> {
    let end = pass.end.clone()?;
    let uncounted = pass.status.uncounted_terminated_pods.as_ref();
    let is_counted = uncounted.is_none_or(|u| u.succeeded.is_empty() && u.failed.is_empty());
    if !is_counted || pass.terminating > 0 {
        return None;
    }
    pass.set_condition(&end.r#type, "True", &end.reason, &end.message);
    if end.r#type == "Complete" {
        pass.status.completion_time = end.last_transition_time.clone();
    }
    Some(end)
}
