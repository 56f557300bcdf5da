//! Writes values as YAML, byte for byte as a Kubernetes API server prints them.
//!
//! The output is YAML 1.1: block style, lists at the indent of their key, keys in natural order, lines folded after
//! column 80. A string is plain where it can be, and quoted where it would read as something else.
//!
//! A Kubernetes API server reads its own JSON as YAML before it prints it. Two consequences, which `reread` implements:
//! some strings come out folded, and a few values cannot be printed at all.
//!
//! | module | what it does |
//! |---|---|
//! | `emit` | lays out indents, dashes and colons |
//! | `scalar` | writes one string: style, escapes, folds |
//! | `resolve` | recognises plain words that would not read as strings |
//! | `timestamp` | recognises dates among them |
//! | `number` | prints numbers as Go does |
//! | `sort` | orders keys naturally |
//! | `reread` | applies what reading JSON as YAML does to a string |

mod emit;
mod number;
mod reread;
mod resolve;
mod scalar;
mod sort;
#[cfg(test)]
mod tests;
mod timestamp;

use serde_json::Value;

/// A value that has no YAML form. The message is the one that Kubernetes returns with code 500.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum YamlWriteError {
    /// A string holds a character that JSON allows unescaped and YAML does not.
    #[error("yaml: control characters are not allowed")]
    ControlCharacter,
    /// A key is longer than 1024 characters as JSON, or holds a line break that JSON leaves unescaped.
    #[error("yaml: did not find expected ',' or '}}'")]
    UnreadableKey,
}

/// Writes a value as YAML, with a line break at the end.
///
/// # Errors
///
/// Returns an error for a value that Kubernetes cannot print as YAML: control characters and overlong keys.
pub fn to_yaml(value: &Value) -> Result<String, YamlWriteError> {
    emit::document(value)
}
