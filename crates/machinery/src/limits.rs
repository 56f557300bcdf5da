//! Limits on the depth of documents and values, which every crate shares.
//!
//! Trees are walked recursively, so a bound on their depth is what keeps input from exhausting a thread's stack.

use serde_json::Value;

/// The depth to which a document may nest arrays and objects: one that is read from JSON, YAML or protobuf, and schemas
/// in it.
///
/// Deeper documents are rejected with the message of Go's decoder, whose own bound is 10,000. This one leaves every
/// tree readable by `serde_json`, which gives up at 128, and walkable on the stack of any thread in debug builds too.
pub const DOCUMENT_DEPTH: usize = 120;

/// The depth to which values may nest while they are worked on.
///
/// Patches and merges can nest values deeper than the documents they were made of; the result is checked against
/// [`DOCUMENT_DEPTH`] when it is decoded as an object.
pub const VALUE_DEPTH: usize = 256;

/// Returns how deep a value nests: 0 for a scalar, 1 for an array of scalars. Stops counting behind [`VALUE_DEPTH`].
///
/// ```
/// use kubewright_machinery::limits::depth_of;
/// use serde_json::json;
///
/// assert_eq!(depth_of(&json!({"a": [1, {"b": 2}]})), 3);
/// ```
pub fn depth_of(value: &Value) -> usize {
    fn measure(value: &Value, left: usize) -> usize {
        let below = match value {
            Value::Array(items) if left > 0 => items.iter().map(|v| measure(v, left - 1)).max(),
            Value::Object(fields) if left > 0 => {
                fields.values().map(|v| measure(v, left - 1)).max()
            }
            _ => None,
        };
        below.map_or(0, |below| below + 1)
    }
    measure(value, VALUE_DEPTH + 1)
}
