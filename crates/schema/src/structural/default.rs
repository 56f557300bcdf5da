//! Applies defaults and removes `null`s that mean nothing.

use serde_json::{Map, Value};

use super::model::Structural;

/// Removes `null` where the schema neither allows it nor has a default to put in its place.
pub fn prune_nulls(value: &mut Value, schema: &Structural) {
    match value {
        Value::Object(fields) => fields.retain(|key, field| {
            let Some(schema) = schema.field(key) else {
                return true;
            };
            if field.is_null() {
                return schema.nullable || schema.default.is_some();
            }
            prune_nulls(field, schema);
            true
        }),
        Value::Array(items) => {
            if let Some(schema) = schema.items.as_deref() {
                items.iter_mut().for_each(|item| prune_nulls(item, schema));
            }
        }
        _ => {}
    }
}

/// Fills in defaults: of fields that are missing, or `null` where that is not allowed.
pub fn apply_defaults(value: &mut Value, schema: &Structural) {
    if !schema.has_defaults {
        return;
    }
    match value {
        Value::Object(fields) => default_fields(fields, schema),
        Value::Array(items) => {
            let Some(schema) = schema.items.as_deref() else {
                return;
            };
            for item in items {
                replace_null(item, schema);
                apply_defaults(item, schema);
            }
        }
        _ => {}
    }
}

fn default_fields(fields: &mut Map<String, Value>, schema: &Structural) {
    for (name, property) in &schema.properties {
        let Some(default) = &property.default else {
            continue;
        };
        match fields.get_mut(&**name) {
            Some(field) if field.is_null() && !property.nullable => *field = (**default).clone(),
            Some(_) => {}
            None => {
                fields.insert((**name).into(), (**default).clone());
            }
        }
    }
    for (key, field) in fields.iter_mut() {
        if let Some(property) = schema.property(key) {
            apply_defaults(field, property);
        } else if let Some(additional) = schema.additional_schema() {
            replace_null(field, additional);
            apply_defaults(field, additional);
        }
    }
}

fn replace_null(value: &mut Value, schema: &Structural) {
    if let Some(default) = schema
        .default
        .as_deref()
        .filter(|_| value.is_null() && !schema.nullable)
    {
        *value = default.clone();
    }
}
