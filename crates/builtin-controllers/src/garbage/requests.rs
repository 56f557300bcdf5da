//! Requests of the collector to the server.

use std::sync::Arc;

use kube::{
    api::{DeleteParams, Patch, PatchParams},
    core::{
        PartialObjectMeta,
        params::{Preconditions, PropagationPolicy},
    },
};
use kubewright_client::{
    Error, MetadataClient, MetadataResource, Result as ClientResult, retry_on_conflict,
};
use serde_json::{Value, json};

use super::identity::{Identity, OwnerRef, Uid};
use crate::resources::{Place, Places};

/// The server as one attempt sees it.
#[derive(Clone)]
pub(super) struct Server {
    client: MetadataClient,
    places: Arc<Places>,
}

/// The reason why an attempt failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    /// The server does not serve the kind, or it is not discovered yet.
    #[error("unable to get REST mapping for {api_version}/{kind}.")]
    UnknownKind {
        /// The group and version.
        api_version: Arc<str>,
        /// The kind.
        kind: Arc<str>,
    },
    /// The reference can never be resolved.
    #[error("cluster-scoped objects cannot refer to namespaced owners")]
    NamespacedOwner,
    /// The server rejected the request.
    #[error(transparent)]
    Server(#[from] Error),
}

impl Trouble {
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Server(error) if error.is_not_found())
    }
}

impl Server {
    pub(super) fn new(client: kube::Client, places: Arc<Places>) -> Self {
        Self {
            client: MetadataClient::new(client),
            places,
        }
    }

    /// Returns the API of a kind.
    pub(super) fn place(&self, api_version: &Arc<str>, kind: &Arc<str>) -> Result<&Place, Trouble> {
        self.places
            .of(api_version, kind)
            .ok_or_else(|| Trouble::UnknownKind {
                api_version: api_version.clone(),
                kind: kind.clone(),
            })
    }

    pub(super) async fn get(&self, identity: &Identity) -> Result<PartialObjectMeta, Trouble> {
        let place = self.place(&identity.api_version, &identity.kind)?;
        if place.namespaced && !identity.is_namespaced() {
            // Only a cluster-scoped dependent can have named it so.
            return Err(Trouble::NamespacedOwner);
        }
        Ok(self.objects(identity)?.get(&identity.name).await?)
    }

    /// Deletes an object in the state in which it was seen, or in a newer one with the same owners.
    pub(super) async fn delete(
        &self,
        identity: &Identity,
        seen: &PartialObjectMeta,
        policy: PropagationPolicy,
    ) -> Result<(), Trouble> {
        let objects = self.objects(identity)?;
        let version = seen.metadata.resource_version.as_ref();
        let conflict = match delete(&objects, identity, version, &policy).await {
            Err(error) if error.is_conflict() && version.is_some() => error,
            done => return Ok(done?),
        };
        let live = match objects.get(&identity.name).await {
            Err(gone) if gone.is_not_found() => return Err(gone.into()),
            Err(_) => return Err(conflict.into()),
            Ok(live) => live.metadata,
        };
        let other_state = live.uid.as_deref() == Some(&identity.uid)
            && live.resource_version.as_ref() != version
            && live.owner_references == seen.metadata.owner_references;
        if !other_state {
            return Err(conflict.into());
        }
        // An object that is constantly updated for other reasons is deleted all the same.
        Ok(delete(&objects, identity, None, &policy).await?)
    }

    /// Removes these owners from the references of an object.
    pub(super) async fn remove_owners(
        &self,
        identity: &Identity,
        owners: &[Uid],
    ) -> Result<(), Trouble> {
        let removed: Vec<Value> = owners
            .iter()
            .map(|uid| json!({"$patch": "delete", "uid": &**uid}))
            .collect();
        let strategic = json!({"metadata": {
            "uid": &*identity.uid,
            "ownerReferences": removed,
        }});
        self.patch_owners(identity, strategic, |reference| {
            let uid = reference.get("uid").and_then(Value::as_str);
            let removed = owners.iter().any(|owner| Some(&**owner) == uid);
            (!removed).then_some(reference)
        })
        .await
    }

