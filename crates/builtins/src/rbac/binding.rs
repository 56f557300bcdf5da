//! Role bindings and cluster role bindings.

use serde_json::Value;

use super::GROUP;
use crate::{KindRules, json::Write};

pub(crate) static RULES: KindRules = KindRules {
    default,
    allow_create_on_update: true,
    ..KindRules::GENERAL
};

pub(crate) static CLUSTER_RULES: KindRules = KindRules { ..RULES };

fn default(binding: &mut Value) {
    binding.field("roleRef").put_if_blank("apiGroup", GROUP);
    binding.each("subjects", |subject| {
        if subject["kind"] == "User" || subject["kind"] == "Group" {
            subject.put_if_blank("apiGroup", GROUP);
        }
    });
}
