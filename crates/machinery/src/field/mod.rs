//! Field paths and field errors, which [`crate::status::invalid`] turns into a 422.
//!
//! The texts are those of Go's `field` package, since tools and people compare them.

mod path;

use std::fmt;

use serde_json::Value;

use crate::{
    go,
    limits::{MAX_ERROR_BYTES, MAX_FIELD_ERRORS, start_of},
};

pub use path::Path;

/// The longest value that an error prints, in bytes; of a longer one it prints the start.
const MAX_VALUE_BYTES: usize = 64 << 10;

/// The kind of a field error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The value refers to something that does not exist.
    NotFound,
    /// The field must be set.
    Required,
    /// The value occurs twice.
    Duplicate,
    /// The value breaks a rule.
    Invalid,
    /// The value is not one of the supported ones.
    NotSupported,
    /// The field may not be set, or not to this value.
    Forbidden,
    /// The value is too long.
    TooLong,
    /// The value is too short.
    TooShort,
    /// There are too many items.
    TooMany,
    /// There are too few items.
    TooFew,
    /// The value could not be checked.
    Internal,
    /// A value of the wrong type.
    TypeInvalid,
}

impl ErrorKind {
    /// Returns the reason of the cause in a `Status`: `FieldValueInvalid`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooShort => "FieldValueTooShort",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::Internal => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooShort => "Too short",
            Self::TooMany => "Too many",
            Self::TooFew => "Too few",
            Self::Internal => "Internal error",
        }
    }
}

/// An error of one field.
///
/// ```
/// use kubewright_machinery::field::{self, Path};
/// use serde_json::json;
///
/// let replicas = Path::new("spec").child("replicas");
/// let error = field::invalid(&replicas, &json!(-1), "must not be negative");
/// assert_eq!(error.to_string(), "spec.replicas: Invalid value: -1: must not be negative");
/// assert_eq!(error.kind.reason(), "FieldValueInvalid");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// The kind of a field error.
    pub kind: ErrorKind,
    /// The path of the field, rendered.
    pub field: String,
    /// The value as the message prints it, unless the message leaves it out.
    pub value: Option<String>,
    /// The rule that is broken.
    pub detail: String,
}

/// Field errors in the order they were found.
pub type ErrorList = Vec<FieldError>;

fn error(
    kind: ErrorKind,
    path: &Path,
    value: Option<String>,
    detail: impl Into<String>,
) -> FieldError {
    let field = match path.as_str() {
        "" => "<nil>".to_owned(),
        path => path.to_owned(),
    };
    FieldError {
        kind,
        field,
        value,
        detail: detail.into(),
    }
}

/// Creates an error for a value that breaks a rule. Strings are printed quoted, everything else as JSON.
pub fn invalid(path: &Path, value: &Value, detail: impl Into<String>) -> FieldError {
    error(ErrorKind::Invalid, path, Some(print(value)), detail)
}

/// Creates an error for a string that breaks a rule.
pub fn invalid_str(path: &Path, value: &str, detail: impl Into<String>) -> FieldError {
    error(ErrorKind::Invalid, path, Some(quote(value)), detail)
}

/// Creates an error for a value that breaks a rule and is printed as given.
pub fn invalid_raw(path: &Path, value: impl Into<String>, detail: impl Into<String>) -> FieldError {
    error(ErrorKind::Invalid, path, Some(value.into()), detail)
}

/// Creates an error for a field that must be set.
pub fn required(path: &Path, detail: impl Into<String>) -> FieldError {
    error(ErrorKind::Required, path, None, detail)
}

/// Creates an error for a value that occurs twice.
pub fn duplicate(path: &Path, value: &Value) -> FieldError {
    error(ErrorKind::Duplicate, path, Some(print(value)), "")
}

/// Creates an error for a field that may not be set, or not to this value.
pub fn forbidden(path: &Path, detail: impl Into<String>) -> FieldError {
    error(ErrorKind::Forbidden, path, None, detail)
}

/// Creates an error for a value that refers to something that does not exist.
pub fn not_found(path: &Path, value: &Value) -> FieldError {
    error(ErrorKind::NotFound, path, Some(print(value)), "")
}

/// Creates an error for a value that is not supported. The supported ones are printed in the order given.
pub fn not_supported(path: &Path, value: &str, supported: &[&str]) -> FieldError {
    let detail = if supported.is_empty() {
        String::new()
    } else {
        let list: Vec<String> = supported.iter().map(|s| go::quote(s)).collect();
        format!("supported values: {}", list.join(", "))
    };
    error(ErrorKind::NotSupported, path, Some(quote(value)), detail)
}

/// Creates an error for a value of too many bytes. The value itself is not printed.
pub fn too_long(path: &Path, max: usize) -> FieldError {
    let detail = format!("may not be more than {}", count(max, "byte"));
    error(ErrorKind::TooLong, path, None, detail)
}

/// Creates an error for a value of too many characters. The value itself is not printed.
pub fn too_long_characters(path: &Path, max: usize) -> FieldError {
    let detail = format!("may not be more than {}", count(max, "character"));
    error(ErrorKind::TooLong, path, None, detail)
}

/// Creates an error for a value of too few characters. The value itself is not printed.
pub fn too_short(path: &Path, min: usize) -> FieldError {
    let detail = format!("must be at least {}", count(min, "character"));
    error(ErrorKind::TooShort, path, None, detail)
}

/// Creates an error for a list of too many items.
pub fn too_many(path: &Path, actual: usize, max: usize) -> FieldError {
    error(
        ErrorKind::TooMany,
        path,
        Some(actual.to_string()),
        format!("must have at most {}", count(max, "item")),
    )
}

