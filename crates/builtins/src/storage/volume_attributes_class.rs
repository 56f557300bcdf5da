//! Volume attributes classes.

use crate::KindRules;

pub(crate) static RULES: KindRules = KindRules {
    returns_deleted_object: true,
    ..KindRules::GENERAL
};
