//! Config maps.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::names,
};
use serde_json::Value;

use crate::{
    KindRules, checks,
    json::{Read, same},
    meta,
};

/// The most bytes that a config map or a secret may hold.
pub(crate) const MAX_SIZE: usize = 1024 * 1024;
/// The message for fields of an immutable object.
pub(crate) const IMMUTABLE: &str = "field is immutable when `immutable` is set";

pub(crate) static RULES: KindRules = KindRules {
    validate_create,
    validate_update,
    ..KindRules::GENERAL
};

fn validate_create(map: &Value) -> ErrorList {
    let mut errors = meta::validate(map, true, meta::subdomain);
    let mut size = 0;
    let path = Path::new("data");
    for (key, value) in map["data"].entries() {
        checks::messages(
            key,
            names::is_config_map_key(key),
            &path.key(key),
            &mut errors,
        );
        if map["binaryData"].get(key).is_some() {
            let message = "duplicate of key present in binaryData";
            errors.push(field::invalid_str(&path.key(key), key, message));
        }
        size += value.text().len();
    }
    let path = Path::new("binaryData");
    for (key, value) in map["binaryData"].entries() {
        checks::messages(
            key,
            names::is_config_map_key(key),
            &path.key(key),
            &mut errors,
        );
        size += decoded_len(value.text());
    }
    if size > MAX_SIZE {
        let mut error = field::too_long(&Path::root(), MAX_SIZE);
        error.field = "[]".to_owned();
        errors.push(error);
    }
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    validate_immutable(new, old, &["data", "binaryData"], &mut errors);
    errors.extend(validate_create(new));
    errors
}

/// Validates that an immutable object stays immutable and keeps the given fields.
pub(crate) fn validate_immutable(
    new: &Value,
    old: &Value,
    fields: &[&str],
    errors: &mut ErrorList,
) {
    if !old["immutable"].flag() {
        return;
    }
    if !new["immutable"].flag() {
        errors.push(field::forbidden(&Path::new("immutable"), IMMUTABLE));
    }
    for name in fields {
        if !same_entries(&new[*name], &old[*name]) {
            errors.push(field::forbidden(&Path::new(name), IMMUTABLE));
        }
    }
}

/// Returns the number of bytes that base64 text encodes.
pub(crate) fn decoded_len(text: &str) -> usize {
    let padding = text.bytes().rev().take_while(|b| *b == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

fn same_entries(a: &Value, b: &Value) -> bool {
    (a.is_blank() && b.is_blank()) || same(a, b)
}
