//! Field paths and field errors: what is wrong where. They add up to a 422 in [`crate::status::invalid`].
//!
//! The texts are those of Go's `field` package, since tools and people compare them.

use std::{collections::HashSet, fmt};

use serde_json::Value;

use crate::go;

/// A path to a field: `spec.containers[0].name`. Extending it costs one allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(String);

impl Path {
    /// The root, which renders as nothing.
    pub fn root() -> Self {
        Self::default()
    }

    /// A path that starts with a name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// A field below.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() {
            Self(name.into())
        } else {
            self.joined(&[".", name])
        }
    }

    /// An item of a list.
    #[must_use]
    pub fn index(&self, i: usize) -> Self {
        // The digits, from the last to the first.
        let mut digits = [0; 20];
        let (mut at, mut rest) = (digits.len(), i);
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let digits = std::str::from_utf8(&digits[at..]).unwrap_or_default();
        self.joined(&["[", digits, "]"])
    }

    /// A key of a map.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.joined(&["[", key, "]"])
    }

    /// Validation makes thousands of paths that no error needs: no formatting machinery, one allocation each.
    fn joined(&self, parts: &[&str]) -> Self {
        let more: usize = parts.iter().map(|part| part.len()).sum();
        let mut text = String::with_capacity(self.0.len() + more);
        text.push_str(&self.0);
        for part in parts {
            text.push_str(part);
        }
        Self(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What kind of wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The value names something that is not there.
    NotFound,
    /// The field must be set.
    Required,
    /// The value is there twice.
    Duplicate,
    /// The value breaks a rule.
    Invalid,
    /// The value is not one of those that are known.
    NotSupported,
    /// The field may not be set (so).
    Forbidden,
    /// Too long.
    TooLong,
    /// Too short.
    TooShort,
    /// Too many items.
    TooMany,
    /// Too few items.
    TooFew,
    /// Our own fault.
    Internal,
    /// A value of the wrong type.
    TypeInvalid,
}

impl ErrorKind {
    /// The reason that a cause carries: `FieldValueInvalid`.
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

/// One thing that is wrong with one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// What kind of wrong.
    pub kind: ErrorKind,
    /// Where, rendered.
    pub field: String,
    /// The value as messages print it, `None` where they do not.
    pub value: Option<String>,
    /// The rule.
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
    let field = if path.0.is_empty() {
        "<nil>".to_owned()
    } else {
        path.0.clone()
    };
    FieldError {
        kind,
        field,
        value,
        detail: detail.into(),
    }
}

/// The value breaks a rule. Strings are printed quoted, all else as JSON.
pub fn invalid(path: &Path, value: &Value, detail: impl Into<String>) -> FieldError {
    error(ErrorKind::Invalid, path, Some(print(value)), detail)
}

/// A string breaks a rule.
pub fn invalid_str(path: &Path, value: &str, detail: impl Into<String>) -> FieldError {
    error(ErrorKind::Invalid, path, Some(go::quote(value)), detail)
}

/// A value breaks a rule, and is printed as given.
pub fn invalid_raw(path: &Path, value: impl Into<String>, detail: impl Into<String>) -> FieldError {
    error(ErrorKind::Invalid, path, Some(value.into()), detail)
}

/// The field must be set.
pub fn required(path: &Path, detail: impl Into<String>) -> FieldError {
    error(ErrorKind::Required, path, None, detail)
}

/// The value is there twice.
pub fn duplicate(path: &Path, value: &Value) -> FieldError {
    error(ErrorKind::Duplicate, path, Some(print(value)), "")
}

/// The field may not be set (so).
pub fn forbidden(path: &Path, detail: impl Into<String>) -> FieldError {
    error(ErrorKind::Forbidden, path, None, detail)
}

/// The value names something that is not there.
pub fn not_found(path: &Path, value: &Value) -> FieldError {
    error(ErrorKind::NotFound, path, Some(print(value)), "")
}

/// The value is not one of those that are known; they are printed in the order given.
pub fn not_supported(path: &Path, value: &str, supported: &[&str]) -> FieldError {
    let detail = if supported.is_empty() {
        String::new()
    } else {
        let list: Vec<String> = supported.iter().map(|s| go::quote(s)).collect();
        format!("supported values: {}", list.join(", "))
    };
    error(
        ErrorKind::NotSupported,
        path,
        Some(go::quote(value)),
        detail,
    )
}

/// Longer than allowed, in bytes. The value itself is not printed.
pub fn too_long(path: &Path, max: usize) -> FieldError {
    let detail = format!("may not be more than {}", count(max, "byte"));
    error(ErrorKind::TooLong, path, None, detail)
}

/// Longer than allowed, in characters. The value itself is not printed.
pub fn too_long_characters(path: &Path, max: usize) -> FieldError {
    let detail = format!("may not be more than {}", count(max, "character"));
    error(ErrorKind::TooLong, path, None, detail)
}

/// Shorter than allowed, in characters. The value itself is not printed.
pub fn too_short(path: &Path, min: usize) -> FieldError {
    let detail = format!("must be at least {}", count(min, "character"));
    error(ErrorKind::TooShort, path, None, detail)
}

/// More items than allowed.
pub fn too_many(path: &Path, actual: usize, max: usize) -> FieldError {
    error(
        ErrorKind::TooMany,
        path,
        Some(actual.to_string()),
        format!("must have at most {}", count(max, "item")),
    )
}

/// Fewer items than needed.
pub fn too_few(path: &Path, actual: usize, min: usize) -> FieldError {
    error(
        ErrorKind::TooFew,
        path,
        Some(actual.to_string()),
        format!("must have at least {}", count(min, "item")),
    )
}

/// The value is of a wrong type. Strings are printed quoted, all else as JSON.
pub fn type_invalid(path: &Path, value: &Value, detail: impl Into<String>) -> FieldError {
    error(ErrorKind::TypeInvalid, path, Some(print(value)), detail)
}

/// Our own fault.
pub fn internal(path: &Path, detail: impl Into<String>) -> FieldError {
    error(ErrorKind::Internal, path, None, detail)
}

impl FieldError {
    /// The message without the field: `Invalid value: "x": must be y`.
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

/// All errors in one text: one plain, several in brackets, equal ones once.
pub fn aggregate(errors: &[FieldError]) -> String {
    let mut seen = HashSet::new();
    let texts = errors.iter().map(FieldError::to_string);
    let texts: Vec<String> = texts.filter(|t| seen.insert(t.clone())).collect();
    match texts.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

fn print(value: &Value) -> String {
    match value {
        Value::String(text) => go::quote(text),
        Value::Number(n) if n.is_f64() => go::float(n.as_f64().unwrap_or_default()),
        other => go::json(other),
    }
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
    fn equal_errors_are_told_once() {
        let (a, b) = (required(&Path::new("a"), ""), required(&Path::new("b"), ""));
        assert_eq!(aggregate(&[a.clone(), a.clone()]), "a: Required value");
        assert_eq!(
            aggregate(&[b.clone(), a.clone(), b]),
            "[b: Required value, a: Required value]"
        );
    }
}
