//! Checks of single fields, with the messages that all kinds share. Each adds its errors to a list.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    quantity::Quantity,
    validation::{IMMUTABLE, LabelSelectorOptions, names, validate_label_selector},
};
use serde_json::Value;

use crate::{
    go_json,
    json::{Read, same},
};

/// The file modes that volumes may give.
const FILE_MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";

/// Every message is about the text at the path.
pub(crate) fn messages(text: &str, found: Vec<String>, path: &Path, errors: &mut ErrorList) {
    errors.extend(found.into_iter().map(|m| field::invalid_str(path, text, m)));
}

/// A field that must not be empty.
pub(crate) fn required(value: &Value, path: &Path, errors: &mut ErrorList) {
    if value.is_blank() {
        errors.push(field::required(path, ""));
    }
}

pub(crate) fn dns_label(text: &str, path: &Path, errors: &mut ErrorList) {
    messages(text, names::is_dns1123_label(text), path, errors);
}

pub(crate) fn dns_subdomain(text: &str, path: &Path, errors: &mut ErrorList) {
    messages(text, names::is_dns1123_subdomain(text), path, errors);
}

pub(crate) fn qualified_name(text: &str, path: &Path, errors: &mut ErrorList) {
    messages(text, names::is_qualified_name(text), path, errors);
}

/// An address in a field that is older than the strict rules, unless it was there before.
pub(crate) fn legacy_ip(text: &str, before: &[&str], path: &Path, errors: &mut ErrorList) {
    if !before.contains(&text) {
        messages(text, names::is_ip_legacy(text), path, errors);
    }
}

pub(crate) fn non_negative(value: &Value, path: &Path, errors: &mut ErrorList) {
    if value.int() < 0 {
        errors.push(field::invalid(
            path,
            value,
            "must be greater than or equal to 0",
        ));
    }
}

pub(crate) fn positive(value: i64, path: &Path, errors: &mut ErrorList) {
    if value <= 0 {
        errors.push(field::invalid(
            path,
            &value.into(),
            "must be greater than zero",
        ));
    }
}

pub(crate) fn in_range(value: i64, low: i64, high: i64, path: &Path, errors: &mut ErrorList) {
    for message in names::is_in_range(value, low, high) {
        errors.push(field::invalid(path, &value.into(), message));
    }
}

pub(crate) fn port(value: i64, path: &Path, errors: &mut ErrorList) {
    in_range(value, 1, 65535, path, errors);
}

/// A port by number or by name.
pub(crate) fn port_or_name(value: &Value, path: &Path, errors: &mut ErrorList) {
    match value.as_str() {
        Some(name) => messages(name, names::is_port_name(name), path, errors),
        None => port(value.int(), path, errors),
    }
}

/// A number, or a string that is a percentage.
pub(crate) fn int_or_percent(value: &Value, path: &Path, errors: &mut ErrorList) {
    match value.as_str() {
        Some(text) => messages(text, names::is_percent(text), path, errors),
        None => non_negative(value, path, errors),
    }
}

/// Checks that a value is set and one of the listed ones.
pub(crate) fn one_of(value: &Value, known: &[&str], path: &Path, errors: &mut ErrorList) {
    if value.is_blank() {
        errors.push(field::required(path, ""));
    } else {
        one_of_if_set(value, known, path, errors);
    }
}

/// Checks that a value, if it is set, is one of the listed ones.
pub(crate) fn one_of_if_set(value: &Value, known: &[&str], path: &Path, errors: &mut ErrorList) {
    if value.is_set() && !known.contains(&value.text()) {
        errors.push(field::not_supported(path, value.text(), known));
    }
}

pub(crate) fn file_mode(mode: &Value, path: &Path, errors: &mut ErrorList) {
    if !(0..=0o777).contains(&mode.int()) {
        errors.push(field::invalid(path, mode, FILE_MODE));
    }
}

/// Validates that an immutable field did not change.
pub(crate) fn immutable(new: &Value, old: &Value, path: &Path, errors: &mut ErrorList) {
    if !same(new, old) {
        errors.push(field::invalid(path, new, IMMUTABLE));
    }
}

/// A label selector that may not change did not.
pub(crate) fn immutable_selector(new: &Value, old: &Value, path: &Path, errors: &mut ErrorList) {
    if !same(new, old) {
        errors.push(field::invalid_raw(path, go_json::selector(new), IMMUTABLE));
    }
}

pub(crate) fn selector(selector: &Value, path: &Path, errors: &mut ErrorList) {
    let options = LabelSelectorOptions::default();
    errors.extend(validate_label_selector(selector, options, path));
}

pub(crate) fn non_negative_quantity(quantity: &Quantity, path: &Path, errors: &mut ErrorList) {
    if quantity.sign() < 0 {
        let text = quantity.to_string();
        errors.push(field::invalid_str(
            path,
            &text,
            "must be greater than or equal to 0",
        ));
    }
}

pub(crate) fn positive_quantity(quantity: &Quantity, path: &Path, errors: &mut ErrorList) {
    if quantity.sign() <= 0 {
        let text = quantity.to_string();
        errors.push(field::invalid_str(path, &text, "must be greater than zero"));
    }
}

/// A path without `..`.
pub(crate) fn no_backsteps(text: &str, path: &Path, errors: &mut ErrorList) {
    if text.split('/').any(|part| part == "..") {
        errors.push(field::invalid_str(path, text, "must not contain '..'"));
    }
}

/// A relative path without `..`.
pub(crate) fn descending_path(text: &str, path: &Path, errors: &mut ErrorList) {
    if text.starts_with('/') {
        errors.push(field::invalid_str(path, text, "must be a relative path"));
    }
    no_backsteps(text, path, errors);
}

/// A descending path that does not start like the names volumes reserve for themselves.
pub(crate) fn local_path(text: &str, path: &Path, errors: &mut ErrorList) {
    descending_path(text, path, errors);
    if text.starts_with("..") && !text.starts_with("../") {
        errors.push(field::invalid_str(path, text, "must not start with '..'"));
    }
}

pub(crate) fn user_id(value: &Value, path: &Path, errors: &mut ErrorList) {
    if value.is_set() {
        in_range(value.int(), 0, i64::from(i32::MAX), path, errors);
    }
}
