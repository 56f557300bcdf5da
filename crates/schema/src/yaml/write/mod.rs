//! Writes values as YAML, byte for byte as a Kubernetes API server prints them.
//!
//! The output is YAML 1.1: block style, lists at the indent of their key, keys in natural order, lines folded after
//! column 80. A string is plain where it can be, and quoted where it would read as something else.
//!
//! A Kubernetes API server reads its own JSON as YAML before it prints it. Two consequences, which `reread` implements:
//! some strings are folded, and a few values cannot be printed.
//!
//! | module | contents |
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
    emit::document(value, |_| {})
}

/// The beginning of an entry or an item in YAML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct YamlPart<'a> {
    /// The number of collections around it, without its own.
    pub depth: usize,
    /// The step from its collection.
    pub step: YamlStep<'a>,
    /// The offset in the text, in bytes.
    pub at: usize,
}

/// A step from a collection to an entry or an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YamlStep<'a> {
    /// The entry with this key.
    Key(&'a str),
    /// The item at this index.
    Item(usize),
}

/// Writes a value as [`to_yaml`] does, and calls a function for each entry and item, in the order of the text.
///
/// ```
/// use kubewright_schema::yaml::{YamlStep, to_yaml_with};
/// use serde_json::json;
///
/// let mut parts = Vec::new();
/// let value = json!({"ports": [80]});
/// let text = to_yaml_with(&value, |part| match part.step {
///     YamlStep::Key(key) => parts.push((part.at, key.to_owned())),
///     YamlStep::Item(index) => parts.push((part.at, index.to_string())),
/// })?;
/// assert_eq!(text, "ports:\n- 80\n");
/// assert_eq!(parts, [(0, "ports".to_owned()), (7, "0".to_owned())]);
/// # Ok::<(), kubewright_schema::yaml::YamlWriteError>(())
/// ```
///
/// # Errors
///
/// Fails for the values for which [`to_yaml`] fails.
pub fn to_yaml_with(
    value: &Value,
    begun: impl FnMut(YamlPart<'_>),
) -> Result<String, YamlWriteError> {
    emit::document(value, begun)
}
