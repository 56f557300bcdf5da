//! Access to the fields of a decoded object.
//!
//! Values of the wrong type are left alone; validation reports them.

use serde_json::{Map, Value};

/// Returns the object at a path, and adds it if it is missing.
pub(super) fn object_mut<'a>(
    value: &'a mut Value,
    path: &[&str],
) -> Option<&'a mut Map<String, Value>> {
    let mut at = value;
    for part in path {
        at = make_object(at)?.entry(*part).or_insert(Value::Null);
    }
    make_object(at)
}

/// Appends to the list at a path, and adds it if it is missing.
pub(super) fn push(value: &mut Value, path: &[&str], item: Value) {
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    let Some(parent) = object_mut(value, parents) else {
        return;
    };
    match parent.entry(*last).or_insert(Value::Null) {
        Value::Array(items) => items.push(item),
        empty @ Value::Null => *empty = Value::Array(vec![item]),
        _ => {}
    }
}

fn make_object(value: &mut Value) -> Option<&mut Map<String, Value>> {
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}
