//! The rules of a kind, and their lookup.
//!
//! [`KindRules`] is a record of plain functions. A kind sets only the functions that differ and takes the rest
//! from [`KindRules::GENERAL`]. Nothing here allocates addresses, reads other objects or knows the user;
//! that is done by the server and admission.

use kubewright_machinery::{PropagationPolicy, field::ErrorList};
use serde_json::Value;

use crate::{general, table};

/// The grace period of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grace {
    /// The grace period that applies; 0 deletes at once.
    pub seconds: i64,
}

/// The signature of [`KindRules::grace`]: the stored object and the seconds the caller asked for.
pub type GraceFn = fn(&Value, Option<i64>) -> Grace;

/// The signature of [`KindRules::stamp_update`]: the new object, the old one and the time as metadata has it.
pub type StampFn = fn(&mut Value, &Value, &str);

/// The signature of [`KindRules::put_requester`]: the new object, then name, uid, groups and extra of the user.
pub type PutRequesterFn = fn(&mut Value, &str, &str, &[String], Value);

/// The rules of a kind.
///
/// ```
/// use kubewright_builtins::KindRules;
/// use serde_json::{Value, json};
///
/// fn visible(comet: &mut Value) {
///     comet["spec"]["visible"] = true.into();
/// }
///
/// // A kind sets what differs from the general rules.
/// let comets = KindRules { default: visible, ..KindRules::GENERAL };
/// let mut halley = json!({"metadata": {"name": "halley"}});
/// (comets.default)(&mut halley);
/// assert_eq!(halley["spec"], json!({"visible": true}));
/// assert!(!comets.allow_create_on_update);
/// ```
#[derive(Clone, Copy)]
pub struct KindRules {
    /// Applies API defaults, after decoding, on every write.
    pub default: fn(&mut Value),
    /// Prepares a create: removes fields that clients may not set, sets the generation.
    pub prepare_create: fn(&mut Value),
    /// Prepares an update of the main endpoint: `new`, then `old`.
    pub prepare_update: fn(&mut Value, &Value),
    /// Prepares an update of `/status`: `new`, then `old`.
    pub prepare_status_update: fn(&mut Value, &Value),
    /// Validates a new object, metadata included; errors are in the order in which they are reported.
    pub validate_create: fn(&Value) -> ErrorList,
    /// Validates an update: `new`, then `old`.
    pub validate_update: fn(&Value, &Value) -> ErrorList,
    /// Validates an update of `/status`: `new`, then `old`.
    pub validate_status_update: fn(&Value, &Value) -> ErrorList,
    /// Returns warnings for a create, of the object before it is prepared.
    pub warnings_before_create: fn(&Value) -> Vec<String>,
    /// Returns warnings for a create that is accepted.
    pub warnings_on_create: fn(&Value) -> Vec<String>,
    /// Returns warnings for an update that is accepted: `new`, then `old`.
    pub warnings_on_update: fn(&Value, &Value) -> Vec<String>,
    /// Canonicalizes the object after validation, before it is stored.
    pub canonicalize: fn(&mut Value),
    /// `true` if a PUT creates a missing object.
    pub allow_create_on_update: bool,
    /// `true` if an update may omit the resourceVersion.
    pub allow_unconditional_update: bool,
    /// The propagation policy of a delete that names none. `None`: the kind is never an owner, and no policy leaves a finalizer
    /// on its objects.
    pub default_propagation: Option<PropagationPolicy>,
    /// `true` if DELETE returns the object instead of a `Status`.
    pub returns_deleted_object: bool,
    /// Computes the grace period, if the kind has graceful deletion.
    pub grace: Option<GraceFn>,
    /// The lifetime of an object in seconds, after which the store removes it.
    pub ttl_seconds: Option<u64>,
    /// Whether an object that is being deleted may be removed once `metadata.finalizers` is empty.
    pub may_be_removed: fn(&Value) -> bool,
    /// Writes the time of a change into the object, on the main endpoint.
    pub stamp_update: Option<StampFn>,
    /// Writes the time of a change into the object, on subresources.
    pub stamp_subresource_update: Option<StampFn>,
    /// Writes the creator into a new object.
    pub put_requester: Option<PutRequesterFn>,
    /// Whether objects need addresses and ports of the service network.
    pub needs_service_addresses: bool,
    /// Whether validation compiles expressions or patterns of the object, which may take long.
    pub validation_is_slow: bool,
    /// Whether `status` can be shown as a table.
    pub status_has_table: bool,
    /// The warning for every request to a deprecated kind.
    pub deprecation: Option<&'static str>,
    /// Field paths that a write to the main endpoint cannot own.
    pub reset_fields: &'static [&'static str],
    /// The field paths that a write to `/status` cannot own.
    pub reset_fields_status: &'static [&'static str],
}

/// Returns the rules of a kind; [`KindRules::GENERAL`] if it has none.
///
/// ```
/// use kubewright_builtins::{KindRules, rules};
/// use serde_json::json;
///
/// let service = rules("", "Service");
/// let errors = (service.validate_create)(&json!({"metadata": {"name": "a.b", "namespace": "shop"}}));
/// assert_eq!(errors[0].field, "metadata.name");
///
/// // Kinds without special rules have the general ones.
/// let mut object = json!({"metadata": {"name": "c"}});
/// (rules("example.com", "Captain").default)(&mut object);
/// assert_eq!(object, json!({"metadata": {"name": "c"}}));
/// ```
pub fn rules(group: &str, kind: &str) -> &'static KindRules {
    table::find(group, kind).unwrap_or(&KindRules::GENERAL)
}

impl KindRules {
    /// The rules of a kind without special ones: no defaults, status kept apart if there is one, no validation
    /// beyond metadata.
    pub const GENERAL: KindRules = KindRules {
        default: general::nothing,
        prepare_create: general::nothing,
        prepare_update: general::nothing_on_update,
        prepare_status_update: general::keep_all_but_status,
        validate_create: general::validate_create,
        validate_update: general::validate_update,
        validate_status_update: general::validate_update,
        warnings_before_create: general::no_warnings,
        warnings_on_create: general::no_warnings,
        warnings_on_update: general::no_update_warnings,
        canonicalize: general::nothing,
        allow_create_on_update: false,
        allow_unconditional_update: true,
        default_propagation: Some(PropagationPolicy::Background),
        returns_deleted_object: false,
        grace: None,
        ttl_seconds: None,
        may_be_removed: general::always,
        stamp_update: None,
        stamp_subresource_update: None,
        put_requester: None,
        needs_service_addresses: false,
        validation_is_slow: false,
        status_has_table: true,
        deprecation: None,
        reset_fields: &[],
        reset_fields_status: &[],
    };
}
