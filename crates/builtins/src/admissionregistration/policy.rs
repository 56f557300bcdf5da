//! Validating and mutating admission policies.

use serde_json::{Value, json};

use super::webhook_configuration::default_rule;
use crate::{KindRules, general, json::Write};

pub(crate) static VALIDATING_RULES: KindRules = KindRules {
    default: |policy| {
        default_spec(policy.field("spec"));
    },
    prepare_create: general::drop_status_and_start_generation,
    prepare_update: general::keep_status_and_count_spec_changes,
    prepare_status_update: general::keep_metadata_and_spec,
    allow_unconditional_update: false,
    reset_fields: &["status"],
    reset_fields_status: &["metadata", "spec"],
    ..KindRules::GENERAL
};

pub(crate) static MUTATING_RULES: KindRules = KindRules {
    prepare_create: general::start_generation,
    prepare_update: general::count_spec_changes,
    reset_fields: &[],
    reset_fields_status: &[],
    ..VALIDATING_RULES
};

/// The defaults of what a policy or a binding matches.
pub(crate) fn default_match(resources: &mut Value) {
    resources.put_if_unset("matchPolicy", "Equivalent");
    resources.put_if_unset("namespaceSelector", json!({}));
    resources.put_if_unset("objectSelector", json!({}));
    resources.each("resourceRules", default_rule);
    resources.each("excludeResourceRules", default_rule);
}

fn default_spec(spec: &mut Value) {
    spec.put_if_unset("failurePolicy", "Fail");
    spec.with("matchConstraints", default_match);
}
