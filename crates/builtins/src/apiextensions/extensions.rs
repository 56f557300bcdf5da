//! Validates the extensions of a schema: list and map types, and rules.

use std::{cell::OnceCell, collections::HashSet};

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    limits::MAX_FIELD_ERRORS,
};
use kubewright_schema::structural::{PathSyntax, Structural, find_field};
use serde_json::{Value, json};

use crate::json::Read;

const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

/// Validates the extensions of one node of a schema.
pub(super) fn check(schema: &Value, atomic_sets: bool, path: &Path, errors: &mut ErrorList) {
    let ty = schema["type"].text();
    let preserve = "x-kubernetes-preserve-unknown-fields";
    if schema[preserve] == json!(false) {
        let error = field::invalid(
            &path.child(preserve),
            &json!(false),
            "must be true or undefined",
        );
        errors.push(error);
    }
    let (map_type, list_type) = (
        &schema["x-kubernetes-map-type"],
        &schema["x-kubernetes-list-type"],
    );
    for (extension, name, expected) in [
        (map_type, "x-kubernetes-map-type", "object"),
        (list_type, "x-kubernetes-list-type", "array"),
    ] {
        if extension.is_set() && ty != expected {
            let message = format!("must be {expected} if {name} is specified");
            let path = path.child("type");
            errors.push(if ty.is_empty() {
                field::required(&path, message)
            } else {
                field::invalid_str(&path, ty, message)
            });
        } else if name == "x-kubernetes-list-type" && atomic_sets {
            check_set(schema, path, errors);
        }
        let allowed: &[&str] = match expected {
            "object" => &["atomic", "granular"],
            _ => &["atomic", "set", "map"],
        };
        if extension.is_set() && !allowed.contains(&extension.text()) {
            let error = field::not_supported(&path.child(name), extension.text(), allowed);
            errors.push(error);
        }
    }
    check_list_map(schema, path, errors);
}

fn check_set(schema: &Value, path: &Path, errors: &mut ErrorList) {
    if !is_set_of_parts(schema) {
        return;
    }
    let items = &schema["items"];
    let key = match items["type"].text() {
        "array" => "x-kubernetes-list-type",
        _ => "x-kubernetes-map-type",
    };
    let path = path.child("items").child(key);
    let message = "must be atomic as item of a list with x-kubernetes-list-type=set";
    // The list type is printed in both cases.
    let printed = &items["x-kubernetes-list-type"];
    errors.push(field::invalid(&path, printed, message));
}

fn check_list_map(schema: &Value, path: &Path, errors: &mut ErrorList) {
    let list_type = &schema["x-kubernetes-list-type"];
    let keys = &schema["x-kubernetes-list-map-keys"];
    if !keys.items().is_empty() && *list_type != "map" {
        let message = "must be map if x-kubernetes-list-map-keys is non-empty";
        let path = path.child("x-kubernetes-list-type");
        errors.push(if list_type.is_set() {
            field::invalid(&path, list_type, message)
        } else {
            field::required(&path, message)
        });
    }
    if *list_type == "map" {
        let keys_path = path.child("x-kubernetes-list-map-keys");
        if keys.items().is_empty() {
            errors.push(field::required(
                &keys_path,
                "must not be empty if x-kubernetes-list-type is map",
            ));
        }
        let (items, items_path) = (&schema["items"], path.child("items"));
        let ty = items["type"].text();
        if !items.is_set() {
            let message = "must have a schema if x-kubernetes-list-type is map";
            errors.push(field::required(&items_path, message));
        } else if items.is_object() && ty != "object" {
            let message = "must be object if parent array's x-kubernetes-list-type is map";
            errors.push(field::invalid_str(&items_path.child("type"), ty, message));
        } else if items.is_object() {
            let mut seen = HashSet::new();
            for key in keys.items() {
                // Each error prints all keys.
                if errors.len() >= MAX_FIELD_ERRORS {
                    return;
                }
                match items["properties"].get(key.text()) {
                    Some(property) if matches!(property["type"].text(), "array" | "object") => {
                        let path = items_path.child("properties").key(key.text()).child("type");
                        let message =
                            "must be a scalar type if parent array's x-kubernetes-list-type is map";
                        errors.push(field::invalid_str(&path, ty, message));
                    }
                    Some(_) => {}
                    None => {
                        let message = "entries must all be names of item properties";
                        errors.push(field::invalid(&keys_path, keys, message));
                    }
                }
                if !seen.insert(key.text()) {
                    let message = "must not contain duplicate entries";
                    errors.push(field::invalid(&keys_path, keys, message));
                }
            }
        }
    }
}

