//! Conditions of pods that were to be disrupted and were not: after two minutes they are false.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::{
    ResourceExt,
    api::{Patch, PatchParams},
};
use kubewright_client::ErrorExt;
use kubewright_controller::{
    Action, Context, Controller, Handler, Manager, ManagerError, Predicate, Request, Result, Watch,
};
use serde_json::json;

use crate::{
    set::FIELD_MANAGER,
    workloads::objects::{Condition, Draft, Pod, whole_seconds},
};

/// The name of the queue.
const NAME: &str = "stale_pod_disruption";

/// The condition of a pod that is about to be deleted.
const DISRUPTION_TARGET: &str = "DisruptionTarget";

/// The time after which a pod that is still there is not about to be deleted.
const TIMEOUT: SignedDuration = SignedDuration::from_mins(2);

pub(super) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    let is_target = Predicate::typed(|pod: &Pod| target_of(pod).is_some());
    Controller::builder()
        .named(NAME)
        .field_manager(FIELD_MANAGER)
        .watch(Watch::of::<Pod>(Handler::for_object()).predicate(is_target))
        .build(manager, sync)?;
    Ok(())
}

/// Returns since when a pod is about to be deleted and was not. The kubelet's state is not considered.
fn target_of(pod: &Pod) -> Option<Timestamp> {
    let condition = Condition::find(&pod.status.conditions, DISRUPTION_TARGET)?;
    let is_stale = condition.is_true()
        && condition.reason != "TerminationByKubelet"
        && pod.metadata.deletion_timestamp.is_none()
        && !pod.is_terminal();
    let since = condition.last_transition_time.as_ref()?.0;
    is_stale.then_some(since)
}

async fn sync(context: Context, request: Request) -> Result<Action> {
    let Some(pod) = context.get::<Pod>(&request).await? else {
        return Ok(Action::done());
    };
    let Some(since) = target_of(&pod) else {
        return Ok(Action::done());
    };
    let now = context.now();
    let left = TIMEOUT.saturating_sub(now.duration_since(since));
    if left.is_positive() {
        let left = Duration::try_from(left).unwrap_or(Duration::ZERO);
        return Ok(Action::requeue_after(left));
    }
    let condition = json!({
        "type": DISRUPTION_TARGET, "status": "False", "reason": null, "message": null,
        "lastTransitionTime": whole_seconds(now),
    });
    let patch = json!({
        "metadata": {"uid": pod.metadata.uid},
        "status": {"conditions": [condition]},
    });
    let pods = context
        .client()
        .api::<Draft<Pod>>(request.namespace().unwrap_or_default());
    let (params, patch) = (PatchParams::default(), Patch::Strategic(patch));
    match pods.patch_status(&pod.name_any(), &params, &patch).await {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(Action::done()),
    }
}