    /// Makes an object block none of its owners.
    pub(super) async fn unblock_owners(
        &self,
        identity: &Identity,
        owners: &[OwnerRef],
    ) -> Result<(), Trouble> {
        let blocking: Vec<Value> = owners
            .iter()
            .filter(|owner| owner.blocks)
            .map(|owner| {
                json!({
                    "apiVersion": &*owner.api_version,
                    "kind": &*owner.kind,
                    "name": &*owner.name,
                    "uid": &*owner.uid,
                    "blockOwnerDeletion": false,
                })
            })
            .collect();
        let strategic = json!({"metadata": {
            "uid": &*identity.uid,
            "ownerReferences": blocking,
        }});
        self.patch_owners(identity, strategic, |mut reference| {
            if let Some(reference) = reference.as_object_mut() {
                reference.insert("blockOwnerDeletion".into(), false.into());
            }
            Some(reference)
        })
        .await
    }

    /// Changes owner references by a strategic merge patch; where that is not supported, by a JSON merge patch of the
    /// current list.
    async fn patch_owners(
        &self,
        identity: &Identity,
        strategic: Value,
        change: impl Fn(Value) -> Option<Value>,
    ) -> Result<(), Trouble> {
        let objects = self.objects(identity)?;
        let params = PatchParams::default();
        let patched = objects
            .patch(&identity.name, &params, &Patch::Strategic(strategic))
            .await;
        match patched {
            Err(error) if error.code() == Some(415) => {}
            patched => return Ok(patched.map(drop)?),
        }
        let live = objects.get(&identity.name).await?.metadata;
        let references = live.owner_references.unwrap_or_default();
        let changed: Vec<Value> = references
            .into_iter()
            .filter_map(|reference| change(serde_json::to_value(reference).ok()?))
            .collect();
        let merge = json!({"metadata": {
            "uid": &*identity.uid,
            "resourceVersion": live.resource_version,
            "ownerReferences": changed,
        }});
        objects
            .patch(&identity.name, &params, &Patch::Merge(merge))
            .await?;
        Ok(())
    }

    /// Removes a finalizer if the object has it.
    pub(super) async fn remove_finalizer(
        &self,
        identity: &Identity,
        finalizer: &str,
    ) -> Result<(), Trouble> {
        let objects = self.objects(identity)?;
        let removed = retry_on_conflict(|| remove_finalizer(&objects, identity, finalizer)).await;
        match removed {
            Err(error) if error.is_not_found() => Ok(()),
            removed => Ok(removed?),
        }
    }

    fn objects(&self, identity: &Identity) -> Result<MetadataResource, Trouble> {
        let place = self.place(&identity.api_version, &identity.kind)?;
        let objects = self.client.resource(&place.resource);
        Ok(if place.namespaced {
            objects.namespace(&*identity.namespace)
        } else {
            objects
        })
    }
}

async fn delete(
    objects: &MetadataResource,
    identity: &Identity,
    version: Option<&String>,
    policy: &PropagationPolicy,
) -> ClientResult<()> {
    let params = DeleteParams {
        propagation_policy: Some(policy.clone()),
        preconditions: Some(Preconditions {
            uid: Some(identity.uid.to_string()),
            resource_version: version.cloned(),
        }),
        ..DeleteParams::default()
    };
    objects.delete(&identity.name, &params).await.map(drop)
}

async fn remove_finalizer(
    objects: &MetadataResource,
    identity: &Identity,
    finalizer: &str,
) -> ClientResult<()> {
    let live = objects.get(&identity.name).await?.metadata;
    let mut finalizers = live.finalizers.unwrap_or_default();
    let has_it = finalizers.iter().any(|each| each == finalizer);
    if live.uid.as_deref() != Some(&identity.uid) || !has_it {
        return Ok(());
    }
    finalizers.retain(|each| each != finalizer);
    let patch = Patch::Merge(json!({"metadata": {
        "resourceVersion": live.resource_version,
        "finalizers": finalizers,
    }}));
    let params = PatchParams::default();
    let patched = objects.patch(&identity.name, &params, &patch).await;
    patched.map(drop)
}
