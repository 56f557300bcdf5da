//! Phases of claims and volumes.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kubewright_controller::{Context, Result, events::EventType};

use super::{
    Binder, key_of,
    matching::{capacity_of, storage},
};

/// Returns the phase of a claim.
pub(super) fn phase_of_claim(claim: &PersistentVolumeClaim) -> &str {
    let phase = claim
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    phase.unwrap_or_default()
}

/// Returns the phase of a volume.
pub(super) fn phase_of(volume: &PersistentVolume) -> &str {
    let phase = volume
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    phase.unwrap_or_default()
}

/// Writes the phase of a volume, if it is another one.
pub(super) async fn set_phase(
    context: &Context<(), Binder>,
    mut volume: PersistentVolume,
    phase: &str,
) -> Result<PersistentVolume> {
    if phase_of(&volume) == phase {
        return Ok(volume);
    }
    let status = volume.status.get_or_insert_default();
    status.phase = Some(phase.to_owned());
    status.message = None;
    Ok(context.client().replace_status(&volume).await?)
}

/// Writes that a volume failed, and records it as an event.
pub(super) async fn fail(
    context: &Context<(), Binder>,
    volume: &PersistentVolume,
    reason: &str,
    message: String,
) -> Result<()> {
    if phase_of(volume) == "Failed" {
        return Ok(());
    }
    let mut volume = volume.clone();
    let status = volume.status.get_or_insert_default();
    status.phase = Some("Failed".to_owned());
    status.message = Some(message.clone());
    context.client().replace_status(&volume).await?;
    let recorder = &context.state().recorder;
    recorder.event(&volume, EventType::Warning, reason, message);
    Ok(())
}

/// Writes the phase of a claim that is not bound, if anything differs. Returns whether its phase was another one.
pub(super) async fn set_unbound(
    context: &Context<(), Binder>,
    claim: &PersistentVolumeClaim,
    phase: &str,
) -> Result<bool> {
    let mut claim = claim.clone();
    let status = claim.status.get_or_insert_default();
    let before = status.clone();
    status.phase = Some(phase.to_owned());
    status.access_modes = None;
    status.capacity = None;
    status.current_volume_attributes_class_name = None;
    let is_new = before.phase != status.phase;
    if before != *status {
        context.client().replace_status(&claim).await?;
    }
    Ok(is_new)
}

/// Writes that a claim has lost its volume, and records it as an event.
pub(super) async fn set_lost(
    context: &Context<(), Binder>,
    claim: &PersistentVolumeClaim,
    reason: &str,
    message: &str,
) -> Result<()> {
    if phase_of_claim(claim) != "Lost" && set_unbound(context, claim, "Lost").await? {
        let recorder = &context.state().recorder;
        recorder.event(claim, EventType::Warning, reason, message);
    }
    Ok(())
}

/// Writes that a claim is bound, with the access modes and capacity of its volume. The capacity of one that was bound
/// before stays, since its file system may be smaller than the volume.
pub(super) async fn set_bound(
    context: &Context<(), Binder>,
    mut claim: PersistentVolumeClaim,
    volume: &PersistentVolume,
) -> Result<()> {
    let spec = volume.spec.clone().unwrap_or_default();
    let status = claim.status.get_or_insert_default();
    let before = status.clone();
    status.access_modes = spec.access_modes;
    if before.phase.as_deref() != Some("Bound") {
        if storage(status.capacity.as_ref()) != capacity_of(volume) {
            status.capacity = spec.capacity;
        }
        if before.phase.as_deref() == Some("Pending") {
            status.current_volume_attributes_class_name = spec.volume_attributes_class_name;
        }
        status.phase = Some("Bound".to_owned());
    }
    if before != *status {
        context.client().replace_status(&claim).await?;
    }
    context.state().forget(&key_of(&claim));
    Ok(())
}
