//! One pass over a volume.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::ResourceExt;
use kubewright_controller::{Action, Context, Request, Result, events::EventType};
use kubewright_informer::Key;

use super::{
    Binder, PROVISIONED_BY,
    binding::unbind,
    matching::has_mode,
    status::{fail, phase_of, set_phase},
};

pub(super) async fn sync(context: &Context<(), Binder>, request: &Request) -> Result<Action> {
    let Some(volume) = context.get::<PersistentVolume>(request).await? else {
        return Ok(Action::done());
    };
    let claimant = volume
        .spec
        .as_ref()
        .and_then(|spec| spec.claim_ref.as_ref());
    let uid = claimant
        .and_then(|claim| claim.uid.as_deref())
        .unwrap_or_default();
    let Some(claimant) = claimant.filter(|_| !uid.is_empty()) else {
        // It is free, or meant for a claim that will bind it.
        set_phase(context, (*volume).clone(), "Available").await?;
        return Ok(Action::done());
    };
    let name = claimant.name.as_deref().unwrap_or_default();
    let key = Key::new(claimant.namespace.as_deref(), name);
    let is_it = |claim: &PersistentVolumeClaim| claim.metadata.uid.as_deref() == Some(uid);
    let cached = context
        .client()
        .get_key::<PersistentVolumeClaim>(&key)
        .await?;
    let claim = match cached.filter(|claim| is_it(claim)) {
        Some(claim) => Some((*claim).clone()),
        // The cache may be old, and what is reclaimed is lost.
        None => context.client().get_live(&key).await?.filter(is_it),
    };
    let Some(claim) = claim else {
        release(context, &volume).await?;
        return Ok(Action::done());
    };
    let named = claim
        .spec
        .as_ref()
        .and_then(|spec| spec.volume_name.as_deref());
    match named.unwrap_or_default() {
        "" if !has_mode(&claim, &volume) => tell_of_mode(context, &volume, &claim),
        // The pass over the claim completes the binding.
        "" => {}
        own if own == volume.name_any() => {
            set_phase(context, (*volume).clone(), "Bound").await?;
        }
        _ => {
            let is_provisioned = volume.annotations().contains_key(PROVISIONED_BY);
            match is_provisioned && policy_of(&volume) == "Delete" {
                true => release(context, &volume).await?,
                false => unbind(context, &volume).await?,
            }
        }
    }
    Ok(Action::done())
}

fn policy_of(volume: &PersistentVolume) -> &str {
    let spec = volume.spec.as_ref();
    let policy = spec.and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref());
    policy.unwrap_or("Retain")
}

/// Releases a volume whose claim is gone, and reclaims it as its policy says.
async fn release(context: &Context<(), Binder>, volume: &PersistentVolume) -> Result<()> {
    let mut volume = volume.clone();
    if !matches!(phase_of(&volume), "Released" | "Failed") {
        volume = set_phase(context, volume, "Released").await?;
    }
    let name = volume.name_any();
    match policy_of(&volume) {
        "Recycle" => {
            let message = "No recycler plugin found for the volume!".to_owned();
            fail(context, &volume, "VolumeFailedRecycle", message).await
        }
        // Whoever provisioned it deletes it.
        "Delete" if !is_external(&volume) => {
            let message = format!(
                "error getting deleter volume plugin for volume {name:?}: no deletable volume plugin matched"
            );
            fail(context, &volume, "VolumeFailedDelete", message).await
        }
        _ => Ok(()),
    }
}

fn is_external(volume: &PersistentVolume) -> bool {
    let provisioner = volume.annotations().get(PROVISIONED_BY);
    provisioner.is_some_and(|name| !name.starts_with("kubernetes.io/"))
}

fn tell_of_mode(
    context: &Context<(), Binder>,
    volume: &PersistentVolume,
    claim: &PersistentVolumeClaim,
) {
    let message = format!(
        "Cannot bind PersistentVolume to requested PersistentVolumeClaim {:?} due to incompatible volumeMode.",
        claim.name_any()
    );
    let state = context.state();
    state
        .recorder
        .event(volume, EventType::Warning, "VolumeMismatch", message);
    let message = format!(
        "Cannot bind PersistentVolume {:?} to requested PersistentVolumeClaim due to incompatible volumeMode.",
        volume.name_any()
    );
    state.tell(claim, EventType::Warning, "VolumeMismatch", message);
}
