//! Fields of a decoded object, to read and to set.
//!
//! What stands where an object or a list belongs is left alone: the kind's validation has a better word for it.

use serde_json::{Map, Value};

/// The object at a path, made where there is nothing.
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

/// Adds to the list at a path, which is made where there is nothing.
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
