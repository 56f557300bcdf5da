//! Storage classes, and provisioning by others.

use std::sync::Arc;

use k8s_openapi::api::{core::v1::PersistentVolumeClaim, storage::v1::StorageClass};
use kube::ResourceExt;
use kubewright_controller::{Client, Context, Filter, Result, events::EventType};
use kubewright_informer::Key;

use super::{Binder, claims_annotation};
use crate::workloads::objects::Pod;

/// The annotation of a claim with the node on which its first pod is to run.
pub(crate) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// The annotation of a volume with the provisioner that made it.
pub(crate) const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";

/// The annotations of a claim with the provisioner that is to make its volume.
const PROVISIONERS: [&str; 2] = [
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/storage-provisioner",
];

/// The former annotation with the class of a claim or a volume.
const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// The annotations of the class that claims without a class get.
const DEFAULT: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

/// Returns the class that a claim asks for; empty if it asks for none.
pub(super) fn class_of(claim: &PersistentVolumeClaim) -> &str {
    let spec = claim.spec.as_ref();
    let field = || spec.and_then(|spec| spec.storage_class_name.as_deref());
    claims_annotation(claim, CLASS)
        .or_else(field)
        .unwrap_or_default()
}

/// Reports whether a claim names a class, even an empty one.
fn has_class(claim: &PersistentVolumeClaim) -> bool {
    let spec = claim.spec.as_ref();
    claims_annotation(claim, CLASS).is_some()
        || spec.is_some_and(|spec| spec.storage_class_name.is_some())
}

/// Returns the provisioner that is to make the volume of a claim.
pub(crate) fn provisioner_of(claim: &PersistentVolumeClaim) -> Option<&str> {
    claims_annotation(claim, PROVISIONERS[1])
}

/// Reports whether volumes of a class are bound once a pod uses their claims.
pub(crate) fn is_delayed(class: &StorageClass) -> bool {
    class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer")
}

/// Returns the class of a claim.
pub(super) async fn find(
    client: &Client,
    claim: &PersistentVolumeClaim,
) -> Result<Option<Arc<StorageClass>>> {
    let name = class_of(claim);
    match name.is_empty() {
        true => Ok(None),
        false => Ok(client.get_key(&Key::new(None, name)).await?),
    }
}

/// Gives a claim the default class if it says nothing about classes. Returns whether it did.
pub(super) async fn assign_default(
    context: &Context<(), Binder>,
    claim: &PersistentVolumeClaim,
) -> Result<bool> {
    if has_class(claim) {
        return Ok(false);
    }
    let classes = context
        .client()
        .list::<StorageClass>(&Filter::new())
        .await?;
    let is_default = |class: &&Arc<StorageClass>| {
        let annotations = class.annotations();
        let is_true = |name| annotations.get(name).is_some_and(|value| value == "true");
        DEFAULT.into_iter().any(is_true)
    };
    // The newest one wins, and then the name.
    let created = |class: &Arc<StorageClass>| class.creation_timestamp().map(|at| at.0);
    let newest = classes.iter().filter(is_default).max_by(|a, b| {
        let by_age = created(a).cmp(&created(b));
        by_age.then_with(|| b.name_any().cmp(&a.name_any()))
    });
    let Some(class) = newest else {
        return Ok(false);
    };
    let mut claim = claim.clone();
    claim.spec.get_or_insert_default().storage_class_name = Some(class.name_any());
    context.client().update(&claim).await?;
    Ok(true)
}

/// Says why a claim that waits for its first pod is not bound.
pub(super) async fn tell_of_waiting(
    context: &Context<(), Binder>,
    claim: &PersistentVolumeClaim,
) -> Result<()> {
    let (namespace, name) = (claim.namespace().unwrap_or_default(), claim.name_any());
    let pods = context
        .client()
        .list::<Pod>(&Filter::new().namespace(namespace))
        .await?;
    let mut waiting: Vec<String> = pods
        .iter()
        .filter(|pod| is_waiting(pod) && pod.claims().any(|claim| claim == name))
        .map(|pod| pod.name_any())
        .collect();
    waiting.sort_unstable();
    let (reason, message) = match &waiting[..] {
        [] => (
            "WaitForFirstConsumer",
            "waiting for first consumer to be created before binding".to_owned(),
        ),
        [pod] => (
            "WaitForPodScheduled",
            format!("waiting for pod {pod} to be scheduled"),
        ),
        pods => (
            "WaitForPodScheduled",
            format!("waiting for pods {} to be scheduled", pods.join(",")),
        ),
    };
    context
        .state()
        .tell(claim, EventType::Normal, reason, message);
    Ok(())
}

fn is_waiting(pod: &Pod) -> bool {
    !pod.is_terminal() && pod.spec.node_name.is_empty()
}

/// Asks the provisioner of a class for the volume of a claim.
pub(super) async fn provision(
    context: &Context<(), Binder>,
    claim: &PersistentVolumeClaim,
) -> Result<()> {
    let state = context.state();
    let fail = |message: String| {
        state.tell(claim, EventType::Warning, "ProvisioningFailed", message);
    };
    let name = class_of(claim);
    let Some(class) = find(context.client(), claim).await? else {
        fail(format!("storageclass.storage.k8s.io {name:?} not found"));
        return Ok(());
    };
    let provisioner = class.provisioner.as_str();
    if provisioner.starts_with("kubernetes.io/") {
        fail(format!("no volume plugin matched name: {provisioner}"));
        return Ok(());
    }
    if PROVISIONERS
        .iter()
        .any(|key| claims_annotation(claim, key) != Some(provisioner))
    {
        let mut claim = claim.clone();
        for key in PROVISIONERS {
            claim
                .annotations_mut()
                .insert(key.to_owned(), provisioner.to_owned());
        }
        context.client().update(&claim).await?;
    }
    let message = format!(
        "Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered."
    );
    state.tell(claim, EventType::Normal, "ExternalProvisioning", message);
    Ok(())
}
