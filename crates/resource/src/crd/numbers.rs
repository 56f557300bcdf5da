//! Finds the numbers in protobuf that the derive recorded in a schema.

use std::collections::BTreeMap;

use kubewright_machinery::limits::VALUE_DEPTH;
use serde_json::Value;

use crate::node::PROTOBUF;

/// Returns the numbers by the path of the field, such as `spec.moons.radius`.
pub(super) fn of(schema: &Value) -> BTreeMap<String, u16> {
    let mut found = BTreeMap::new();
    collect(schema, "", 0, &mut found);
    found
}

fn collect(schema: &Value, path: &str, depth: usize, found: &mut BTreeMap<String, u16>) {
    if depth > VALUE_DEPTH {
        return;
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let path = match path {
            "" => name.clone(),
            path => format!("{path}.{name}"),
        };
        let number = property.get(PROTOBUF).and_then(Value::as_u64);
        if let Some(number) = number.and_then(|number| u16::try_from(number).ok()) {
            found.insert(path.clone(), number);
        }
        collect(property, &path, depth + 1, found);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get(key) {
            collect(inner, path, depth + 1, found);
        }
    }
}
