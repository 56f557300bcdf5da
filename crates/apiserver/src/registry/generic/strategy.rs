//! What a kind does differently. Every method has the general case as its default.

use std::time::Duration;

use async_trait::async_trait;
use kubewright_machinery::{Status, field::ErrorList};
use serde_json::Value;

use crate::request::RequestContext;

/// What becomes of dependents when a delete does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GarbageCollection {
    /// They are collected.
    Collect,
    /// They are orphaned, for the sake of old clients.
    Orphan,
    /// The kind takes no part in it.
    Unsupported,
}

/// The rules of a kind.
#[async_trait]
pub trait Strategy: Send + Sync + 'static {
    /// Fields that a creator cannot set are cleared, those that the server owns are set.
    fn prepare_for_create(&self, _cx: &RequestContext, _object: &mut Value) {}

    /// Whatever reading a new object back from storage would add: nobody judges that.
    fn complete_new(&self, _object: &mut Value) {}

    /// Brings an object that was judged as it is into the shape that is stored.
    fn conform(&self, _object: &mut Value) {}

    /// Like `prepare_for_create`, given the stored object.
    fn prepare_for_update(&self, _object: &mut Value, _old: &Value) {}

    /// What is wrong with a new object.
    fn validate(&self, _object: &Value) -> ErrorList {
        ErrorList::new()
    }

    /// What is wrong with a change.
    fn validate_update(&self, _object: &Value, _old: &Value) -> ErrorList {
        ErrorList::new()
    }

    /// [`Strategy::validate_update`], for a kind that may have something to warn of even where it refuses.
    fn judge_update(&self, _cx: &RequestContext, object: &Value, old: &Value) -> ErrorList {
        self.validate_update(object, old)
    }

    /// [`Strategy::validate`] checks metadata too, so nobody else need.
    fn checks_new_metadata(&self) -> bool {
        false
    }

    /// [`Strategy::validate_update`] checks metadata too, so nobody else need.
    fn checks_metadata_updates(&self) -> bool {
        false
    }

    /// The last touch before the object is stored.
    fn canonicalize(&self, _object: &mut Value) {}

    /// What to warn of when an object is created.
    fn warnings_on_create(&self, _object: &Value) -> Vec<String> {
        Vec::new()
    }

    /// What to warn of when an object is changed.
    fn warnings_on_update(&self, _object: &Value, _old: &Value) -> Vec<String> {
        Vec::new()
    }

    /// An update of a missing object makes it.
    fn allow_create_on_update(&self) -> bool {
        false
    }

    /// An update without a resourceVersion overwrites.
    fn allow_unconditional_update(&self) -> bool {
        true
    }

    /// What becomes of dependents when a delete does not say.
    fn garbage_collection(&self) -> GarbageCollection {
        GarbageCollection::Collect
    }

    /// The answer to a delete is the object.
    fn returns_deleted_object(&self) -> bool {
        false
    }

    /// The kind deletes gracefully: for how many seconds this object may go on. `None`: it does not.
    fn grace_period(&self, _object: &Value, _requested: Option<i64>) -> Option<i64> {
        None
    }

    /// An update that leaves a deleted object without finalizers removes it.
    fn should_delete_during_update(&self, _object: &Value, _old: &Value) -> bool {
        true
    }

    /// Objects go by themselves after this long.
    fn time_to_live(&self, _object: &Value) -> Option<Duration> {
        None
    }

    /// Something outside the object must be reserved before it is stored (a cluster IP). Runs after defaults and before
    /// validation; `dry_run` must leave no trace. The reservation is given back if the write fails.
    async fn begin_write(
        &self,
        _cx: &RequestContext,
        _object: &mut Value,
        _old: Option<&Value>,
        _dry_run: bool,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        Ok(None)
    }

    /// The object was deleted: what it had reserved is free again.
    fn after_delete(&self, _object: &Value) {}
}

/// Something reserved for an object that is not stored yet. Dropped without [`Reservation::keep`], it is given back.
pub trait Reservation: Send {
    /// The object was stored.
    fn keep(self: Box<Self>);
}

/// A kind without rules of its own: metadata is checked, generations count changes of `spec`, everything else is kept as sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Strategy for Plain {
    fn prepare_for_create(&self, _cx: &RequestContext, object: &mut Value) {
        object["metadata"]["generation"] = 1.into();
    }

    fn prepare_for_update(&self, object: &mut Value, old: &Value) {
        if object.get("spec") != old.get("spec") {
            let generation = old["metadata"]["generation"].as_i64().unwrap_or(0);
            object["metadata"]["generation"] = (generation + 1).into();
        }
    }
}
