//! Runtime classes.

use serde_json::Value;

use crate::{KindRules, core::resources, json::Write};

pub(crate) static RULES: KindRules = KindRules {
    default,
    allow_create_on_update: true,
    allow_unconditional_update: false,
    ..KindRules::GENERAL
};

fn default(class: &mut Value) {
    class.with("overhead", |o| o.with("podFixed", resources::round_up));
}
