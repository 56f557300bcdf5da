//! Reads the keywords of a schema.

use serde_json::{Map, Value, json};

/// The keywords that belong to the position of an object and not to its type.
pub(super) const OF_THE_PLACE: [&str; 3] = ["description", "default", "nullable"];

/// Returns the key of a type: its schema without the keywords of the position.
pub(super) fn key(schema: &Map<String, Value>) -> String {
    let mut schema = schema.clone();
    for key in OF_THE_PLACE {
        schema.remove(key);
    }
    Value::Object(schema).to_string()
}

/// Returns the fields of an object.
pub(super) fn properties(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// Returns a keyword with a string value.
pub(super) fn text(schema: &Map<String, Value>, key: &str) -> Option<String> {
    schema.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// Returns the strings of a list.
pub(super) fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// Reports whether a schema is an int-or-string, by its extension.
pub(super) fn is_int_or_string(schema: &Map<String, Value>) -> bool {
    schema.get("x-kubernetes-int-or-string") == Some(&json!(true))
}

/// Removes the two types of an int-or-string, which `x-kubernetes-int-or-string` implies.
pub(super) fn without_the_obvious(schema: &mut Map<String, Value>) {
    let usual = json!([{"type": "integer"}, {"type": "string"}]);
    if is_int_or_string(schema) && schema.get("anyOf") == Some(&usual) {
        schema.remove("anyOf");
    }
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(|p| p.values_mut()) {
        if let Value::Object(property) = property {
            without_the_obvious(property);
        }
    }
    for below in ["items", "additionalProperties"] {
        if let Some(Value::Object(below)) = schema.get_mut(below) {
            without_the_obvious(below);
        }
    }
}
