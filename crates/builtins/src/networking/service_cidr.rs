//! Service CIDRs.

use crate::{KindRules, general};

pub(crate) static RULES: KindRules = KindRules {
    prepare_create: general::drop_status,
    prepare_update: general::keep_status,
    prepare_status_update: general::keep_metadata_and_spec,
    reset_fields: &["status"],
    reset_fields_status: &["metadata", "spec"],
    ..KindRules::GENERAL
};
