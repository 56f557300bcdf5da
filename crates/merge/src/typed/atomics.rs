//! Finds atomic parts of a value.

use super::atom::{Atom, resolve};
use crate::fieldset::PathElement;
use crate::schema::{ListMerge, Schema};
use kubewright_machinery::limits::VALUE_DEPTH;
use serde_json::Value;

/// Returns the paths of the objects and lists in `value` that are one value by the schema, so that a merge would replace them.
///
/// Entries of maps are not looked into.
///
/// ```
/// use kubewright_merge::{schema::Deduced, typed};
/// use serde_json::json;
///
/// let config = json!({"labels": {"a": "1"}, "ports": [443]});
/// assert_eq!(typed::atomics(Deduced, &config), Vec::<String>::new(), "entries of maps are not looked into");
/// assert_eq!(typed::atomics(Deduced, &json!([1])), [""]);
/// ```
pub fn atomics<S: Schema>(schema: S, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    find(schema, value, "", 0, &mut found);
    found
}

fn find<S: Schema>(schema: S, value: &Value, path: &str, depth: usize, found: &mut Vec<String>) {
    if depth > VALUE_DEPTH {
        return;
    }
    match (resolve(schema, Some(value)), value) {
        (Atom::Map(atom), Value::Object(fields)) => {
            if atom.atomic {
                found.push(path.to_owned());
            }
            for (name, field) in fields {
                if let (Some(schema), true) = atom.child(name) {
                    let path = format!("{path}{}", PathElement::field(name));
                    find(schema, field, &path, depth + 1, found);
                }
            }
        }
        (Atom::List(atom), Value::Array(items)) => {
            if atom.merge == ListMerge::Atomic {
                found.push(path.to_owned());
            }
            for (i, item) in items.iter().enumerate() {
                let path = format!("{path}[{i}]");
                find(atom.item, item, &path, depth + 1, found);
            }
        }
        _ => {}
    }
}
