//! The status of a set of pods.

use std::sync::Arc;

use jiff::Timestamp;
use kube::{ResourceExt, core::Request as ApiRequest};
use kubewright_client::{Error, ErrorExt};
use kubewright_controller::{Context, Result, events::Recorder};
use serde_json::{Value, json};

use super::Replicated;
use crate::workloads::{
    objects::{Condition, Draft, Pod, SetStatus, whole_seconds},
    pods::message_of,
};

/// The condition of a set whose pods could not be created or deleted.
const REPLICA_FAILURE: &str = "ReplicaFailure";

/// The facts that the status is made from.
pub(super) struct Counts<'a> {
    pub(super) active: &'a [Arc<Pod>],
    pub(super) terminating: usize,
    pub(super) failure: Option<&'a Error>,
}

/// Returns the status. The condition of a failure is kept with its first message until there is no failure.
pub(super) fn calculate<K: Replicated>(set: &K, counts: &Counts<'_>, now: Timestamp) -> SetStatus {
    let count = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    let labels = set.spec().template.labels();
    let selector = set.selector();
    // The selector of most sets requires the labels of the template, so that every pod has them.
    let are_required = labels.iter().all(|(key, value)| {
        let required = selector.as_ref().and_then(|it| it.required_value(key));
        required == Some(value.as_str())
    });
    let has_labels = |pod: &&Arc<Pod>| {
        let mut labels = labels.iter();
        are_required || labels.all(|(key, value)| pod.label(key) == Some(value.as_str()))
    };
    let wait = set.spec().min_ready_seconds;
    let ready = counts.active.iter().filter(|pod| pod.ready().is_some());
    let ready: Vec<&Arc<Pod>> = ready.collect();
    let available = match wait {
        ..=0 => ready.len(),
        _ => {
            let available = ready.iter().filter(|pod| pod.is_available(wait, now));
            available.count()
        }
    };
    let mut status = set.status().clone();
    status.observed_generation = set.meta().generation.unwrap_or(0);
    status.replicas = count(counts.active.len());
    status.fully_labeled_replicas = count(counts.active.iter().filter(has_labels).count());
    status.ready_replicas = count(ready.len());
    status.available_replicas = count(available);
    status.terminating_replicas = K::COUNTS_TERMINATING.then(|| count(counts.terminating));
    let known = Condition::find(&status.conditions, REPLICA_FAILURE).is_some();
    match counts.failure {
        Some(error) if !known => {
            let wanted = set.spec().replicas.unwrap_or(1);
            let reason = match status.replicas < wanted {
                true => "FailedCreate",
                false => "FailedDelete",
            };
            let (message, now) = (message_of(error), whole_seconds(now));
            let condition = Condition::new(REPLICA_FAILURE, "True", reason, message, now);
            status.conditions.push(condition);
        }
        None if known => Condition::remove(&mut status.conditions, REPLICA_FAILURE),
        _ => {}
    }
    status
}

/// Writes the status onto an object.
pub(super) async fn write<K: Replicated>(
    context: &Context<(), Recorder>,
    mut body: Value,
    status: &SetStatus,
) -> std::result::Result<(), Error> {
    let metadata = serde_json::from_value(body["metadata"].clone());
    let metadata = metadata.map_err(|error| Error::Decode(error.to_string()))?;
    body["status"] = json!(status);
    let draft = Draft::<K>::new(metadata, body);
    context.client().update_status(&draft).await
}

/// Reads the object from the server, if it is still the same.
pub(super) async fn read_live<K: Replicated>(
    context: &Context<(), Recorder>,
    set: &K,
) -> Result<Option<Value>> {
    let objects = ApiRequest::new(K::url_path(&(), set.meta().namespace.as_deref()));
    let request = objects.get(&set.name_any(), &Default::default())?;
    match context.client().live().request::<Value>(request).await {
        Ok(live) => Ok((live["metadata"]["uid"] == json!(set.meta().uid)).then_some(live)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
