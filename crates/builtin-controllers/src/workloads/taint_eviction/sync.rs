//! One pass over a pod.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
};
use kubewright_client::ErrorExt;
use kubewright_controller::{Action, Context, Request, Result, events::EventType};
use kubewright_informer::Key;
use serde_json::json;

use super::{Eviction, Evictions, taints_of, tolerance::Tolerance};
use crate::workloads::objects::{Condition, Node, Pod, whole_seconds};

pub(super) async fn sync(context: &Context<(), Evictions>, request: &Request) -> Result<Action> {
    let key = request.key();
    let Some(pod) = context.get::<Pod>(request).await? else {
        cancel(context, key);
        return Ok(Action::done());
    };
    let now = context.now();
    let node = Key::new(None, &pod.spec.node_name);
    // On a node that is gone, what was scheduled stays so.
    if let Some(node) = context.client().get_key::<Node>(&node).await? {
        let taints = taints_of(&node);
        if taints.is_empty() {
            cancel(context, key);
            return Ok(Action::done());
        }
        match Tolerance::of(&pod.spec.tolerations, &taints) {
            Tolerance::Forever => {
                cancel(context, key);
                return Ok(Action::done());
            }
            Tolerance::Not => hasten(context, key, now),
            Tolerance::For(time) => {
                let end = now.saturating_add(time).unwrap_or(now);
                let mut scheduled = context.state().scheduled.lock();
                scheduled.entry(key.clone()).or_insert(Eviction::At(end));
            }
        }
    }
    let scheduled = context.state().scheduled.lock().get(key).copied();
    match scheduled {
        None | Some(Eviction::Done) => Ok(Action::done()),
        Some(Eviction::At(end)) if end > now => {
            let left = Duration::try_from(end.duration_since(now)).unwrap_or_default();
            Ok(Action::requeue_after(left))
        }
        Some(Eviction::At(_)) => {
            evict(context, key, now).await?;
            let mut scheduled = context.state().scheduled.lock();
            scheduled.insert(key.clone(), Eviction::Done);
            Ok(Action::done())
        }
    }
}

/// Schedules the eviction of a pod for now. One that was scheduled for later is cancelled.
fn hasten(context: &Context<(), Evictions>, key: &Key, now: Timestamp) {
    let scheduled = context.state().scheduled.lock().get(key).copied();
    match scheduled {
        Some(Eviction::At(end)) if end <= now => return,
        Some(Eviction::At(_)) => cancel(context, key),
        Some(Eviction::Done) => return,
        None => {}
    }
    let mut scheduled = context.state().scheduled.lock();
    scheduled.insert(key.clone(), Eviction::At(now));
}

/// Cancels the eviction of a pod, and records an event if it was pending.
fn cancel(context: &Context<(), Evictions>, key: &Key) {
    let before = context.state().scheduled.lock().remove(key);
    if let Some(Eviction::At(_)) = before {
        tell(context, key, format!("Cancelling deletion of Pod {key}"));
    }
}

async fn evict(context: &Context<(), Evictions>, key: &Key, now: Timestamp) -> Result<()> {
    tell(context, key, format!("Marking for deletion Pod {key}"));
    let Some(pod) = context.client().get_live::<Pod>(key).await? else {
        return Ok(());
    };
    let pods = context
        .client()
        .api::<Pod>(key.namespace().unwrap_or_default());
    let name = pod.name_any();
    let (reason, message) = (
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
    );
    let known = Condition::find(&pod.status.conditions, "DisruptionTarget");
    if known.is_none_or(|known| !known.is_true() || known.reason != reason) {
        let since = known.filter(|known| known.is_true());
        let since = since.and_then(|known| known.last_transition_time.clone());
        let condition = json!({
            "type": "DisruptionTarget", "status": "True", "reason": reason, "message": message,
            "lastTransitionTime": since.unwrap_or_else(|| whole_seconds(now)),
            "observedGeneration": pod.metadata.generation,
        });
        let patch = Patch::Strategic(json!({
            "metadata": {"uid": pod.metadata.uid},
            "status": {"conditions": [condition]},
        }));
        match pods
            .patch_status(&name, &PatchParams::default(), &patch)
            .await
        {
            Err(error) if error.is_not_found() => return Ok(()),
            patched => drop(patched?),
        }
    }
    match pods.delete(&name, &DeleteParams::default()).await {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

fn tell(context: &Context<(), Evictions>, key: &Key, message: String) {
    let pod = ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Pod".to_owned()),
        name: Some(key.name().to_owned()),
        namespace: key.namespace().map(str::to_owned),
        ..ObjectReference::default()
    };
    let recorder = &context.state().recorder;
    recorder.event_about(pod, EventType::Normal, "TaintManagerEviction", message);
}
