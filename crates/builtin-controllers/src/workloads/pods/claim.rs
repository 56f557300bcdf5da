//! [`Claims`]: adopts objects that match a selector and have no controller, and releases those that no longer match.

use std::fmt::Debug;

use kube::{
    Resource, ResourceExt,
    api::{Patch, PatchParams},
    core::NamespaceResourceScope,
};
use kubewright_client::ErrorExt;
use kubewright_controller::{Client, Error, Object, Result, owner::controller_of};
use kubewright_informer::Key;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::workloads::objects::{Draft, controller_reference};

/// The claims of an owner in one sync.
pub(crate) struct Claims<'a, O> {
    client: &'a Client,
    owner: &'a O,
    /// Finalizers that are added to claimed objects, and removed from released ones.
    finalizers: &'a [&'a str],
    /// Whether the owner still exists, read from the server before the first adoption.
    checked: OnceCell<Result<(), String>>,
}

impl<'a, O: Object> Claims<'a, O> {
    pub(crate) fn new(client: &'a Client, owner: &'a O) -> Self {
        Self {
            client,
            owner,
            finalizers: &[],
            checked: OnceCell::new(),
        }
    }

    /// Adds finalizers to objects that are adopted, and removes them from those that are released.
    pub(crate) fn with_finalizers(mut self, finalizers: &'a [&'a str]) -> Self {
        self.finalizers = finalizers;
        self
    }

    /// Claims the objects for which a function says that they match. Returns those that the owner controls.
    ///
    /// # Errors
    ///
    /// Fails with the first failure, after all objects have been tried.
    pub(crate) async fn claim<K>(
        &self,
        objects: Vec<K>,
        matches: impl Fn(&K::Target) -> bool,
    ) -> Result<Vec<K>>
    where
        K: std::ops::Deref,
        K::Target: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + DeserializeOwned
            + Clone
            + Debug
            + Sized
            + 'static,
    {
        let mut claimed = Vec::with_capacity(objects.len());
        let mut failure = None;
        for object in objects {
            let fits = matches(&object);
            match self.claim_one(&*object, fits).await {
                Ok(true) => claimed.push(object),
                Ok(false) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        match failure {
            Some(error) => Err(error),
            None => Ok(claimed),
        }
    }

    async fn claim_one<K>(&self, object: &K, matches: bool) -> Result<bool>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + DeserializeOwned
            + Clone
            + Debug
            + 'static,
    {
        let is_deleted = self.owner.meta().deletion_timestamp.is_some();
        match controller_of(object) {
            Some(controller) if Some(&controller.uid) != self.owner.meta().uid.as_ref() => {
                Ok(false)
            }
            Some(_) if matches => Ok(true),
            Some(_) if is_deleted => Ok(false),
            Some(_) => {
                self.release(object).await?;
                Ok(false)
            }
            None if is_deleted || !matches => Ok(false),
            None if object.meta().deletion_timestamp.is_some() => Ok(false),
            None => self.adopt(object).await,
        }
    }

    async fn adopt<K>(&self, object: &K) -> Result<bool>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + DeserializeOwned
            + Clone
            + Debug
            + 'static,
    {
        let can = self.checked.get_or_init(|| self.owner_exists()).await;
        if let Err(error) = can {
            let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
            let (kind, uid) = (K::kind(&()), object.uid().unwrap_or_default());
            let message = format!("can't adopt {kind} {namespace}/{name} ({uid}): {error}");
            return Err(Error::message(message).into());
        }
        let mut metadata = json!({
            "uid": object.meta().uid,
            "ownerReferences": [controller_reference(self.owner)],
        });
        if !self.finalizers.is_empty() {
            metadata["finalizers"] = json!(self.finalizers);
        }
        match self.patch(object, json!({"metadata": metadata})).await {
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error.into()),
            Ok(()) => Ok(true),
        }
    }

    async fn release<K>(&self, object: &K) -> Result<()>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + DeserializeOwned
            + Clone
            + Debug
            + 'static,
    {
        let mut metadata = json!({
            "uid": object.meta().uid,
            "ownerReferences": [{"$patch": "delete", "uid": self.owner.meta().uid}],
        });
        if !self.finalizers.is_empty() {
            metadata["$deleteFromPrimitiveList/finalizers"] = json!(self.finalizers);
        }
        match self.patch(object, json!({"metadata": metadata})).await {
            // It is gone, another of that name, or has been released already.
            Err(error) if error.is_not_found() || error.is_invalid() => Ok(()),
            Err(error) => Err(error.into()),
            Ok(()) => Ok(()),
        }
    }

    async fn patch<K>(&self, object: &K, patch: Value) -> kube::Result<()>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + DeserializeOwned
            + Clone
            + Debug
            + 'static,
    {
        let namespace = object.namespace().unwrap_or_default();
        let objects = self.client.api::<Draft<K>>(&namespace);
        let (name, params) = (object.name_any(), PatchParams::default());
        let patch = Patch::Strategic(patch);
        objects.patch(&name, &params, &patch).await.map(drop)
    }

    /// Reads from the server whether the owner is still the same and not being deleted.
    async fn owner_exists(&self) -> Result<(), String> {
        let meta = self.owner.meta();
        let (namespace, name) = (
            self.owner.namespace().unwrap_or_default(),
            self.owner.name_any(),
        );
        let key = Key::new(Some(&namespace), &name);
        let live: Option<Draft<O>> = match self.client.get_live(&key).await {
            Ok(live) => live,
            Err(error) => return Err(super::message_of(&error)),
        };
        let live = live.map(|live| live.metadata).unwrap_or_default();
        if live.uid != meta.uid {
            return Err(format!(
                "original {} {namespace}/{name} is gone: got uid {}, wanted {}",
                O::kind(&()),
                live.uid.unwrap_or_default(),
                meta.uid.as_deref().unwrap_or_default(),
            ));
        }
        match live.deletion_timestamp {
            Some(at) => Err(format!(
                "{namespace}/{name} has just been deleted at {}",
                at.0
            )),
            None => Ok(()),
        }
    }
}
