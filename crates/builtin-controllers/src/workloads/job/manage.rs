//! Creation and deletion of the pods of a Job.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use jiff::SignedDuration;
use kube::{
    ResourceExt,
    api::{Patch, PatchParams},
};
use kubewright_client::{Error, ErrorExt};
use kubewright_controller::Client;
use serde_json::json;

use super::{
    FINALIZER,
    backoff::{finished_at, left},
    indexed::{duplicates, failures_with, indexes_of, set_failures, set_index, with_variable},
    pass::Pass,
};
use crate::workloads::{
    objects::{Draft, Pod, Template, controller_reference},
    pods::{PodControl, by_use, pod_of, slow_start},
};

/// The maximum number of pods that are created or deleted in one pass.
const BURST: usize = 500;

/// The outcome of [`manage`].
#[derive(Default)]
pub(super) struct Managed {
    /// The time until a pod may be created.
    pub(super) wait: Option<Duration>,
    pub(super) failure: Option<Error>,
}

/// Deletes surplus pods or creates missing ones, and corrects the counts of the pass.
pub(super) async fn manage(control: &PodControl<'_>, pass: &mut Pass<'_>) -> Managed {
    let job = pass.job;
    let wanted = match job.spec.suspend {
        true => 0,
        false => wanted(pass),
    };
    let surplus = usize::try_from(pass.active_count.saturating_sub(wanted)).unwrap_or(0);
    let mut doomed = match job.spec.suspend {
        true => pass.active.clone(),
        false => choose(pass, surplus),
    };
    if !job.spec.suspend {
        doomed.truncate(BURST);
    }
    if job.spec.suspend || !doomed.is_empty() {
        let outcomes = join_all(doomed.iter().map(|pod| delete(control, pod))).await;
        return Managed {
            failure: note_deletions(pass, &doomed, outcomes),
            wait: None,
        };
    }
    let terminating = match job.only_replaces_failed() {
        true => pass.terminating,
        false => 0,
    };
    let missing = wanted
        .saturating_sub(terminating)
        .saturating_sub(pass.active_count);
    match usize::try_from(missing) {
        Ok(missing) if missing > 0 => create(control, pass, missing.min(BURST)).await,
        _ => Managed::default(),
    }
}

/// Deletes all active pods of a Job that has ended. They keep their finalizers until they are counted. Returns whether all
/// have been deleted, and the first failure.
pub(super) async fn delete_active(
    control: &PodControl<'_>,
    pass: &mut Pass<'_>,
) -> (bool, Option<Error>) {
    let active = pass.active.clone();
    let outcomes = join_all(active.iter().map(|pod| control.delete(pod))).await;
    let failure = note_deletions(pass, &active, outcomes);
    (failure.is_none(), failure)
}

