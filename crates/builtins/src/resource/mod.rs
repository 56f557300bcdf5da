//! The group `resource.k8s.io`: claims for devices.

mod selector;

use kubewright_machinery::field::Path;
use serde_json::Value;

use crate::{
    KindRules, general,
    json::{Read, Write},
};

pub(crate) static CLAIM_RULES: KindRules = KindRules {
    default: |claim| claim.with("spec", default_claim_spec),
    validate_create: |claim| {
        let mut errors = general::validate_create(claim);
        selector::validate_claim_spec(&claim["spec"], &Path::new("spec"), &mut errors);
        errors
    },
    prepare_create: general::drop_status,
    prepare_update: general::keep_status,
    prepare_status_update: general::keep_metadata_and_spec,
    returns_deleted_object: true,
    reset_fields: &["status"],
    validation_is_slow: true,
    status_has_table: false,
    reset_fields_status: &["metadata", "spec"],
    ..KindRules::GENERAL
};

pub(crate) static CLAIM_TEMPLATE_RULES: KindRules = KindRules {
    default: |template| {
        template.with("spec", |spec| spec.with("spec", default_claim_spec));
    },
    validate_create: |template| {
        let mut errors = general::validate_create(template);
        let path = Path::new("spec").child("spec");
        selector::validate_claim_spec(&template["spec"]["spec"], &path, &mut errors);
        errors
    },
    validation_is_slow: true,
    returns_deleted_object: true,
    ..KindRules::GENERAL
};

pub(crate) static SLICE_RULES: KindRules = KindRules {
    prepare_create: general::start_generation,
    prepare_update: general::count_spec_changes,
    returns_deleted_object: true,
    ..KindRules::GENERAL
};

pub(crate) static DEVICE_CLASS_RULES: KindRules = KindRules {
    validate_create: |class| {
        let mut errors = general::validate_create(class);
        selector::validate(&class["spec"], &Path::new("spec"), &mut errors);
        errors
    },
    validate_update: |new, old| {
        let mut errors = general::validate_update(new, old);
        selector::validate(&new["spec"], &Path::new("spec"), &mut errors);
        errors
    },
    validation_is_slow: true,
    ..SLICE_RULES
};

pub(crate) static TAINT_RULE_RULES: KindRules = KindRules {
    prepare_create: general::drop_status_and_start_generation,
    prepare_update: general::keep_status_and_count_spec_changes,
    prepare_status_update: general::keep_metadata_and_spec,
    reset_fields: &["status"],
    reset_fields_status: &["metadata", "spec"],
    ..SLICE_RULES
};

/// Sets the allocation mode and count of requests.
fn default_claim_spec(spec: &mut Value) {
    spec.with("devices", |devices| {
        devices.each("requests", |request| {
            request.with("exactly", default_count);
            request.each("firstAvailable", default_count);
        });
    });
}

fn default_count(request: &mut Value) {
    request.put_if_blank("allocationMode", "ExactCount");
    if request["allocationMode"].text() == "ExactCount" {
        request.put_if_blank("count", 1);
    }
}
