//! [`PatchOperation`]: one operation of a JSON patch.

use serde::Serialize;
use serde_json::Value;

/// An operation of a JSON patch (RFC 6902), as webhooks return them.
///
/// ```
/// use kubewright_webhook::{AdmissionResponse, PatchOperation};
/// use serde_json::json;
///
/// let label = PatchOperation::Add { path: "/metadata/labels/crew".into(), value: json!("pequod") };
/// assert_eq!(
///     serde_json::to_value(&label)?,
///     json!({"op": "add", "path": "/metadata/labels/crew", "value": "pequod"}),
/// );
/// assert!(AdmissionResponse::patched(vec![label]).is_allowed());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum PatchOperation {
    /// Sets a field, or inserts an item into a list.
    Add {
        /// The JSON pointer of the field or item.
        path: String,
        /// The value.
        value: Value,
    },
    /// Replaces a value, which must exist.
    Replace {
        /// The JSON pointer of the value.
        path: String,
        /// The new value.
        value: Value,
    },
    /// Removes a value, which must exist.
    Remove {
        /// The JSON pointer of the value.
        path: String,
    },
    /// Moves a value, which must exist.
    Move {
        /// The JSON pointer of the value.
        from: String,
        /// The JSON pointer of its new location.
        path: String,
    },
}