/// Removes the finalizer of a pod. A missing pod is not an error.
pub(super) async fn remove_finalizer(client: &Client, pod: &Pod) -> Result<(), Error> {
    if !pod.has_finalizer(FINALIZER) {
        return Ok(());
    }
    let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZER]}});
    let pods = client.api::<Draft<Pod>>(&pod.namespace().unwrap_or_default());
    let (params, patch) = (PatchParams::default(), Patch::Strategic(patch));
    match pods.patch(&pod.name_any(), &params, &patch).await {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

/// Returns the number of pods that should be active.
fn wanted(pass: &Pass<'_>) -> i32 {
    let parallelism = pass.job.spec.parallelism.unwrap_or(1);
    match pass.job.spec.completions {
        // After a success, what runs may go on.
        None if pass.succeeded > 0 => pass.active_count,
        None => parallelism,
        Some(completions) => completions
            .saturating_sub(pass.succeeded)
            .min(parallelism)
            .max(0),
    }
}

/// Returns the pods to delete: of an indexed Job first those that are too many for an index.
fn choose(pass: &Pass<'_>, at_least: usize) -> Vec<Arc<Pod>> {
    let (mut doomed, mut left) = match pass.job.is_indexed() {
        true => duplicates(&pass.active, pass.job.completions()),
        false => (Vec::new(), pass.active.clone()),
    };
    if doomed.len() < at_least {
        left.sort_by(|a, b| by_use(a, b));
        let more = at_least - doomed.len();
        doomed.extend(left.into_iter().take(more));
    }
    doomed
}

async fn delete(control: &PodControl<'_>, pod: &Pod) -> Result<(), Error> {
    remove_finalizer(control.client, pod).await?;
    control.delete(pod).await
}

/// Corrects the counts of a pass after deletions, and returns the first failure.
fn note_deletions(
    pass: &mut Pass<'_>,
    pods: &[Arc<Pod>],
    outcomes: Vec<Result<(), Error>>,
) -> Option<Error> {
    let mut failure = None;
    for (pod, outcome) in pods.iter().zip(outcomes) {
        match outcome {
            Ok(()) => {
                pass.active_count -= 1;
                pass.terminating += 1;
                pass.ready -= i32::from(pod.ready().is_some());
            }
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure
}

async fn create(control: &PodControl<'_>, pass: &mut Pass<'_>, missing: usize) -> Managed {
    let job = pass.job;
    let per_index = job.spec.backoff_limit_per_index.is_some();
    let wait = |left: SignedDuration| Managed {
        wait: Some(Duration::try_from(left).unwrap_or(Duration::ZERO)),
        failure: None,
    };
    if let Some(left) = pass.backoff.left(pass.now).filter(|_| !per_index) {
        return wait(left);
    }
    let indexes = match job.is_indexed() {
        true => pending(pass, missing),
        false => vec![None; missing],
    };
    let indexes = match due(pass, indexes) {
        Ok(indexes) => indexes,
        Err(left) => return wait(left),
    };
    let template = match job.is_indexed() {
        true => with_variable(&job.spec.template),
        false => job.spec.template.clone(),
    };
    let pods: Vec<Draft<Pod>> = indexes
        .iter()
        .map(|index| pod(pass, &template, *index))
        .collect();
    let (created, failure) = slow_start(pods.len(), BURST, |i| control.create(&pods[i])).await;
    pass.active_count += i32::try_from(created).unwrap_or(i32::MAX);
    Managed {
        wait: None,
        failure,
    }
}

/// Returns the lowest indexes without a pod.
fn pending(pass: &Pass<'_>, count: usize) -> Vec<Option<usize>> {
    let mut taken = pass.succeeded_indexes.with(indexes_of(&pass.active));
    if pass.job.only_replaces_failed() {
        let terminating = pass.pods.iter().filter(|pod| pod.is_terminating());
        taken = taken.with(indexes_of(terminating));
    }
    if let Some(failed) = &pass.failed_indexes {
        taken = taken.merge(failed);
    }
    let indexes = taken.gaps(count, pass.job.completions());
    indexes.into_iter().map(Some).collect()
}

/// Returns the indexes whose pods may be created now; if there are none, the shortest time until one may.
fn due(pass: &Pass<'_>, indexes: Vec<Option<usize>>) -> Result<Vec<Option<usize>>, SignedDuration> {
    let left_of = |index: &Option<usize>| {
        let last = pass.delayed.get(index.as_ref()?)?;
        left(failures_with(last), finished_at(last), pass.now)
    };
    let shortest = indexes.iter().filter_map(left_of).min();
    let due: Vec<_> = indexes
        .into_iter()
        .filter(|index| left_of(index).is_none())
        .collect();
    match shortest {
        Some(left) if due.is_empty() => Err(left),
        _ => Ok(due),
    }
}

fn pod(pass: &Pass<'_>, template: &Template, index: Option<usize>) -> Draft<Pod> {
    let job = pass.job;
    let namespace = job.namespace().unwrap_or_default();
    let pod = pod_of(template, &namespace, &controller_reference(job));
    let (metadata, mut body) = pod.into_parts();
    let finalizers = body["metadata"]["finalizers"].as_array().cloned();
    let mut finalizers = finalizers.unwrap_or_default();
    if !finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
        finalizers.push(json!(FINALIZER));
    }
    body["metadata"]["finalizers"] = json!(finalizers);
    if let Some(index) = index {
        set_index(&job.name_any(), index, &mut body);
        if job.spec.backoff_limit_per_index.is_some() {
            let replaced = pass.delayed.get(&index);
            set_failures(job, replaced.map(|pod| &**pod), &mut body);
        }
    }
    Draft::new(metadata, body)
}
