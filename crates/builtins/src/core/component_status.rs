//! Component statuses: a deprecated view of the control plane, which nothing writes.

use crate::KindRules;

pub(crate) static RULES: KindRules = KindRules {
    deprecation: Some("v1 ComponentStatus is deprecated in v1.19+"),
    ..KindRules::GENERAL
};
