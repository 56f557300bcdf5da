//! The writes that bind a claim and a volume, or separate them. The volume comes first, so that the state after a failure is
//! a volume that was meant for the claim.

use k8s_openapi::api::core::v1::{ObjectReference, PersistentVolume, PersistentVolumeClaim};
use kube::ResourceExt;
use kubewright_controller::{Context, Result};

use super::{
    BIND_COMPLETED, BOUND_BY_CONTROLLER, Binder,
    matching::is_meant_for,
    status::{set_bound, set_phase},
};

/// The value of annotations that say yes.
const YES: &str = "yes";

/// Binds a claim and a volume to one another.
pub(super) async fn bind(
    context: &Context<(), Binder>,
    volume: &PersistentVolume,
    claim: &PersistentVolumeClaim,
) -> Result<()> {
    let client = context.client();
    let mut bound = bound_volume(volume, claim);
    if bound != *volume {
        bound = client.update(&bound).await?;
    }
    let volume = set_phase(context, bound, "Bound").await?;
    let mut bound = bound_claim(claim, &volume);
    if bound != *claim {
        bound = client.update(&bound).await?;
    }
    set_bound(context, bound, &volume).await
}

/// Parts a volume from its claim. One that a user meant for the claim stays so.
pub(super) async fn unbind(context: &Context<(), Binder>, volume: &PersistentVolume) -> Result<()> {
    let mut volume = volume.clone();
    let was_ours = volume
        .annotations_mut()
        .remove(BOUND_BY_CONTROLLER)
        .is_some();
    if volume.annotations().is_empty() {
        volume.metadata.annotations = None;
    }
    let spec = volume.spec.get_or_insert_default();
    match &mut spec.claim_ref {
        Some(claim) if !was_ours => claim.uid = None,
        claim => *claim = None,
    }
    let volume = context.client().update(&volume).await?;
    set_phase(context, volume, "Available").await?;
    Ok(())
}

fn bound_volume(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> PersistentVolume {
    let mut bound = volume.clone();
    let was_meant = is_meant_for(volume, claim);
    let spec = bound.spec.get_or_insert_default();
    let is_bound = was_meant
        && spec
            .claim_ref
            .as_ref()
            .is_some_and(|meant| meant.uid == claim.metadata.uid);
    if !is_bound {
        spec.claim_ref = Some(ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("PersistentVolumeClaim".to_owned()),
            namespace: claim.namespace(),
            name: Some(claim.name_any()),
            uid: claim.uid(),
            resource_version: claim.resource_version(),
            ..ObjectReference::default()
        });
    }
    if !was_meant {
        let annotations = bound.annotations_mut();
        annotations
            .entry(BOUND_BY_CONTROLLER.to_owned())
            .or_insert_with(|| YES.to_owned());
    }
    bound
}

fn bound_claim(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> PersistentVolumeClaim {
    let mut bound = claim.clone();
    let name = Some(volume.name_any());
    let spec = bound.spec.get_or_insert_default();
    let was_named = spec.volume_name == name;
    spec.volume_name = name;
    let annotations = bound.annotations_mut();
    let mut say_yes = |key: &str| {
        annotations
            .entry(key.to_owned())
            .or_insert_with(|| YES.to_owned());
    };
    if !was_named {
        say_yes(BOUND_BY_CONTROLLER);
    }
    say_yes(BIND_COMPLETED);
    bound
}
