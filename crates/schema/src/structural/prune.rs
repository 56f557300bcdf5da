//! Prunes fields that the schema does not know, and reports their paths.

use kubewright_machinery::limits::{MAX_FIELD_ERRORS, push_path};
use serde_json::Value;

use super::model::Structural;

const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops the fields of a whole object that its schema does not know. With `unknown`, their paths are collected, sorted.
/// Type and metadata of the object itself are left alone.
pub fn prune(object: &mut Value, schema: &Structural, unknown: Option<&mut Vec<String>>) {
    prune_at(object, schema, true, unknown);
}

/// Prunes a value that is an embedded object only if its schema says so.
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
        path: String::new(),
        track,
        unknown: Vec::new(),
    };
    pruner.prune(value, Some(schema), is_root || schema.embedded);
    if let Some(unknown) = unknown {
        pruner.unknown.sort_unstable();
        unknown.append(&mut pruner.unknown);
    }
}

struct Pruner {
    path: String,
    track: bool,
    unknown: Vec<String>,
}

impl Pruner {
    fn prune(&mut self, value: &mut Value, schema: Option<&Structural>, embedded: bool) {
        if let Some(schema) = schema.filter(|s| s.preserve_unknown) {
            return self.skip(value, schema, embedded);
        }
        let length = self.path.len();
        match value {
            Value::Object(fields) => fields.retain(|key, field| {
                let Some(schema) = schema else {
                    self.record(key);
                    return false;
                };
                if embedded && META.contains(&key.as_str()) {
                    return true;
                }
                if let Some(property) = schema.property(key) {
                    self.push(key);
                    self.prune(field, Some(property), property.embedded);
                } else if schema.has_additional() {
                    self.push(key);
                    let additional = schema.additional_schema();
                    self.prune(field, additional, additional.is_some_and(|s| s.embedded));
                } else {
                    if !META.contains(&key.as_str()) || length > 0 {
                        self.record(key);
                    }
                    return false;
                }
                self.path.truncate(length);
                true
            }),
            Value::Array(items) => {
                let schema = schema.and_then(|s| s.items.as_deref());
                for (i, item) in items.iter_mut().enumerate() {
                    self.index(i);
                    self.prune(item, schema, schema.is_some_and(|s| s.embedded));
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// Everything stays here; what is specified further down is pruned again.
    fn skip(&mut self, value: &mut Value, schema: &Structural, embedded: bool) {
        let length = self.path.len();
        match value {
            Value::Object(fields) => {
                for (key, field) in fields.iter_mut() {
                    if embedded && META.contains(&key.as_str()) {
                        continue;
                    }
                    if let Some(property) = schema.property(key) {
                        self.push(key);
                        self.prune(field, Some(property), property.embedded);
                    } else if schema.has_additional() {
                        self.push(key);
                        let additional = schema.additional_schema();
                        self.prune(field, additional, additional.is_some_and(|s| s.embedded));
                    }
                    self.path.truncate(length);
                }
            }
            Value::Array(items) => {
                let Some(schema) = schema.items.as_deref() else {
                    return;
                };
                for (i, item) in items.iter_mut().enumerate() {
                    self.index(i);
                    self.skip(item, schema, schema.embedded);
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    fn push(&mut self, key: &str) {
        if self.track {
            if !self.path.is_empty() {
                push_path(&mut self.path, ".");
            }
            push_path(&mut self.path, key);
        }
    }

    fn index(&mut self, i: usize) {
        if self.track {
            push_path(&mut self.path, &format!("[{i}]"));
        }
    }

    fn record(&mut self, key: &str) {
        if self.track && self.unknown.len() < MAX_FIELD_ERRORS {
            let length = self.path.len();
            self.push(key);
            self.unknown.push(self.path.clone());
            self.path.truncate(length);
        }
    }
}
