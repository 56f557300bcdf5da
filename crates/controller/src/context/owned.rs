//! Objects that the reconciled object owns.

use kubewright_informer::Key;

use super::Context;
use crate::{
    client::is_namespaced,
    object::Object,
    owner::{controller_of, set_controller_reference},
    reconcile::Result,
};

impl<K: Object, S> Context<K, S> {
    /// Applies an object that this one owns as its controller, by server-side apply under the controller's field manager.
    ///
    /// The object needs a name and the fields to set, and nothing else: the owner reference is added, and the namespace
    /// defaults to that of the owner. Fields that were applied before and are left out now are removed. The object is
    /// garbage-collected after its owner; list its kind in [`owns`](crate::ControllerBuilder::owns) to be notified of
    /// changes.
    ///
    /// # Errors
    ///
    /// Fails if another controller owns the object, or if the server rejects it.
    pub async fn apply_owned<T: Object>(&self, mut object: T) -> Result<T> {
        let owner = self.object();
        if is_namespaced::<T>() && object.meta().namespace.is_none() {
            object.meta_mut().namespace = owner.meta().namespace.clone();
        }
        set_controller_reference(&*owner, &mut object)?;
        Ok(self.client().apply(&object).await?)
    }

    /// Deletes an object that this one owns as its controller, and reports whether there was one. An object of that name that
    /// this one does not own is left alone.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube::ResourceExt;
    /// use kubewright_controller::{Action, Context, Result};
    ///
    /// async fn reconcile(ctx: Context<ConfigMap>, map: Arc<ConfigMap>) -> Result<Action> {
    ///     if map.data.is_none() {
    ///         ctx.delete_owned::<Secret>(&map.name_any()).await?;
    ///     }
    ///     Ok(Action::done())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the cache cannot be read, or if the server rejects the deletion.
    pub async fn delete_owned<T: Object>(&self, name: &str) -> Result<bool> {
        let owner = self.object();
        let namespace = match is_namespaced::<T>() {
            true => owner.meta().namespace.as_deref(),
            false => None,
        };
        let owned = self
            .client()
            .get_key::<T>(&Key::new(namespace, name))
            .await?;
        match owned {
            Some(object) if is_controlled_by(&*object, owner.meta().uid.as_deref()) => {
                let terminates = object.meta().deletion_timestamp.is_some();
                Ok(!terminates && self.client().delete(&*object).await?)
            }
            _ => Ok(false),
        }
    }
}

fn is_controlled_by<T: Object>(object: &T, uid: Option<&str>) -> bool {
    controller_of(object).is_some_and(|controller| Some(controller.uid.as_str()) == uid)
}
