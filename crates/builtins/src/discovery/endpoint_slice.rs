//! Endpoint slices.

use serde_json::Value;

use crate::{
    KindRules, general,
    json::{Write, same},
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create,
    prepare_update,
    ..KindRules::GENERAL
};

fn default(slice: &mut Value) {
    slice.each("ports", |port| {
        port.put_if_unset("name", "");
        port.put_if_unset("protocol", "TCP");
    });
}

fn prepare_create(slice: &mut Value) {
    general::start_generation(slice);
    drop_topology(slice);
}

/// Labels count too: they say which service the slice belongs to.
fn prepare_update(new: &mut Value, old: &Value) {
    let labels = |slice: &Value| slice["metadata"]["labels"].clone();
    let fields = ["addressType", "endpoints", "ports"];
    let changed = fields.iter().any(|f| !same(&new[*f], &old[*f]));
    if changed || !same(&labels(new), &labels(old)) {
        general::next_generation(new, old);
    }
    if !same(&new["endpoints"], &old["endpoints"]) {
        drop_topology(new);
    }
}

fn drop_topology(slice: &mut Value) {
    slice.each("endpoints", |e| e.forget("deprecatedTopology"));
}
