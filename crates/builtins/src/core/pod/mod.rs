//! Pods, and the pod templates inside workloads.
//!
//! | file | contents |
//! |---|---|
//! | `default` | defaults of pods, pod specs, containers, probes and volumes |
//! | `strategy` | what a create or an update may set, quality of service, graceful deletion |
//! | `validate` | validation of pods and templates |
//! | `annotations` | validation of annotations |
//! | `container`, `env`, `mount`, `probe`, `volume`, `scheduling`, `security` | the parts of that |
//! | [`update`] | validation of updates |
//! | [`binding`], [`eviction`], [`resize`] | subresources |
//! | `app_armor` | profiles that annotations name |
//! | `warnings` | warnings for objects that are accepted |

mod annotations;
mod app_armor;
pub mod binding;
mod container;
pub(crate) mod default;
mod env;
pub mod eviction;
mod image;
mod mount;
mod probe;
mod qos;
pub mod resize;
pub(crate) mod scheduling;
mod security;
mod strategy;
pub mod update;
pub(crate) mod validate;
mod volume;
pub(crate) mod warnings;

use crate::KindRules;

pub(crate) static RULES: KindRules = KindRules {
    default: default::pod,
    prepare_create: strategy::prepare_create,
    prepare_update: strategy::prepare_update,
    prepare_status_update: strategy::prepare_status_update,
    validate_create: validate::create,
    validate_update: update::update,
    validate_status_update: update::status,
    warnings_before_create: app_armor::warnings_before_create,
    warnings_on_create: warnings::pod,
    returns_deleted_object: true,
    grace: Some(strategy::grace),
    reset_fields: &["status"],
    reset_fields_status: &[
        "spec",
        "metadata.deletionTimestamp",
        "metadata.ownerReferences",
    ],
    ..KindRules::GENERAL
};
