//! Nodes.

use serde_json::{Value, json};

use super::resources;
use crate::{
    KindRules, general,
    json::{Read, Write},
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create,
    prepare_update,
    prepare_status_update,
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};

/// What can be allocated is what there is, unless the node says otherwise; one pod CIDR is a list of one.
fn default(node: &mut Value) {
    node.with("status", |status| {
        let capacity = status["capacity"].clone();
        if capacity.is_set() {
            status.put_if_unset("allocatable", capacity);
        }
        status.with("capacity", resources::round_up);
        status.with("allocatable", resources::round_up);
    });
    let spec = node.field("spec");
    let first = spec["podCIDR"].clone();
    if spec["podCIDRs"].is_blank() {
        if !first.is_blank() {
            spec.put("podCIDRs", json!([first]));
        }
    } else if first.is_blank() {
        let first = spec["podCIDRs"][0].clone();
        spec.put("podCIDR", first);
    }
}

fn prepare_create(node: &mut Value) {
    node.with("spec", |s| s.forget("configSource"));
    node.with("status", |s| s.forget("config"));
}

fn prepare_update(new: &mut Value, old: &Value) {
    general::keep_status(new, old);
    if !old["spec"]["configSource"].is_set() {
        new.with("spec", |s| s.forget("configSource"));
    }
}

fn prepare_status_update(new: &mut Value, old: &Value) {
    general::copy(new, old, "spec");
    if !old["status"]["config"].is_set() {
        new.with("status", |s| s.forget("config"));
    }
}
