//! Finds the positions in the source that the derive recorded in a schema.

use std::collections::BTreeMap;

use kubewright_machinery::limits::VALUE_DEPTH;
use serde_json::Value;

use crate::node::AT;

/// Returns the positions by their path in the schema, in the notation of the server:
/// `properties[spec].properties[mates].default`.
pub(super) fn of(schema: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect(schema, "", 0, &mut found);
    found
}

fn collect(schema: &Value, path: &str, depth: usize, found: &mut BTreeMap<String, String>) {
    if depth > VALUE_DEPTH {
        return;
    }
    let mut put = |path: String, position: &Value| {
        if let Some(position) = position.as_str() {
            found.insert(path, position.to_owned());
        }
    };
    if let Some(at) = schema.get(AT) {
        put(path.to_owned(), &at["attributes"]);
        if schema.get("default").is_some() {
            put(below(path, "default"), &at["default"]);
        }
    }
    let rules = schema
        .get("x-kubernetes-validations")
        .and_then(Value::as_array);
    for (n, rule) in rules.into_iter().flatten().enumerate() {
        if let Some(at) = rule.get(AT) {
            put(below(path, &format!("x-kubernetes-validations[{n}]")), at);
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let path = below(path, &format!("properties[{name}]"));
        collect(property, &path, depth + 1, found);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get(key) {
            collect(inner, &below(path, key), depth + 1, found);
        }
    }
}

fn below(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    }
}
