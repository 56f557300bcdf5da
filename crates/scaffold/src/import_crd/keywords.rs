//! Reading the keywords of a schema.

use serde_json::{Map, Value, json};

/// What an object schema says about its place, not about its type.
pub(super) const OF_THE_PLACE: [&str; 3] = ["description", "default", "nullable"];

/// What makes a type: its schema without what belongs to the place.
pub(super) fn key(schema: &Map<String, Value>) -> String {
    let mut schema = schema.clone();
    for key in OF_THE_PLACE {
        schema.remove(key);
    }
    Value::Object(schema).to_string()
}

/// The fields of an object.
pub(super) fn properties(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// A keyword that is a text.
pub(super) fn text(schema: &Map<String, Value>, key: &str) -> Option<String> {
    schema.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// The texts of a list.
pub(super) fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// An integer or a string, by its extension.
pub(super) fn is_int_or_string(schema: &Map<String, Value>) -> bool {
    schema.get("x-kubernetes-int-or-string") == Some(&json!(true))
}

/// Takes out what `x-kubernetes-int-or-string` says too, and what definitions spell out: an integer or a string.
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
