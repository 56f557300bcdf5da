//! Pod disruption budgets.

use crate::{KindRules, general};

pub(crate) static RULES: KindRules = KindRules {
    prepare_create: general::drop_status_and_start_generation,
    prepare_update: general::keep_status_and_count_spec_changes,
    allow_unconditional_update: false,
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};
