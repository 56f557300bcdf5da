//! Bindings of admission policies.

use crate::{KindRules, general, json::Write};

use super::policy::default_match;

pub(crate) static RULES: KindRules = KindRules {
    default: |binding| binding.with("spec", |spec| spec.with("matchResources", default_match)),
    prepare_create: general::start_generation,
    prepare_update: general::count_spec_changes,
    allow_unconditional_update: false,
    ..KindRules::GENERAL
};
