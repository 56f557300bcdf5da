//! Reading fields of JSON objects. Absent, null and mistyped fields count as zero values, so printers never fail.
//!
//! Paths are written `&object["spec"]["replicas"]`: indexing a shared [`Value`] answers `null` for what is not there.

use serde_json::Value;

/// The object's name.
pub(super) fn name(object: &Value) -> &str {
    text(&object["metadata"]["name"])
}

/// A string, empty if absent.
pub(super) fn text(field: &Value) -> &str {
    field.as_str().unwrap_or_default()
}

/// A string, or `otherwise` if it is absent or empty.
pub(super) fn text_or<'a>(field: &'a Value, otherwise: &'a str) -> &'a str {
    match text(field) {
        "" => otherwise,
        text => text,
    }
}

/// An integer, zero if absent.
pub(super) fn int(field: &Value) -> i64 {
    field.as_i64().unwrap_or_default()
}

/// A boolean, false if absent.
pub(super) fn flag(field: &Value) -> bool {
    field.as_bool().unwrap_or_default()
}

/// The items of a list, none if absent.
pub(super) fn items(field: &Value) -> &[Value] {
    field.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// How many entries a list or map has.
pub(super) fn count(field: &Value) -> i64 {
    match field {
        Value::Array(items) => items.len() as i64,
        Value::Object(entries) => entries.len() as i64,
        _ => 0,
    }
}

/// The strings of a list, without whatever else it holds.
pub(super) fn texts(field: &Value) -> impl Iterator<Item = &str> {
    items(field).iter().filter_map(Value::as_str)
}

/// The string entries of a map, sorted by key.
pub(super) fn entries(field: &Value) -> Vec<(&str, &str)> {
    let mut entries: Vec<(&str, &str)> = field
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), text(value)))
        .collect();
    entries.sort_unstable();
    entries
}

/// An annotation of the object.
pub(super) fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][key].as_str()
}

/// Whether deletion of the object has begun.
pub(super) fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// The first condition of a type in a list of conditions.
pub(super) fn condition<'a>(conditions: &'a Value, ty: &str) -> Option<&'a Value> {
    items(conditions)
        .iter()
        .find(|condition| text(&condition["type"]) == ty)
}

/// Whether the first condition of a type has status `True`.
pub(super) fn is_condition_true(conditions: &Value, ty: &str) -> bool {
    condition(conditions, ty).is_some_and(|condition| text(&condition["status"]) == "True")
}
