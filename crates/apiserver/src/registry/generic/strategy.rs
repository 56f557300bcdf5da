//! [`Strategy`]: the rules of a kind. Every method defaults to the general case.

use std::time::Duration;

use kubewright_derive::boxed_async;
use kubewright_machinery::{
    PropagationPolicy, Status,
    field::{ErrorList, Path},
    validation::{self, names},
};
use serde_json::Value;

use super::pool::BlockingPool;
use crate::request::RequestContext;

/// The fixed choices of a kind.
///
/// ```
/// use std::time::Duration;
///
/// use kubewright_apiserver::registry::{Strategy, StrategyOptions};
///
/// /// Shooting stars are gone after a minute.
/// struct ShootingStars;
///
/// impl Strategy for ShootingStars {
///     fn options(&self) -> StrategyOptions {
///         StrategyOptions { time_to_live: Some(Duration::from_secs(60)), ..StrategyOptions::default() }
///     }
/// }
///
/// assert!(ShootingStars.options().allow_unconditional_update);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrategyOptions {
    /// Whether an update of a missing object creates it.
    pub allow_create_on_update: bool,
    /// Whether an update without a resourceVersion overwrites the object.
    pub allow_unconditional_update: bool,
    /// The propagation policy of a delete that names none. `None`: the kind takes no part in garbage collection, and no policy
    /// leaves a finalizer on its objects.
    pub default_propagation: Option<PropagationPolicy>,
    /// Whether a delete is answered with the object instead of a `Status`.
    pub returns_deleted_object: bool,
    /// The lifetime of objects, after which the store removes them.
    pub time_to_live: Option<Duration>,
}

impl Default for StrategyOptions {
    fn default() -> Self {
        Self {
            allow_create_on_update: false,
            allow_unconditional_update: true,
            default_propagation: Some(PropagationPolicy::Background),
            returns_deleted_object: false,
            time_to_live: None,
        }
    }
}

