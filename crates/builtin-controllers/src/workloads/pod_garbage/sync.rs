//! One pod: on a node that is gone or out of service, or deleted and never scheduled.

use std::time::Duration;

use jiff::SignedDuration;
use kube::{
    ResourceExt,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
};
use kubewright_client::ErrorExt;
use kubewright_controller::{Action, Context, Request, Result};
use kubewright_informer::Key;
use serde_json::{Value, json};

use super::Gone;
use crate::workloads::objects::{Draft, Node, Pod, whole_seconds};

/// The time for which a node may be gone before its pods are deleted.
const QUARANTINE: SignedDuration = SignedDuration::from_secs(40);

/// The taint of a node that is out of service.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// Reports whether pods that terminate on a node are deleted by force.
pub(super) fn is_out_of_service(node: &Node) -> bool {
    !node.is_ready() && node.has_taint(OUT_OF_SERVICE)
}

pub(super) async fn sync(context: &Context<(), Gone>, request: &Request) -> Result<Action> {
    let client = context.client();
    let Some(pod) = context.get::<Pod>(request).await? else {
        return Ok(Action::done());
    };
    let is_deleted = pod.metadata.deletion_timestamp.is_some();
    let name = &pod.spec.node_name;
    if name.is_empty() {
        if is_deleted {
            delete(context, &pod, None).await?;
        }
        return Ok(Action::done());
    }
    let key = Key::new(None, name);
    let node = client.get_key::<Node>(&key).await?;
    if let Some(node) = node {
        context.state().0.lock().remove(name);
        if is_deleted && is_out_of_service(&node) {
            delete(context, &pod, None).await?;
        }
        return Ok(Action::done());
    }
    let now = context.now();
    let since = *context.state().0.lock().entry(name.clone()).or_insert(now);
    let left = QUARANTINE.saturating_sub(now.duration_since(since));
    if left.is_positive() {
        let left = Duration::try_from(left).unwrap_or(Duration::ZERO);
        return Ok(Action::requeue_after(left));
    }
    let live: Option<Node> = client.get_live(&key).await?;
    if live.is_none() {
        let condition = json!({
            "type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC",
            "message": "PodGC: node no longer exists", "lastTransitionTime": whole_seconds(now),
            "observedGeneration": pod.metadata.generation,
        });
        delete(context, &pod, Some(condition)).await?;
    }
    Ok(Action::done())
}

/// Marks a pod as failed unless it has ended, and deletes it by force.
pub(super) async fn delete(
    context: &Context<(), Gone>,
    pod: &Pod,
    condition: Option<Value>,
) -> Result<()> {
    let pods = context
        .client()
        .api::<Draft<Pod>>(&pod.namespace().unwrap_or_default());
    let name = pod.name_any();
    if !pod.is_terminal() {
        let mut status = json!({"phase": "Failed", "observedGeneration": pod.metadata.generation});
        if let Some(condition) = condition {
            status["conditions"] = json!([condition]);
        }
        let patch = json!({"metadata": {"uid": pod.metadata.uid}, "status": status});
        let (params, patch) = (PatchParams::default(), Patch::Strategic(patch));
        match pods.patch_status(&name, &params, &patch).await {
            // Another pod has the name now.
            Err(error) if error.is_not_found() || error.is_conflict() => return Ok(()),
            patched => drop(patched?),
        }
    }
    let mut params = DeleteParams::default().grace_period(0);
    params.preconditions = Some(Preconditions {
        uid: pod.metadata.uid.clone(),
        resource_version: None,
    });
    match pods.delete(&name, &params).await {
        Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error.into()),
        _ => Ok(()),
    }
}
