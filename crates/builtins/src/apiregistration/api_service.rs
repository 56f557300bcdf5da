//! API services: which group and version is served from where.

use serde_json::{Value, json};

use crate::{
    KindRules, general,
    json::{Read, Write},
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create,
    prepare_update: general::keep_status,
    prepare_status_update: general::keep_metadata_and_spec,
    allow_unconditional_update: false,
    reset_fields: &["status"],
    reset_fields_status: &["spec", "metadata"],
    ..KindRules::GENERAL
};

fn default(service: &mut Value) {
    service.with("spec", |spec| spec.with("service", |s| s.put_if_unset("port", 443)));
}

/// One that is served here needs no check to be available.
fn prepare_create(service: &mut Value) {
    general::drop_status(service);
    if service["spec"]["service"].is_set() {
        return;
    }
    let made = service["metadata"]["creationTimestamp"].clone();
    service.put(
        "status",
        json!({"conditions": [{
            "type": "Available",
            "status": "True",
            "lastTransitionTime": made,
            "reason": "Local",
            "message": "Local APIServices are always available",
        }]}),
    );
}
