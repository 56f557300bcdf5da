//! `volumeattributesclass-protection-controller`: keeps a deleted VolumeAttributesClass while a volume or a claim names
//! it.

use k8s_openapi::api::{
    core::v1::{PersistentVolume, PersistentVolumeClaim},
    storage::v1::VolumeAttributesClass,
};
use kube::{Api, api::ListParams};
use kubewright_controller::{Context, Manager, ManagerError, Request, Result};

use super::Protection;
use crate::names::Name;

/// The finalizer of classes.
const FINALIZER: &str = "kubernetes.io/vac-protection";

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    Protection::<VolumeAttributesClass>::new(manager, Name::ClassProtection, FINALIZER)
        .used_by::<PersistentVolume>(|_| true)
        .used_by::<PersistentVolumeClaim>(|_| true)
        .build(manager, is_named)
}

async fn is_named(context: Context, request: Request) -> Result<bool> {
    let class = request.name();
    let everything = ListParams::default();
    let volumes: Api<PersistentVolume> = Api::all(context.client().live());
    let volumes = volumes.list(&everything).await?;
    if volumes
        .iter()
        .any(|volume| is_class_of_volume(volume, class))
    {
        return Ok(true);
    }
    let claims: Api<PersistentVolumeClaim> = Api::all(context.client().live());
    let claims = claims.list(&everything).await?;
    Ok(claims.iter().any(|claim| is_class_of_claim(claim, class)))
}

fn is_class_of_volume(volume: &PersistentVolume, class: &str) -> bool {
    let spec = volume.spec.as_ref();
    spec.and_then(|spec| spec.volume_attributes_class_name.as_deref()) == Some(class)
}

/// Reports whether a claim asks for a class, has it, or is being changed to it.
fn is_class_of_claim(claim: &PersistentVolumeClaim, class: &str) -> bool {
    let spec = claim.spec.as_ref();
    let status = claim.status.as_ref();
    let names = [
        spec.and_then(|spec| spec.volume_attributes_class_name.as_deref()),
        status.and_then(|status| status.current_volume_attributes_class_name.as_deref()),
        status.and_then(|status| {
            let change = status.modify_volume_status.as_ref()?;
            change.target_volume_attributes_class_name.as_deref()
        }),
    ];
    names.contains(&Some(class))
}
