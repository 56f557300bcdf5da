//! Claims to provision or to grow.

use k8s_openapi::api::{
    core::v1::{PersistentVolume, PersistentVolumeClaim},
    storage::v1::StorageClass,
};
use kube::{ResourceExt, api::Patch};
use kubewright_controller::{
    Action, Context, Request, Result,
    events::{EventType, Recorder},
};
use kubewright_informer::Key;
use kubewright_machinery::quantity::Quantity;
use serde_json::{Value, json};

use super::PROVISIONER;
use crate::workloads::volume_binder::{PROVISIONED_BY, SELECTED_NODE, is_delayed, provisioner_of};

pub(super) async fn sync(context: &Context<(), Recorder>, request: &Request) -> Result<Action> {
    let Some(claim) = context.get::<PersistentVolumeClaim>(request).await? else {
        return Ok(Action::done());
    };
    let spec = claim.spec.as_ref();
    let volume = spec
        .and_then(|spec| spec.volume_name.as_deref())
        .unwrap_or_default();
    if !volume.is_empty() {
        grow(context, &claim, volume).await?;
        return Ok(Action::done());
    }
    let class = spec
        .and_then(|spec| spec.storage_class_name.as_deref())
        .unwrap_or_default();
    let class = context
        .client()
        .get_key::<StorageClass>(&Key::new(None, class))
        .await?;
    let Some(class) = class.filter(|class| class.provisioner == PROVISIONER) else {
        return Ok(Action::done());
    };
    // The scheduler selects the node of claims that wait for their first pod.
    let is_waiting = is_delayed(&class) && !claim.annotations().contains_key(SELECTED_NODE);
    if !is_waiting && provisioner_of(&claim) == Some(PROVISIONER) {
        provision(context, &claim, &class).await?;
    }
    Ok(Action::done())
}

/// Creates the volume of a claim.
async fn provision(
    context: &Context<(), Recorder>,
    claim: &PersistentVolumeClaim,
    class: &StorageClass,
) -> Result<()> {
    let (namespace, name) = (claim.namespace().unwrap_or_default(), claim.name_any());
    let volume = volume_of(claim, class)?;
    let tell = |reason: &str, message: String| {
        context
            .state()
            .event(claim, EventType::Normal, reason, message);
    };
    match context.client().create(&volume).await {
        Err(error) if error.is_already_exists() => return Ok(()),
        created => drop(created?),
    }
    tell(
        "Provisioning",
        format!("External provisioner is provisioning volume for claim \"{namespace}/{name}\""),
    );
    tell(
        "ProvisioningSucceeded",
        format!("Successfully provisioned volume {}", volume.name_any()),
    );
    Ok(())
}

fn volume_of(claim: &PersistentVolumeClaim, class: &StorageClass) -> Result<PersistentVolume> {
    let claimed = serde_json::to_value(claim)?;
    let spec = &claimed["spec"];
    let uid = claim.uid().unwrap_or_default();
    let mut volume = json!({
        "metadata": {
            "name": format!("pvc-{uid}"),
            "annotations": {PROVISIONED_BY: PROVISIONER},
        },
        "spec": {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "volumeMode": spec["volumeMode"],
            "storageClassName": class.name_any(),
            "persistentVolumeReclaimPolicy": class.reclaim_policy.as_deref().unwrap_or("Delete"),
            "mountOptions": class.mount_options,
            "csi": {"driver": PROVISIONER, "volumeHandle": uid},
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "namespace": claim.namespace(), "name": claim.name_any(), "uid": uid,
                "resourceVersion": claim.resource_version(),
            },
        },
    });
    if let Some(node) = claim.annotations().get(SELECTED_NODE) {
        let is_there = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [node]});
        volume["spec"]["nodeAffinity"] =
            json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [is_there]}]}});
    }
    Ok(serde_json::from_value(volume)?)
}

/// Makes the volume of a claim as large as the claim asks for.
async fn grow(
    context: &Context<(), Recorder>,
    claim: &PersistentVolumeClaim,
    volume: &str,
) -> Result<()> {
    let wanted = serde_json::to_value(claim)?;
    let size = &wanted["spec"]["resources"]["requests"]["storage"];
    let has = &wanted["status"]["capacity"]["storage"];
    let is_bound = wanted["status"]["phase"] == "Bound";
    if !is_bound || quantity(size) <= quantity(has) {
        return Ok(());
    }
    let client = context.client();
    let Some(volume) = client
        .get_key::<PersistentVolume>(&Key::new(None, volume))
        .await?
    else {
        return Ok(());
    };
    if volume
        .annotations()
        .get(PROVISIONED_BY)
        .is_none_or(|by| by != PROVISIONER)
    {
        return Ok(());
    }
    let tell = |reason: &str, message: String| {
        context
            .state()
            .event(claim, EventType::Normal, reason, message);
    };
    let capacity = serde_json::to_value(&volume.spec)?["capacity"]["storage"].clone();
    if quantity(&capacity) < quantity(size) {
        let name = volume.name_any();
        tell(
            "Resizing",
            format!("External resizer is resizing volume {name}"),
        );
        let patch = json!({"spec": {"capacity": {"storage": size}}});
        client.patch(&*volume, &Patch::Merge(patch)).await?;
    }
    let mut grown = claim.clone();
    let status = grown.status.get_or_insert_default();
    let spec = claim.spec.clone().unwrap_or_default();
    let requests = spec.resources.and_then(|resources| resources.requests);
    status.capacity.clone_from(&requests);
    status.allocated_resources = requests;
    client.replace_status(&grown).await?;
    tell(
        "VolumeResizeSuccessful",
        "Resize volume succeeded".to_owned(),
    );
    Ok(())
}

fn quantity(value: &Value) -> Quantity {
    let parsed = value.as_str().and_then(|text| Quantity::parse(text).ok());
    parsed.unwrap_or_else(Quantity::zero)
}
