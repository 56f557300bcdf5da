//! Fields that many kinds print: names, annotations, conditions.

use kubewright_machinery::json::Read;
use serde_json::Value;

/// Returns the object's name.
pub(super) fn name(object: &Value) -> &str {
    object["metadata"]["name"].text()
}

/// Returns the number of entries of a list or map.
pub(super) fn count(field: &Value) -> i64 {
    match field {
        Value::Array(items) => items.len() as i64,
        Value::Object(entries) => entries.len() as i64,
        _ => 0,
    }
}

/// Returns the entries of a map of strings, sorted by key.
pub(super) fn text_entries(field: &Value) -> impl Iterator<Item = (&str, &str)> {
    let entries = field.entries().into_iter();
    entries.map(|(key, value)| (key, value.text()))
}

/// Returns an annotation of the object.
pub(super) fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][key].as_str()
}

/// Reports whether deletion of the object has begun.
pub(super) fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Returns the first condition of a type in a list of conditions.
pub(super) fn condition<'a>(conditions: &'a Value, ty: &str) -> Option<&'a Value> {
    let mut conditions = conditions.items().iter();
    conditions.find(|condition| condition["type"].text() == ty)
}

/// Reports whether the first condition of a type has status `True`.
pub(super) fn is_condition_true(conditions: &Value, ty: &str) -> bool {
    condition(conditions, ty).is_some_and(|condition| condition["status"].text() == "True")
}
