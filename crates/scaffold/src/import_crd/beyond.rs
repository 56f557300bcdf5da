//! What must be said on top of a derived schema.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::keywords::strings;

/// What must be said on top of a derived schema to get the wanted one. `null` takes a key away.
pub(super) fn beyond(
    wanted: &Map<String, Value>,
    derived: &Value,
    doc: Option<&str>,
) -> Map<String, Value> {
    let mut derived = derived.as_object().cloned().unwrap_or_default();
    match doc {
        Some(doc) if is_plain(doc) => drop(derived.insert("description".to_owned(), json!(doc))),
        Some(doc) if doc.trim_start().starts_with('#') => {
            drop(derived.insert("title".to_owned(), Value::Null))
        }
        _ => {}
    }
    let mut extra = Map::new();
    for (key, value) in wanted {
        let equal = match (key.as_str(), derived.get(key)) {
            ("required", Some(has)) => sorted(has) == sorted(value),
            (_, has) => has == Some(value),
        };
        if !equal {
            extra.insert(key.clone(), value.clone());
        }
    }
    for key in derived.keys().filter(|key| !wanted.contains_key(*key)) {
        extra.insert(key.clone(), Value::Null);
    }
    extra
}

/// Whether a doc comment says exactly this: what derives a schema from it trims, and takes a heading for a title.
pub(super) fn is_plain(doc: &str) -> bool {
    doc.trim() == doc && !doc.starts_with('#') && !doc.contains(super::render::is_odd)
}

fn sorted(list: &Value) -> BTreeSet<&str> {
    strings(Some(list)).collect()
}
