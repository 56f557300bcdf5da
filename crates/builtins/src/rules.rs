//! The shape of a kind's rules, and the table that finds them.
//!
//! [`KindRules`] is a record of plain functions. A kind writes down only what it does differently and takes the rest
//! from [`KindRules::GENERAL`]. What it is not: nothing here allocates addresses, reads other objects or knows who asks;
//! those are the server's and admission's business.

use kubewright_machinery::field::ErrorList;
use serde_json::Value;

use crate::{general, table};

/// What happens to dependents when a delete names no policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// The object goes at once, its dependents afterwards.
    Background,
    /// The dependents stay.
    Orphan,
    /// The kind is never an owner; no policy leaves a mark on it.
    Unsupported,
}

/// How long an object that is deleted gracefully may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grace {
    /// The grace period that applies; 0 deletes at once.
    pub seconds: i64,
}

/// The signature of [`KindRules::grace`]: the stored object and the seconds the caller asked for.
pub type GraceFn = fn(&Value, Option<i64>) -> Grace;

/// What a kind does differently from the general case.
#[derive(Clone, Copy)]
pub struct KindRules {
    /// API defaulting, after decoding, on every write.
    pub default: fn(&mut Value),
    /// Before a create: drops what clients may not set, starts the generation.
    pub prepare_create: fn(&mut Value),
    /// Before an update of the main endpoint: `new`, then `old`.
    pub prepare_update: fn(&mut Value, &Value),
    /// Before an update of `/status`: `new`, then `old`.
    pub prepare_status_update: fn(&mut Value, &Value),
    /// What is wrong with a new object, metadata included, in the order it is reported.
    pub validate_create: fn(&Value) -> ErrorList,
    /// What is wrong with replacing the second by the first.
    pub validate_update: fn(&Value, &Value) -> ErrorList,
    /// The same on `/status`.
    pub validate_status_update: fn(&Value, &Value) -> ErrorList,
    /// Warnings for a create that is let through.
    pub warnings_on_create: fn(&Value) -> Vec<String>,
    /// Warnings for an update that is let through: `new`, then `old`.
    pub warnings_on_update: fn(&Value, &Value) -> Vec<String>,
    /// The last touch after validation, before the object is stored.
    pub canonicalize: fn(&mut Value),
    /// A PUT creates the object when it is not there.
    pub allow_create_on_update: bool,
    /// An update may leave out the resourceVersion.
    pub allow_unconditional_update: bool,
    /// What a delete without a policy does to dependents.
    pub default_propagation: Propagation,
    /// DELETE answers with the object instead of a `Status`.
    pub returns_deleted_object: bool,
    /// Graceful deletion, where the kind has it.
    pub grace: Option<GraceFn>,
    /// Field paths that a write to the main endpoint cannot own.
    pub reset_fields: &'static [&'static str],
    /// Field paths that a write to `/status` cannot own.
    pub reset_fields_status: &'static [&'static str],
}

/// The rules of a kind; the general case where a kind has none of its own.
pub fn rules(group: &str, kind: &str) -> &'static KindRules {
    table::find(group, kind).unwrap_or(&KindRules::GENERAL)
}

impl KindRules {
    /// A kind about which nothing special is known: no defaults, status kept apart where there is one, no validation
    /// beyond metadata.
    pub const GENERAL: KindRules = KindRules {
        default: general::nothing,
        prepare_create: general::nothing,
        prepare_update: general::nothing_on_update,
        prepare_status_update: general::keep_all_but_status,
        validate_create: general::validate_create,
        validate_update: general::validate_update,
        validate_status_update: general::validate_update,
        warnings_on_create: general::no_warnings,
        warnings_on_update: general::no_update_warnings,
        canonicalize: general::nothing,
        allow_create_on_update: false,
        allow_unconditional_update: true,
        default_propagation: Propagation::Background,
        returns_deleted_object: false,
        grace: None,
        reset_fields: &[],
        reset_fields_status: &[],
    };
}