/// Creates an error for a list of too few items.
pub fn too_few(path: &Path, actual: usize, min: usize) -> FieldError {
    error(
        ErrorKind::TooFew,
        path,
        Some(actual.to_string()),
        format!("must have at least {}", count(min, "item")),
    )
}

/// Creates an error for a value of a wrong type. Strings are printed quoted, everything else as JSON.
pub fn type_invalid(path: &Path, value: &Value, detail: impl Into<String>) -> FieldError {
    error(ErrorKind::TypeInvalid, path, Some(print(value)), detail)
}

/// Creates an error for a value that could not be checked.
pub fn internal(path: &Path, detail: impl Into<String>) -> FieldError {
    error(ErrorKind::Internal, path, None, detail)
}

impl FieldError {
    /// Returns the number of bytes of the texts of the error.
    pub fn size(&self) -> usize {
        self.field.len() + self.value.as_ref().map_or(0, String::len) + self.detail.len()
    }

    /// Returns the message without the field: `Invalid value: "x": must be y`.
    pub fn body(&self) -> String {
        let mut out = self.kind.title().to_owned();
        if let Some(value) = &self.value {
            out.push_str(": ");
            out.push_str(value);
        }
        if !self.detail.is_empty() {
            out.push_str(": ");
            out.push_str(&self.detail);
        }
        out
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

/// Returns the errors that are reported: up to [`MAX_FIELD_ERRORS`], and those after which [`MAX_ERROR_BYTES`] are
/// exceeded are left out.
pub fn reported(errors: &[FieldError]) -> &[FieldError] {
    let mut bytes = 0usize;
    let within = errors.iter().take(MAX_FIELD_ERRORS).take_while(|error| {
        let before = bytes;
        bytes = bytes.saturating_add(error.size());
        before < MAX_ERROR_BYTES
    });
    &errors[..within.count()]
}

/// Joins errors into one text: a single one plain, several in brackets, equal ones once.
pub fn aggregate(errors: &[FieldError]) -> String {
    go::aggregate(errors.iter().map(FieldError::to_string))
}

fn print(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Number(n) if n.is_f64() => go::float(n.as_f64().unwrap_or_default()),
        other => {
            let mut text = go::json(other);
            if text.len() > MAX_VALUE_BYTES {
                text.truncate(start_of(&text, MAX_VALUE_BYTES).len());
                text.push_str("...");
            }
            text
        }
    }
}

/// Quotes a text, or the start of a long one.
fn quote(text: &str) -> String {
    match text.len() > MAX_VALUE_BYTES {
        false => go::quote(text),
        true => {
            let start = start_of(text, MAX_VALUE_BYTES);
            go::quote(start) + "..."
        }
    }
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::limits::MAX_PATH_BYTES;

    #[test]
    fn every_kind_of_error_has_its_text() {
        let path = Path::new("spec").child("items").index(0).key("k");
        for (error, text) in [
            (required(&path, ""), "Required value"),
            (required(&path, "why"), "Required value: why"),
            (forbidden(&path, "why"), "Forbidden: why"),
            (
                invalid(&path, &json!("a\u{1}"), "why"),
                "Invalid value: \"a\\x01\": why",
            ),
            (
                invalid(&path, &json!({"a": "<"}), "why"),
                "Invalid value: {\"a\":\"\\u003c\"}: why",
            ),
            (
                invalid(&path, &json!(null), "why"),
                "Invalid value: null: why",
            ),
            (
                type_invalid(&path, &json!(1.5), "why"),
                "Invalid value: 1.5: why",
            ),
            (duplicate(&path, &json!("a")), "Duplicate value: \"a\""),
            (not_found(&path, &json!("a")), "Not found: \"a\""),
            (
                not_supported(&path, "z", &["b", "a"]),
                "Unsupported value: \"z\": supported values: \"b\", \"a\"",
            ),
            (not_supported(&path, "z", &[]), "Unsupported value: \"z\""),
            (too_long(&path, 1), "Too long: may not be more than 1 byte"),
            (too_long(&path, 9), "Too long: may not be more than 9 bytes"),
            (
                too_long_characters(&path, 2),
                "Too long: may not be more than 2 characters",
            ),
            (
                too_short(&path, 1),
                "Too short: must be at least 1 character",
            ),
            (
                too_many(&path, 3, 1),
                "Too many: 3: must have at most 1 item",
            ),
            (
                too_few(&path, 0, 2),
                "Too few: 0: must have at least 2 items",
            ),
            (internal(&path, "why"), "Internal error: why"),
        ] {
            assert_eq!(error.to_string(), format!("spec.items[0][k]: {text}"));
        }
        assert_eq!(
            required(&Path::root(), "").to_string(),
            "<nil>: Required value"
        );
    }

    #[test]
    fn long_names_are_not_copied_for_everything_below_them() {
        let long = Path::new("spec").key(&"é".repeat(1 << 20));
        assert!(long.as_str().len() <= MAX_PATH_BYTES);
        assert_eq!(long.index(7).child("a"), long);
        let errors = vec![required(&long, ""); 100_000];
        assert!((100..1000).contains(&reported(&errors).len()));
        assert_eq!(reported(&[]).len(), 0);
        let large = vec![required(&Path::root(), "x".repeat(10 << 20)); 3];
        assert_eq!(reported(&large).len(), 1);
    }

    #[test]
    fn equal_errors_are_reported_once() {
        let (a, b) = (required(&Path::new("a"), ""), required(&Path::new("b"), ""));
        assert_eq!(aggregate(&[a.clone(), a.clone()]), "a: Required value");
        assert_eq!(
            aggregate(&[b.clone(), a.clone(), b]),
            "[b: Required value, a: Required value]"
        );
    }
}
