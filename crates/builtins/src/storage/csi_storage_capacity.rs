//! CSI storage capacities.

use crate::KindRules;

pub(crate) static RULES: KindRules = KindRules {
    allow_unconditional_update: false,
    ..KindRules::GENERAL
};
