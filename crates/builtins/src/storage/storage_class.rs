//! Storage classes.

use serde_json::Value;

use crate::{KindRules, json::Write};

pub(crate) static RULES: KindRules = KindRules {
    default,
    returns_deleted_object: true,
    ..KindRules::GENERAL
};

fn default(class: &mut Value) {
    class.put_if_unset("reclaimPolicy", "Delete");
    class.put_if_unset("volumeBindingMode", "Immediate");
}