/// Validates rules before they are compiled.
pub(super) fn check_rules(schema: &Value, path: &Path, errors: &mut ErrorList) {
    let rules = schema["x-kubernetes-validations"].items();
    let has_newline = |text: &str| text.contains(['\n', '\r']);
    let compiled = OnceCell::new();
    for (i, rule) in rules.iter().enumerate() {
        let path = path.child("x-kubernetes-validations").index(i);
        let (text, message) = (rule["rule"].text(), rule["message"].text());
        if text.trim().is_empty() {
            errors.push(field::required(
                &path.child("rule"),
                "rule is not specified",
            ));
        } else if !message.is_empty() && message.trim().is_empty() {
            let path = path.child("message");
            errors.push(field::invalid_str(
                &path,
                message,
                "must be non-empty if specified",
            ));
        } else if has_newline(message.trim()) {
            let path = path.child("message");
            errors.push(field::invalid_str(
                &path,
                message,
                "must not contain line breaks",
            ));
        } else if has_newline(text.trim()) && message.trim().is_empty() {
            let message = "message must be specified if rule contains line breaks";
            errors.push(field::required(&path.child("message"), message));
        }
        let expression = rule["messageExpression"].text();
        if !expression.is_empty() && expression.trim().is_empty() {
            let message = "messageExpression must be non-empty if specified";
            errors.push(field::required(&path.child("messageExpression"), message));
        }
        if let Some(reason) = rule["reason"].as_str().filter(|r| !REASONS.contains(r)) {
            errors.push(field::not_supported(
                &path.child("reason"),
                reason,
                &REASONS,
            ));
        }
        let (at, path) = (rule["fieldPath"].text(), path.child("fieldPath"));
        if !at.is_empty() {
            if at.trim().is_empty() {
                errors.push(field::invalid_str(
                    &path,
                    at,
                    "must be non-empty if specified",
                ));
            }
            if has_newline(at) {
                errors.push(field::invalid_str(
                    &path,
                    at,
                    "must not contain line breaks",
                ));
            }
            let compiled = compiled.get_or_init(|| Structural::compile(schema).ok());
            if compiled
                .as_ref()
                .is_some_and(|schema| find_field(at, schema, PathSyntax::Brackets).is_err())
            {
                errors.push(field::invalid_str(&path, at, "must be a valid path"));
            }
        }
    }
}

/// A set whose items are not one value each.
pub(super) fn is_set_of_parts(schema: &Value) -> bool {
    let items = &schema["items"];
    schema["x-kubernetes-list-type"] == "set"
        && match items["type"].text() {
            "array" => {
                items["x-kubernetes-list-type"].is_set()
                    && items["x-kubernetes-list-type"] != "atomic"
            }
            "object" => items["x-kubernetes-map-type"] != "atomic",
            _ => false,
        }
}

/// Validates that the keys of a list are required or defaulted, and that it has items.
pub(super) fn check_keys(schema: &Value, path: &Path, errors: &mut ErrorList) {
    let (items, list_type) = (&schema["items"], schema["x-kubernetes-list-type"].text());
    if !items.is_object() || !matches!(list_type, "set" | "map") {
        return;
    }
    let path = path.child("items");
    if items["nullable"].flag() {
        let message = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(field::forbidden(&path.child("nullable"), message));
    }
    if list_type != "map" {
        return;
    }
    for key in schema["x-kubernetes-list-map-keys"].items() {
        let Some(property) = items["properties"].get(key.text()) else {
            continue;
        };
        let path = path.child("properties").key(key.text());
        if !items["required"].items().contains(key) && !property["default"].is_set() {
            let message = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(field::required(&path.child("default"), message));
        }
        if property["nullable"].flag() {
            let message =
                "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(field::forbidden(&path.child("nullable"), message));
        }
    }
}
