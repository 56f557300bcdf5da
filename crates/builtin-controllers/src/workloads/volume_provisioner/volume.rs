//! Volumes to delete.

use k8s_openapi::api::core::v1::PersistentVolume;
use kube::ResourceExt;
use kubewright_controller::{Action, Context, Request, Result, events::Recorder};

use super::PROVISIONER;
use crate::workloads::volume_binder::PROVISIONED_BY;

/// Deletes a released volume, if its reclaim policy says so.
pub(super) async fn sync(context: &Context<(), Recorder>, request: &Request) -> Result<Action> {
    let Some(volume) = context.get::<PersistentVolume>(request).await? else {
        return Ok(Action::done());
    };
    let is_ours = volume
        .annotations()
        .get(PROVISIONED_BY)
        .is_some_and(|by| by == PROVISIONER);
    let phase = volume
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    let spec = volume.spec.as_ref();
    let policy = spec.and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref());
    let is_over = phase == Some("Released") && policy == Some("Delete");
    if is_ours && is_over && volume.metadata.deletion_timestamp.is_none() {
        context.client().delete(&*volume).await?;
    }
    Ok(Action::done())
}
