//! Limit ranges.

use serde_json::Value;

use super::resources;
use crate::{
    KindRules,
    json::{Read, Write},
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    allow_create_on_update: true,
    ..KindRules::GENERAL
};

fn default(range: &mut Value) {
    range.with("spec", |s| s.each("limits", default_item));
}

/// For containers: the default limit is the maximum; the default request is the default limit, else the minimum.
fn default_item(item: &mut Value) {
    if item["type"] == "Container" {
        fill(item, "default", "max");
        fill(item, "defaultRequest", "default");
        fill(item, "defaultRequest", "min");
    }
    for list in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
        item.with(list, resources::round_up);
    }
}

fn fill(item: &mut Value, to: &str, from: &str) {
    let source = item[from].clone();
    for (name, quantity) in source.entries() {
        item.field(to).put_if_unset(name, quantity.clone());
    }
}