/// The rules of a kind that is kept in a store.
///
/// The methods are listed in the order in which a write calls them. An object is authorized, prepared, validated and
/// canonicalized; then admission may reject it; then it is encoded and stored.
///
/// ```
/// use kubewright_apiserver::{registry::{Strategy, validate_metadata}, request::RequestContext};
/// use kubewright_machinery::field::{self, ErrorList, Path};
/// use serde_json::Value;
///
/// struct Comets;
///
/// impl Strategy for Comets {
///     fn validate_create(&self, cx: &RequestContext, comet: &Value) -> ErrorList {
///         let mut errors = validate_metadata(cx, comet);
///         if comet["spec"]["years"].as_i64().is_none() {
///             errors.push(field::required(&Path::new("spec").child("years"), ""));
///         }
///         errors
///     }
/// }
/// ```
#[boxed_async]
pub trait Strategy: Send + Sync + 'static {
    /// Returns the fixed choices of the kind.
    fn options(&self) -> StrategyOptions {
        StrategyOptions::default()
    }

    /// Checks whether the user may write this object, in addition to the check of the authorizer. `old` is the stored
    /// object of an update. Runs after mutating admission and before all other steps.
    ///
    /// # Errors
    ///
    /// Fails, usually with a 403, if the user may not write the object.
    async fn authorize(
        &self,
        _cx: &RequestContext,
        _object: &Value,
        _old: Option<&Value>,
    ) -> Result<(), Status> {
        Ok(())
    }

    /// Reserves something outside the object before it is stored, such as a cluster IP, and writes it into the object. It runs
    /// after defaulting and before validation. The reservation is returned if the write fails; a dry run must leave no trace.
    async fn reserve(
        &self,
        _cx: &RequestContext,
        _object: &mut Value,
        _old: Option<&Value>,
        _dry_run: bool,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        Ok(None)
    }

    /// Clears the fields of a new object that its creator may not set, and sets those that the server owns.
    fn prepare_for_create(&self, _cx: &RequestContext, _object: &mut Value) {}

    /// Returns the pool in which validation runs, if it may take long. Defaults to none: it runs in place.
    fn validation_pool(&self) -> Option<&BlockingPool> {
        None
    }

    /// Validates a new object in place if that takes little time. Returns `None` if it must run in the
    /// [`validation_pool`](Self::validation_pool), as all validation with a pool does by default.
    fn validate_create_in_place(&self, _cx: &RequestContext, _object: &Value) -> Option<ErrorList> {
        None
    }

    /// Validates an update in place if that takes little time, as
    /// [`validate_create_in_place`](Self::validate_create_in_place) does.
    fn validate_update_in_place(
        &self,
        _cx: &RequestContext,
        _object: &Value,
        _old: &Value,
    ) -> Option<ErrorList> {
        None
    }

    /// Validates a new object, metadata included.
    fn validate_create(&self, cx: &RequestContext, object: &Value) -> ErrorList {
        validate_metadata(cx, object)
    }

    /// Checks whether the user may write this valid object, if that depends on objects that it refers to. `old` is the
    /// stored object of an update. Errors are reported like those of validation.
    async fn validate_access(
        &self,
        _cx: &RequestContext,
        _object: &Value,
        _old: Option<&Value>,
    ) -> ErrorList {
        ErrorList::new()
    }

    /// Returns the warnings about a new object that is valid.
    fn warnings_on_create(&self, _object: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Clears or restores the fields of a changed object that its writer may not set.
    fn prepare_for_update(&self, _object: &mut Value, _old: &Value) {}

    /// Validates a changed object, metadata included. Warnings about a change that may be rejected go to `cx`.
    fn validate_update(&self, cx: &RequestContext, object: &Value, old: &Value) -> ErrorList {
        validate_metadata_update(cx, object, old)
    }

    /// Returns the warnings about a change that is valid.
    fn warnings_on_update(&self, _object: &Value, _old: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Adjusts a valid object.
    fn canonicalize(&self, _object: &mut Value) {}

    /// Removes the fields that the kind does not have from an object that was merged with them
    /// ([`Change::leaves_unknown`](crate::registry::Change::leaves_unknown)).
    fn prune(&self, _object: &mut Value) {}

    /// Adds the defaults that a new object gets when it is read back from the store. They are not validated.
    fn default_on_create(&self, _object: &mut Value) -> Result<(), Status> {
        Ok(())
    }

    /// Returns the grace period of a delete in seconds. `None`: the kind has no graceful deletion.
    fn grace_period(&self, _object: &Value, _requested: Option<i64>) -> Option<i64> {
        None
    }

    /// Returns whether an update that removes the last finalizer of a deleted object removes the object.
    fn should_delete_during_update(&self, _object: &Value, _old: &Value) -> bool {
        true
    }

    /// Frees what a deleted object had reserved.
    fn release(&self, _object: &Value) {}
}

/// A reservation for an object that is not stored yet. Dropping it releases the reservation.
pub trait Reservation: Send {
    /// Keeps the reservation: the object was stored.
    fn keep(self: Box<Self>);
}

/// Validates the metadata of a new object by the rules that all kinds share.
pub fn validate_metadata(cx: &RequestContext, object: &Value) -> ErrorList {
    validation::validate_object_meta(
        &object["metadata"],
        cx.resource.spec.namespaced.into(),
        names::name_is_path_segment,
        &Path::new("metadata"),
    )
}

/// Validates the metadata of a changed object by the rules that all kinds share.
pub fn validate_metadata_update(cx: &RequestContext, object: &Value, old: &Value) -> ErrorList {
    let mut errors = validate_metadata(cx, object);
    errors.extend(validation::validate_object_meta_update(
        &object["metadata"],
        &old["metadata"],
        &Path::new("metadata"),
    ));
    errors
}

/// A strategy for kinds without rules: metadata is validated, `metadata.generation` counts changes of `spec`, and all other
/// fields are stored as they are sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Strategy for Plain {
    fn prepare_for_create(&self, _cx: &RequestContext, object: &mut Value) {
        object["metadata"]["generation"] = 1.into();
    }

    fn prepare_for_update(&self, object: &mut Value, old: &Value) {
        if object.get("spec") != old.get("spec") {
            let generation = old["metadata"]["generation"].as_i64().unwrap_or(0);
            object["metadata"]["generation"] = generation.saturating_add(1).into();
        }
    }
}
