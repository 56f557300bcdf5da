//! Flow schemas.

use serde_json::Value;

use crate::{KindRules, general, json::Write};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create: general::drop_status_and_start_generation,
    prepare_update: general::keep_status_and_count_spec_changes,
    prepare_status_update: general::keep_metadata_and_spec,
    reset_fields: &["status"],
    reset_fields_status: &["metadata", "spec"],
    ..KindRules::GENERAL
};

fn default(schema: &mut Value) {
    schema
        .field("spec")
        .put_if_blank("matchingPrecedence", 1000);
}
