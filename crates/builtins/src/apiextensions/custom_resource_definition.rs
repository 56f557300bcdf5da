//! Custom resource definitions: defaults and strategy. The schemas inside are checked elsewhere.

use serde_json::{Value, json};

use crate::{
    KindRules, general,
    json::{Read, Write},
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create,
    prepare_update,
    prepare_status_update: general::keep_metadata_and_spec,
    allow_unconditional_update: false,
    reset_fields: &["status"],
    reset_fields_status: &["metadata", "spec"],
    ..KindRules::GENERAL
};

fn default(crd: &mut Value) {
    let spec = crd.field("spec");
    let kind = spec["names"]["kind"].text().to_owned();
    let names = spec.field("names");
    names.put_if_blank("singular", kind.to_lowercase());
    if !kind.is_empty() {
        names.put_if_blank("listKind", format!("{kind}List"));
    }
    spec.put_if_unset("conversion", json!({"strategy": "None"}));
    spec.with("conversion", |conversion| {
        conversion.with("webhook", |webhook| {
            webhook.with("clientConfig", |c| {
                c.with("service", |s| s.put_if_unset("port", 443))
            });
        });
    });
    let stored = storage_version(crd);
    if let Some(version) = stored
        && crd["status"]["storedVersions"].is_blank()
    {
        crd.field("status").put("storedVersions", json!([version]));
    }
}

fn prepare_create(crd: &mut Value) {
    general::drop_status_and_start_generation(crd);
    if let Some(version) = storage_version(crd) {
        crd.put("status", json!({"storedVersions": [version]}));
    }
}

fn prepare_update(new: &mut Value, old: &Value) {
    general::keep_status_and_count_spec_changes(new, old);
    let Some(version) = storage_version(new) else {
        return;
    };
    let stored = new.field("status").field("storedVersions");
    if stored.items().contains(&version) {
        return;
    }
    match stored.as_array_mut() {
        Some(list) => list.push(version),
        None => *stored = json!([version]),
    }
}

fn storage_version(crd: &Value) -> Option<Value> {
    let versions = crd["spec"]["versions"].items().iter();
    let mut stored = versions.filter(|v| v["storage"].flag());
    stored.next().map(|v| v["name"].clone())
}
