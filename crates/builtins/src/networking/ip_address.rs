//! IP addresses: the record of which object holds a service address.

use crate::KindRules;

pub(crate) static RULES: KindRules = KindRules {
    ..KindRules::GENERAL
};
