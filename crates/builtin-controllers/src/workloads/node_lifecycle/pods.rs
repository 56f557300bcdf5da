//! Pods of silent nodes, which are not ready.

use kube::ResourceExt;
use kube::api::Patch;
use kubewright_client::ErrorExt;
use kubewright_controller::{Action, Context, Request, Result, events::EventType};
use serde_json::json;

use super::Lifecycle;
use crate::workloads::{
    objects::{Condition, Node, Pod, whole_seconds},
    pods::on_node,
};

/// Checks a pod that appeared on a node that is not ready.
pub(super) async fn sync(context: &Context<(), Lifecycle>, request: &Request) -> Result<Action> {
    let Some(pod) = context.get::<Pod>(request).await? else {
        return Ok(Action::done());
    };
    let node = Request::cluster_scoped(&pod.spec.node_name);
    let node = context.get::<Node>(&node).await?;
    // A node without a status is new.
    let is_silent = node.is_some_and(|node| node.readiness().is_some_and(|ready| !ready.is_true()));
    if is_silent {
        mark(context, &pod).await?;
    }
    Ok(Action::done())
}

/// Marks the pods of a node as not ready.
pub(super) async fn mark_all(context: &Context<(), Lifecycle>, node: &str) -> Result<()> {
    for pod in on_node(context.client(), node).await? {
        mark(context, &pod).await?;
    }
    Ok(())
}

/// Marks a pod that says anything about its readiness as not ready.
async fn mark(context: &Context<(), Lifecycle>, pod: &Pod) -> Result<()> {
    let ready = Condition::find(&pod.status.conditions, "Ready");
    if ready.is_none_or(|ready| ready.status == "False") {
        return Ok(());
    }
    let now = whole_seconds(context.now());
    let condition = json!({"type": "Ready", "status": "False", "lastTransitionTime": now});
    let patch = Patch::Strategic(json!({
        "metadata": {"uid": pod.metadata.uid},
        "status": {"conditions": [condition]},
    }));
    let pods = context
        .client()
        .api::<Pod>(&pod.namespace().unwrap_or_default());
    match pods
        .patch_status(&pod.name_any(), &Default::default(), &patch)
        .await
    {
        Err(error) if error.is_not_found() => return Ok(()),
        patched => drop(patched?),
    }
    let recorder = &context.state().recorder;
    recorder.event(pod, EventType::Warning, "NodeNotReady", "Node is not ready");
    Ok(())
}
