//! Limits on the depth and size of documents and values, which every crate shares.
//!
//! Trees are walked recursively, so a bound on their depth is what keeps input from exhausting a thread's stack. Steps
//! that can make an object larger than the request that caused them (defaults, patches, mutation, conversion) check its
//! size with [`fits`] or [`encoded_size`], so that a small request cannot fill the memory.

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

/// The largest body of a request, in bytes.
pub const MAX_REQUEST_BYTES: usize = 3 << 20;

/// The largest object that is stored, in bytes of its encoding: the request limit of etcd.
///
/// [`status::object_too_large`](crate::status::object_too_large) is the answer to a larger one.
pub const MAX_OBJECT_BYTES: usize = 3 << 19;

/// The most bytes that defaults, patches or conversions may add to an object before it is rejected.
///
/// It is larger than [`MAX_OBJECT_BYTES`], since later steps can remove fields again.
pub const MAX_ADDED_BYTES: usize = 2 * MAX_OBJECT_BYTES;

/// The largest object that a webhook or a mutating policy may pass on to the next one, in bytes of JSON.
pub const MAX_MUTATED_BYTES: usize = MAX_OBJECT_BYTES + MAX_ADDED_BYTES;

/// The longest path of a field that an error or a warning names, in bytes. Longer ones are cut.
///
/// Names of fields come from requests: without a bound, a long name would be copied for every path below it.
pub const MAX_PATH_BYTES: usize = 8 << 10;

/// Appends a part to the path of a field, as far as [`MAX_PATH_BYTES`] allows.
pub fn push_path(path: &mut String, part: &str) {
    path.push_str(start_of(part, MAX_PATH_BYTES.saturating_sub(path.len())));
}

/// Returns the start of a text: at most `bytes` of it, in whole characters.
///
/// ```
/// use kubewright_machinery::limits::start_of;
///
/// assert_eq!(start_of("né", 2), "n");
/// assert_eq!(start_of("né", 9), "né");
/// ```
pub fn start_of(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The maximum number of field errors that are reported for one object.
///
/// An error repeats its path and often the value, so without a bound a small object could have a huge response.
pub const MAX_FIELD_ERRORS: usize = 1000;

/// The bytes of field errors after which no more are reported for an object.
pub const MAX_ERROR_BYTES: usize = 1 << 20;

/// Returns whether the compact JSON encoding of a value has at most `limit` bytes.
///
/// Stops at the limit, so the cost does not depend on how far a value exceeds it.
///
/// ```
/// use kubewright_machinery::limits::{MAX_OBJECT_BYTES, fits};
/// use serde_json::json;
///
/// assert!(fits(&json!({"data": {"a": "b"}}), MAX_OBJECT_BYTES));
/// assert!(!fits(&json!({"data": "x".repeat(MAX_OBJECT_BYTES)}), MAX_OBJECT_BYTES));
/// ```
pub fn fits(value: &Value, limit: usize) -> bool {
    encoded_size(value, limit).is_some()
}

/// Returns the size of the compact JSON encoding of a value; `None` if it exceeds `limit`.
///
/// Escapes in strings and numbers with a fraction are not counted exactly: the result is at most the size of the real
/// encoding.
///
/// ```
/// use kubewright_machinery::limits::encoded_size;
/// use serde_json::json;
///
/// let value = json!({"a": [1, true, null], "b": "text"});
/// assert_eq!(encoded_size(&value, 100), Some(value.to_string().len()));
/// assert_eq!(encoded_size(&value, 10), None);
/// ```
pub fn encoded_size(value: &Value, limit: usize) -> Option<usize> {
    let mut left = limit;
    spend(value, &mut left)?;
    Some(limit - left)
}

/// Subtracts the size of a value from a budget.
fn spend(value: &Value, left: &mut usize) -> Option<()> {
    let mut take = |bytes: usize| {
        *left = left.checked_sub(bytes)?;
        Some(())
    };
    match value {
        Value::Null | Value::Bool(true) => take(4),
        Value::Bool(false) => take(5),
        Value::Number(number) => take(number_size(number)),
        Value::String(text) => take(text.len().saturating_add(2)),
        Value::Array(items) => {
            // Brackets and commas.
            take(2 + items.len().saturating_sub(1))?;
            items.iter().try_for_each(|item| spend(item, left))
        }
        Value::Object(fields) => {
            take(2 + fields.len().saturating_sub(1))?;
            fields.iter().try_for_each(|(key, field)| {
                // Quotes and a colon.
                *left = left.checked_sub(key.len().saturating_add(3))?;
                spend(field, left)
            })
        }
    }
}

fn number_size(number: &serde_json::Number) -> usize {
    let digits = |n: u64| n.checked_ilog10().unwrap_or(0) as usize + 1;
    match (number.as_u64(), number.as_i64()) {
        (Some(n), _) => digits(n),
        (None, Some(n)) => 1 + digits(n.unsigned_abs()),
        // The shortest float: `1e9`.
        (None, None) => 3,
    }
}

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
