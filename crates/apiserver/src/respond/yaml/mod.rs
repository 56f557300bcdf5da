//! Values as YAML, byte for byte as a Kubernetes API server prints them.
//!
//! The printed form is that of YAML 1.1: block style, lists level with the key they belong to, keys in natural order,
//! lines folded behind column 80. A string is plain where it can be, quoted where it would read as something else.
//!
//! A Kubernetes API server reads its own JSON as YAML before it prints it. Two things follow, and `reread` has them:
//! some strings come out folded, and a few values cannot be printed at all. Kinds of values and the order of the keys
//! on the way in make no difference.
//!
//! This module prints; YAML is read in `kubewright-schema`.
//!
//! | module | what it knows |
//! |---|---|
//! | `emit` | the layout: indents, dashes, colons |
//! | `scalar` | how one string is written: its style, escapes, folds |
//! | `resolve` | which plain words would read as something else than a string |
//! | `timestamp` | which of those are dates |
//! | `number` | numbers as Go prints them |
//! | `sort` | the natural order of keys |
//! | `reread` | what reading the JSON as YAML does to a string |

mod emit;
mod number;
mod reread;
mod resolve;
mod scalar;
mod sort;
#[cfg(test)]
mod tests;
mod timestamp;

use serde_json::{Value, json};

/// Why a value has no YAML form. The message is the one Kubernetes answers with, under code 500.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// A string holds a character that JSON allows unescaped and YAML does not.
    #[error("yaml: control characters are not allowed")]
    ControlCharacter,
    /// A key is longer than 1024 characters as JSON, or holds a line break that JSON leaves unescaped.
    #[error("yaml: did not find expected ',' or '}}'")]
    UnreadableKey,
}

/// A value as YAML text, with a line break at its end.
pub fn try_to_yaml(value: &Value) -> Result<String, YamlError> {
    emit::document(value)
}

/// A value as YAML text; where it has none, the `Status` that says so.
pub fn to_yaml(value: &Value) -> String {
    try_to_yaml(value).unwrap_or_else(|error| {
        let status = json!({
            "apiVersion": "v1",
            "kind": "Status",
            "metadata": {},
            "status": "Failure",
            "message": error.to_string(),
            "code": 500,
        });
        try_to_yaml(&status).unwrap_or_default()
    })
}
