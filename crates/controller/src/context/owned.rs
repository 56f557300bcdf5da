//! Objects that the reconciled object owns.

use super::Context;
use crate::{
    client::is_namespaced, object::Object, owner::set_controller_reference, reconcile::Result,
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
}
