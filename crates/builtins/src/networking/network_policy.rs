//! Network policies.

use serde_json::{Value, json};

use crate::{
    KindRules, general,
    json::{Read, Write},
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create: general::start_generation,
    prepare_update: general::count_spec_changes,
    ..KindRules::GENERAL
};

/// A policy is about ingress, and about egress if it says anything about it.
fn default(policy: &mut Value) {
    let spec = policy.field("spec");
    let types = match spec["egress"].is_blank() {
        true => json!(["Ingress"]),
        false => json!(["Ingress", "Egress"]),
    };
    spec.put_if_blank("policyTypes", types);
    for direction in ["ingress", "egress"] {
        spec.each(direction, |rule| {
            rule.each("ports", |port| port.put_if_unset("protocol", "TCP"));
        });
    }
}
