//! Priority classes.

use serde_json::Value;

use crate::{KindRules, general, json::Write};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create: general::start_generation,
    ..KindRules::GENERAL
};

fn default(class: &mut Value) {
    class.put_if_unset("preemptionPolicy", "PreemptLowerPriority");
}
