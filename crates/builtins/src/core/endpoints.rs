//! Endpoints, the older sibling of endpoint slices.

use serde_json::Value;

use crate::{KindRules, json::Write};

pub(crate) static RULES: KindRules = KindRules {
    default,
    allow_create_on_update: true,
    ..KindRules::GENERAL
};

fn default(endpoints: &mut Value) {
    endpoints.each("subsets", |s| {
        s.each("ports", |p| p.put_if_blank("protocol", "TCP"));
    });
}
