//! Lists that are sets or maps have no item twice.

use std::collections::HashMap;

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    limits::MAX_FIELD_ERRORS,
};
use serde_json::{Map, Value};

use super::model::{ListType, Structural};

/// Validates that the items of sets and maps differ. Of several equal items the second is reported.
///
/// ```
/// use kubewright_machinery::field::Path;
/// use kubewright_schema::structural::{Structural, validate_list_types};
/// use serde_json::json;
///
/// let schema = Structural::compile(&json!({
///     "type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set",
/// }))?;
/// let errors = validate_list_types(&json!(["a", "b", "a"]), &schema, &Path::new("tags"));
/// assert_eq!(errors[0].field, "tags[2]");
/// # Ok::<(), kubewright_schema::structural::CompileError>(())
/// ```
pub fn validate_list_types(value: &Value, schema: &Structural, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    if may_repeat(value, schema) {
        walk(value, schema, path, &mut errors);
    }
    errors
}

/// The longest list whose items are compared one by one.
const COMPARED: usize = 32;

/// Reports whether there may be duplicates, without building paths: hardly any object has some.
fn may_repeat(value: &Value, schema: &Structural) -> bool {
    if !schema.has_unique_lists {
        return false;
    }
    match value {
        Value::Object(fields) => fields.iter().any(|(key, field)| {
            let named = schema.property(key);
            let additional = schema.additional_schema();
            let schemas = named.into_iter().chain(additional);
            schemas.into_iter().any(|schema| may_repeat(field, schema))
        }),
        Value::Array(items) => {
            let repeats = match &schema.list {
                ListType::Set => any_pair(items, |a, b| a == b),
                ListType::Map(keys) => {
                    items.iter().any(|item| !item.is_object())
                        || any_pair(items, |a, b| {
                            keys.iter().all(|key| a.get(&**key) == b.get(&**key))
                        })
                }
                ListType::Unset | ListType::Atomic => false,
            };
            let below = |schema: &Structural| items.iter().any(|item| may_repeat(item, schema));
            repeats || schema.items.as_deref().is_some_and(below)
        }
        _ => false,
    }
}

/// Reports whether two items of a list are equal, or the list is too long to check here.
fn any_pair(items: &[Value], alike: impl Fn(&Value, &Value) -> bool) -> bool {
    let again = |(i, item): (usize, &Value)| items.iter().take(i).any(|other| alike(other, item));
    items.len() > COMPARED || items.iter().enumerate().any(again)
}

fn walk(value: &Value, schema: &Structural, path: &Path, errors: &mut ErrorList) {
    if !schema.has_unique_lists || errors.len() >= MAX_FIELD_ERRORS {
        return;
    }
    match value {
        Value::Object(fields) => {
            if let Some(additional) = schema.additional_schema() {
                for (key, field) in fields {
                    walk(field, additional, &path.key(key), errors);
                }
            }
            for (key, field) in fields {
                if let Some(property) = schema.property(key) {
                    walk(field, property, &path.child(key), errors);
                }
            }
        }
        Value::Array(items) => {
            match &schema.list {
                ListType::Set => {
                    let second = second_occurrences(items.iter());
                    errors.extend(
                        second
                            .into_iter()
                            .take(MAX_FIELD_ERRORS)
                            .map(|i| field::duplicate(&path.index(i), &items[i])),
                    );
                }
                ListType::Map(keys) => validate_keys(items, keys, path, errors),
                ListType::Unset | ListType::Atomic => {}
            }
            if let Some(schema) = schema.items.as_deref() {
                for (i, item) in items.iter().enumerate() {
                    walk(item, schema, &path.index(i), errors);
                }
            }
        }
        _ => {}
    }
}

fn validate_keys(items: &[Value], keys: &[Box<str>], path: &Path, errors: &mut ErrorList) {
    let other = items
        .iter()
        .position(|item| !item.is_object() && !item.is_null());
    if let Some(i) = other {
        let message = "must be an object for an array of list-type map";
        errors.push(field::invalid(&path.index(i), &items[i], message));
        return;
    }
    let key_of = |item: &Value| {
        let mut key = Map::new();
        for name in keys {
            if let Some(value) = item.get(&**name) {
                key.insert((**name).into(), value.clone());
            }
        }
        Value::Object(key)
    };
    if items.len() < 2 {
        return;
    }
    let all: Vec<Value> = items.iter().map(key_of).collect();
    let second = second_occurrences(all.iter());
    errors.extend(
        second
            .into_iter()
            .take(MAX_FIELD_ERRORS)
            .map(|i| field::duplicate(&path.index(i), &all[i])),
    );
}

/// The position of the second of every group of equal values.
fn second_occurrences<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<usize> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut out = Vec::new();
    for (i, value) in values.enumerate() {
        let times = seen.entry(value.to_string()).or_insert(0);
        *times += 1;
        if *times == 2 {
            out.push(i);
        }
    }
    out
}
