//! The number of pods that there should be, from the controllers of pods.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use kubewright_controller::{Context, Error, Result, owner::controller_of};
use kubewright_machinery::gvk::{GroupKind, GroupVersion};

use super::Disruption;
use crate::workloads::objects::{Deployment, Pod, ReplicaSet, ReplicationController, StatefulSet};

/// The sizes of the controllers of pods.
#[derive(Debug, Default)]
pub(super) struct Scale {
    pub(super) expected: i32,
    /// Whether there are pods without a controller.
    pub(super) has_unmanaged: bool,
}

/// Returns the sum of the sizes of the controllers of pods, each once.
///
/// # Errors
///
/// Fails if the controller of a pod has no size.
pub(super) async fn scale_of(
    context: &Context<(), Disruption>,
    pods: &[Arc<Pod>],
) -> Result<Scale> {
    let mut sizes: BTreeMap<String, i32> = BTreeMap::new();
    let mut known: Vec<String> = Vec::new();
    let mut scale = Scale::default();
    for pod in pods {
        let Some(owner) = controller_of(&**pod) else {
            scale.has_unmanaged = true;
            continue;
        };
        if known.contains(&owner.uid) {
            continue;
        }
        let namespace = pod.namespace().unwrap_or_default();
        let Some((uid, size)) = size_of(context, &namespace, owner).await? else {
            let message = format!("found no controllers for pod {:?}", pod.name_any());
            return Err(Error::message(message).into());
        };
        known.push(owner.uid.clone());
        sizes.insert(uid, size);
    }
    scale.expected = sizes
        .values()
        .fold(0, |sum, size| sum.saturating_add(*size));
    Ok(scale)
}

/// Returns the UID and the size of a controller: of a ReplicaSet of a Deployment those of the Deployment.
async fn size_of(
    context: &Context<(), Disruption>,
    namespace: &str,
    owner: &OwnerReference,
) -> Result<Option<(String, i32)>> {
    let client = context.client();
    let group = owner
        .api_version
        .split_once('/')
        .map_or("", |(group, _)| group);
    let is_same = |uid: &Option<String>| uid.as_deref() == Some(owner.uid.as_str());
    let found = |replicas: Option<i32>| Some((owner.uid.clone(), replicas.unwrap_or(1)));
    match (group, owner.kind.as_str()) {
        ("", "ReplicationController") => {
            let set = client
                .get::<ReplicationController>(namespace, &owner.name)
                .await?;
            let set = set.filter(|set| is_same(&set.metadata.uid));
            Ok(set.and_then(|set| found(set.spec.replicas)))
        }
        ("apps", "StatefulSet") => {
            let set = client.get::<StatefulSet>(namespace, &owner.name).await?;
            let set = set.filter(|set| is_same(&set.metadata.uid));
            Ok(set.and_then(|set| found(set.spec.replicas)))
        }
        ("apps", "ReplicaSet") => {
            let set = client.get::<ReplicaSet>(namespace, &owner.name).await?;
            let Some(set) = set.filter(|set| is_same(&set.metadata.uid)) else {
                return Ok(None);
            };
            match controller_of(&*set).filter(|owner| owner.kind == "Deployment") {
                None => Ok(found(set.spec.replicas)),
                Some(owner) => {
                    let deployment = client.get::<Deployment>(namespace, &owner.name).await?;
                    let deployment = deployment
                        .filter(|d| d.metadata.uid.as_deref() == Some(owner.uid.as_str()));
                    Ok(deployment.map(|d| (owner.uid.clone(), d.replicas())))
                }
            }
        }
        ("apps", "DaemonSet") => Err(without_scale("daemonsets.apps").into()),
        ("batch", "Job") => Err(without_scale("jobs.batch").into()),
        _ => scale_subresource(context.state(), namespace, owner).await,
    }
}

/// Returns the UID and the size of a controller of any kind, from its scale subresource.
async fn scale_subresource(
    state: &Disruption,
    namespace: &str,
    owner: &OwnerReference,
) -> Result<Option<(String, i32)>> {
    let version = GroupVersion::parse(&owner.api_version);
    let version = version.ok_or_else(|| {
        Error::message(format!(
            "unexpected GroupVersion string: {}",
            owner.api_version
        ))
    })?;
    let kind = GroupKind::new(&version.group, &owner.kind);
    let mapping = state.mapper.mapping(&kind, &[&version.version]).await;
    let mapping = mapping.map_err(|error| Error::message(error.to_string()))?;
    let resource = mapping.resource.group_resource();
    match state.scales.get(namespace, &resource, &owner.name).await {
        Ok(scale) => {
            let is_same = scale.metadata.uid.as_deref() == Some(owner.uid.as_str());
            let size = scale.spec.and_then(|spec| spec.replicas).unwrap_or(0);
            Ok(is_same.then(|| (owner.uid.clone(), size)))
        }
        Err(error) if error.is_not_found() => {
            // Either there is no such controller, or the kind has no size.
            let version = mapping.resource.group_version();
            let served = state.discovery.resources(&version).await;
            let served = served.map_err(|error| Error::message(error.to_string()))?;
            let name = format!("{}/scale", resource.resource);
            match served.resources.iter().any(|served| served.name == name) {
                true => Ok(None),
                false => Err(without_scale(&resource.to_string()).into()),
            }
        }
        Err(error) => Err(Error::message(error.to_string()).into()),
    }
}

fn without_scale(resource: &str) -> Error {
    Error::message(format!(
        "{resource} does not implement the scale subresource"
    ))
}
