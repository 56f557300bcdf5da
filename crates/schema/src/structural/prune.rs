//! Prunes fields that the schema does not know, and reports their paths.

use kubewright_machinery::limits::MAX_FIELD_ERRORS;
use serde_json::Value;

use super::model::Structural;
use crate::position::Position;

const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops the fields of a whole object that its schema does not know. With `unknown`, their paths are collected, sorted.
/// Type and metadata of the object itself are left alone.
pub fn prune(object: &mut Value, schema: &Structural, unknown: Option<&mut Vec<String>>) {
    prune_at(object, schema, true, unknown);
}

/// Prunes a value that is an embedded object only if its schema says so.
///
/// ```
/// use kubewright_schema::structural::{Structural, prune_value};
/// use serde_json::json;
///
/// let schema = Structural::compile(&json!({"type": "object", "properties": {"a": {"type": "string"}}}))?;
/// let mut value = json!({"a": "b", "metadata": {}});
/// prune_value(&mut value, &schema);
/// assert_eq!(value, json!({"a": "b"}));
/// # Ok::<(), kubewright_schema::structural::CompileError>(())
/// ```
pub fn prune_value(value: &mut Value, schema: &Structural) {
    prune_at(value, schema, schema.embedded, None);
}

fn prune_at(
    value: &mut Value,
    schema: &Structural,
    is_root: bool,
    unknown: Option<&mut Vec<String>>,
) {
    let track = unknown.is_some();
    let mut pruner = Pruner {
        track,
        unknown: Vec::new(),
    };
    let embedded = is_root || schema.embedded;
    pruner.prune(value, Some(schema), embedded, &Position::Root);
    if let Some(unknown) = unknown {
        pruner.unknown.sort_unstable();
        unknown.append(&mut pruner.unknown);
    }
}

struct Pruner {
    track: bool,
    unknown: Vec<String>,
}

impl Pruner {
    fn prune(
        &mut self,
        value: &mut Value,
        schema: Option<&Structural>,
        embedded: bool,
        at: &Position<'_>,
    ) {
        if let Some(schema) = schema.filter(|s| s.preserve_unknown) {
            return self.skip(value, schema, embedded, at);
        }
        match value {
            Value::Object(fields) => fields.retain(|key, field| {
                let Some(schema) = schema else {
                    self.record(key, at);
                    return false;
                };
                if embedded && META.contains(&key.as_str()) {
                    return true;
                }
                let known = self.prune_field(field, schema, key, at);
                let own_type = matches!(at, Position::Root) && META.contains(&key.as_str());
                if !known && !own_type {
                    self.record(key, at);
                }
                known
            }),
            Value::Array(items) => {
                let schema = schema.and_then(|s| s.items.as_deref());
                let embedded = schema.is_some_and(|s| s.embedded);
                for (i, item) in items.iter_mut().enumerate() {
                    self.prune(item, schema, embedded, &Position::Index(at, i));
                }
            }
            _ => {}
        }
    }

    /// Prunes a field. Returns whether the schema knows it.
    fn prune_field(
        &mut self,
        field: &mut Value,
        schema: &Structural,
        key: &str,
        at: &Position<'_>,
    ) -> bool {
        let known = match schema.property(key) {
            Some(property) => Some(property),
            None if schema.has_additional() => schema.additional_schema(),
            None => return false,
        };
        let embedded = known.is_some_and(|s| s.embedded);
        self.prune(field, known, embedded, &Position::Key(at, key));
        true
    }

    /// Unknown fields are kept here; specified fields further down are pruned again.
    fn skip(&mut self, value: &mut Value, schema: &Structural, embedded: bool, at: &Position<'_>) {
        match value {
            Value::Object(fields) => {
                for (key, field) in fields.iter_mut() {
                    if !embedded || !META.contains(&key.as_str()) {
                        self.prune_field(field, schema, key, at);
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = schema.items.as_deref() else {
                    return;
                };
                for (i, item) in items.iter_mut().enumerate() {
                    self.skip(item, schema, schema.embedded, &Position::Index(at, i));
                }
            }
            _ => {}
        }
    }

    fn record(&mut self, key: &str, at: &Position<'_>) {
        if self.track && self.unknown.len() < MAX_FIELD_ERRORS {
            self.unknown.push(Position::Key(at, key).path());
        }
    }
}
