//! The storage class of clusters with simulated nodes.

use k8s_openapi::api::storage::v1::StorageClass;
use kubewright_controller::{Action, Context, Result, events::Recorder};
use serde_json::json;

use super::PROVISIONER;

/// Creates the class `standard`, which is the default. One that exists stays as it is.
pub(super) async fn create(context: &Context<(), Recorder>) -> Result<Action> {
    let class: StorageClass = serde_json::from_value(json!({
        "metadata": {
            "name": "standard",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": true,
    }))?;
    match context.client().create(&class).await {
        Err(error) if !error.is_already_exists() => Err(error.into()),
        _ => Ok(Action::done()),
    }
}
