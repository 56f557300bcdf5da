//! Compares a document's value with the value of a `test` operation.
//!
//! Objects and arrays compare by structure, everything else by its JSON text: the document's as the server would write
//! it, the patch's as it was written.

use kubewright_machinery::{go::JsonStyle, limits::VALUE_DEPTH};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Reports whether `found` is the value that the patch expects; a missing value expects `null`.
pub(super) fn same(found: &Value, expected: Option<&RawValue>) -> bool {
    same_at(found, expected.map_or("null", RawValue::get), 0)
}

fn same_at(found: &Value, expected: &str, depth: usize) -> bool {
    if depth > VALUE_DEPTH {
        return false;
    }
    match found {
        Value::Object(fields) => {
            let Ok(expected) = serde_json::from_str::<BTreeMap<String, &RawValue>>(expected) else {
                return false;
            };
            fields.len() == expected.len()
                && fields.iter().all(|(name, field)| {
                    expected
                        .get(name)
                        .is_some_and(|e| same_at(field, e.get(), depth + 1))
                })
        }
        Value::Array(items) => {
            let Ok(expected) = serde_json::from_str::<Vec<&RawValue>>(expected) else {
                return false;
            };
            items.len() == expected.len()
                && items
                    .iter()
                    .zip(expected)
                    .all(|(i, e)| same_at(i, e.get(), depth + 1))
        }
        // Its text is longer, and it may be long.
        Value::String(found) if found.len() > expected.len() => false,
        scalar => {
            let mut text = String::new();
            JsonStyle::Standard.write(&mut text, scalar);
            text == expected
        }
    }
}
