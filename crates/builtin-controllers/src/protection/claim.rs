//! `persistentvolumeclaim-protection-controller`: keeps a deleted PersistentVolumeClaim while a scheduled pod uses it.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Volume};
use kube::{ResourceExt, api::ListParams};
use kubewright_controller::{
    Context, Manager, ManagerError, Request, Result, owner::is_controlled_by,
};

use super::Protection;
use crate::names::Name;

/// The finalizer of claims.
const FINALIZER: &str = "kubernetes.io/pvc-protection";

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    Protection::<PersistentVolumeClaim>::new(manager, Name::ClaimProtection, FINALIZER)
        .used_by::<Pod>(|pod| pod.deletion_timestamp().is_some())
        .build(manager, is_used)
}

async fn is_used(context: Context, request: Request) -> Result<bool> {
    let client = context.client();
    let claim: Option<PersistentVolumeClaim> = client.get_live(request.key()).await?;
    let Some(claim) = claim else {
        return Ok(false);
    };
    let pods = client.api::<Pod>(request.namespace().unwrap_or_default());
    let pods = pods.list(&ListParams::default()).await?;
    Ok(pods.iter().any(|pod| uses(pod, &claim)))
}

/// Reports whether a pod uses a claim. A pod that is not scheduled does not: no kubelet starts a pod with a deleted claim.
/// One that has terminated does, until it is deleted.
fn uses(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    let Some(spec) = &pod.spec else {
        return false;
    };
    let is_scheduled = spec
        .node_name
        .as_deref()
        .is_some_and(|node| !node.is_empty());
    let mounts = |volume: &Volume| {
        let claimed = volume.persistent_volume_claim.as_ref();
        claimed.is_some_and(|source| source.claim_name == claim.name_any())
            || volume.ephemeral.is_some() && !is_shut_down(pod) && is_made_for(claim, pod, volume)
    };
    is_scheduled && spec.volumes.iter().flatten().any(mounts)
}

/// Reports whether a claim was created for an ephemeral volume of a pod.
fn is_made_for(claim: &PersistentVolumeClaim, pod: &Pod, volume: &Volume) -> bool {
    claim.name_any() == format!("{}-{}", pod.name_any(), volume.name)
        && is_controlled_by(claim, pod)
}

/// Reports whether the kubelet is done with a pod, or the pod was deleted by force.
fn is_shut_down(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
        && pod.metadata.deletion_grace_period_seconds == Some(0)
}
