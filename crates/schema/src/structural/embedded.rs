//! Validates that embedded objects have a type and valid metadata.

use kubewright_cel::Extent;
use kubewright_machinery::{
    field::{self, ErrorList, Path},
    gvk::GroupVersion,
    limits::MAX_FIELD_ERRORS,
    validation::{names, validate_object_meta},
};
use serde_json::Value;

use super::{coerce::decode_object_meta, model::Structural};

/// Validates the type and metadata of embedded objects, and of the value itself if it is a resource.
pub fn validate_embedded(
    value: &Value,
    schema: &Structural,
    extent: Extent,
    path: &Path,
) -> ErrorList {
    let mut errors = ErrorList::new();
    if extent == Extent::Resource && !schema.embedded {
        validate_object(value, path, &mut errors);
    }
    walk(value, schema, path, &mut errors);
    errors
}

fn walk(value: &Value, schema: &Structural, path: &Path, errors: &mut ErrorList) {
    if !schema.has_embedded || errors.len() >= MAX_FIELD_ERRORS {
        return;
    }
    if schema.embedded {
        validate_object(value, path, errors);
    }
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                if let Some(property) = schema.property(key) {
                    walk(field, property, &path.child(key), errors);
                } else if let Some(additional) = schema.additional_schema() {
                    walk(field, additional, &path.key(key), errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.items.as_deref() {
                for (i, item) in items.iter().enumerate() {
                    walk(item, schema, &path.index(i), errors);
                }
            }
        }
        _ => {}
    }
}

fn validate_object(value: &Value, path: &Path, errors: &mut ErrorList) {
    let Value::Object(fields) = value else {
        return;
    };
    for key in ["apiVersion", "kind"] {
        if !fields.contains_key(key) {
            errors.push(field::required(&path.child(key), ""));
        }
    }
    if let Some(api_version) = fields.get("apiVersion") {
        let path = path.child("apiVersion");
        match api_version.as_str() {
            None => errors.push(field::invalid(&path, api_version, "must be a string")),
            Some("") => errors.push(field::invalid_str(&path, "", "must not be empty")),
            Some(text) if GroupVersion::parse(text).is_none() => {
                let message = format!("unexpected GroupVersion string: {text}");
                errors.push(field::invalid_str(&path, text, message));
            }
            Some(_) => {}
        }
    }
    if let Some(kind) = fields.get("kind") {
        let path = path.child("kind");
        match kind.as_str() {
            None => errors.push(field::invalid(&path, kind, "must be a string")),
            Some("") => errors.push(field::invalid_str(&path, "", "must not be empty")),
            Some(text) => {
                let found = names::is_dns1035_label(&text.to_lowercase());
                if !found.is_empty() {
                    let message = format!(
                        "may have mixed case, but should otherwise match: {}",
                        found.join(",")
                    );
                    errors.push(field::invalid_str(&path, text, message));
                }
            }
        }
    }
    if let Some(metadata) = fields.get("metadata") {
        let path = path.child("metadata");
        match decode_object_meta(metadata.clone()) {
            Err(e) => errors.push(field::invalid(&path, metadata, e.to_string())),
            Ok(mut decoded) => {
                // A name is not asked for, but the check insists on one.
                if decoded["name"].as_str().unwrap_or_default().is_empty() {
                    decoded["name"] = "fakename".into();
                }
                let namespaced = !decoded["namespace"].as_str().unwrap_or_default().is_empty();
                errors.extend(validate_object_meta(
                    &decoded,
                    namespaced.into(),
                    names::name_is_path_segment,
                    &path,
                ));
            }
        }
    }
}
