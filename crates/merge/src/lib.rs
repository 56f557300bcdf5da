//! JSON patch, merge patch, strategic merge patch, server-side apply and managed fields.

pub mod fieldset;
pub mod json_patch;
pub mod managed;
pub mod merge_patch;
pub mod schema;
pub mod strategic;
pub mod typed;

mod go_text;

use serde_json::Value;

/// The deepest nesting that any function of this crate follows; deeper input is an error.
pub const MAX_DEPTH: usize = 256;

/// How deep a value nests: 0 for a scalar. Does not recurse, so it is safe on any value.
fn depth_of(value: &Value) -> usize {
    let mut deepest = 0;
    let mut pending = vec![(value, 0)];
    while let Some((value, depth)) = pending.pop() {
        deepest = deepest.max(depth);
        match value {
            Value::Array(items) => pending.extend(items.iter().map(|v| (v, depth + 1))),
            Value::Object(fields) => pending.extend(fields.values().map(|v| (v, depth + 1))),
            _ => {}
        }
    }
    deepest
}
