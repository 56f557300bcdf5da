//! CSI nodes.

use crate::KindRules;

pub(crate) static RULES: KindRules = KindRules {
    allow_unconditional_update: false,
    returns_deleted_object: true,
    ..KindRules::GENERAL
};
