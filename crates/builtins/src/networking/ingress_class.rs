//! Ingress classes.

use serde_json::Value;

use crate::{KindRules, general, json::Write};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create: general::start_generation,
    prepare_update: general::count_spec_changes,
    ..KindRules::GENERAL
};

fn default(class: &mut Value) {
    class.with("spec", |spec| {
        spec.with("parameters", |p| p.put_if_unset("scope", "Cluster"));
    });
}
