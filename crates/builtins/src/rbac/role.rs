//! Roles and cluster roles.

use crate::KindRules;

pub(crate) static RULES: KindRules = KindRules {
    allow_create_on_update: true,
    ..KindRules::GENERAL
};

pub(crate) static CLUSTER_RULES: KindRules = KindRules { ..RULES };
