//! `persistentvolume-protection-controller`: keeps a deleted PersistentVolume while it is bound to a claim.

use k8s_openapi::api::core::v1::PersistentVolume;
use kubewright_controller::{Context, Manager, ManagerError, Request, Result};

use super::Protection;
use crate::names::Name;

/// The finalizer of volumes.
const FINALIZER: &str = "kubernetes.io/pv-protection";

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    Protection::<PersistentVolume>::new(manager, Name::VolumeProtection, FINALIZER)
        .build(manager, is_bound)
}

async fn is_bound(context: Context, request: Request) -> Result<bool> {
    let volume: Option<PersistentVolume> = context.client().get_live(request.key()).await?;
    let phase = volume.and_then(|volume| volume.status?.phase);
    Ok(phase.as_deref() == Some("Bound"))
}
