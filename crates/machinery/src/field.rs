//! Field paths and field errors: what is wrong where. They add up to a 422 in [`crate::status::invalid`].
//!
//! The texts are those of Go's `field` package, since tools and people compare them.

use std::fmt;

use serde_json::Value;

/// A path to a field: `spec.containers[0].name`. Cheap to extend; rendered when an error needs it.
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
            Self(format!("{}.{name}", self.0))
        }
    }

    /// An item of a list.
    #[must_use]
    pub fn index(&self, i: usize) -> Self {
        Self(format!("{}[{i}]", self.0))
    }

    /// A key of a map.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
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
    /// Too many items.
    TooMany,
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
            Self::TooMany => "FieldValueTooMany",
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
            Self::TooMany => "Too many",
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

/// The value breaks a rule. The value is printed as JSON.
pub fn invalid(path: &Path, value: &Value, detail: impl Into<String>) -> FieldError {
    error(ErrorKind::Invalid, path, Some(value.to_string()), detail)
}

/// A string breaks a rule.
pub fn invalid_str(path: &Path, value: &str, detail: impl Into<String>) -> FieldError {
    error(ErrorKind::Invalid, path, Some(go_quote(value)), detail)
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
    error(ErrorKind::Duplicate, path, Some(value.to_string()), "")
}

/// The field may not be set (so).
pub fn forbidden(path: &Path, detail: impl Into<String>) -> FieldError {
    error(ErrorKind::Forbidden, path, None, detail)
}

/// The value names something that is not there.
pub fn not_found(path: &Path, value: &Value) -> FieldError {
    error(ErrorKind::NotFound, path, Some(value.to_string()), "")
}

/// The value is not one of those that are known; they are printed in the order given.
pub fn not_supported(path: &Path, value: &str, supported: &[&str]) -> FieldError {
    let detail = if supported.is_empty() {
        String::new()
    } else {
        let list: Vec<String> = supported.iter().map(|s| go_quote(s)).collect();
        format!("supported values: {}", list.join(", "))
    };
    error(ErrorKind::NotSupported, path, Some(go_quote(value)), detail)
}

/// Longer than allowed, in bytes. The value itself is not printed.
pub fn too_long(path: &Path, max: usize) -> FieldError {
    let detail = format!("may not be more than {max} bytes");
    error(ErrorKind::TooLong, path, None, detail)
}

/// More items than allowed.
pub fn too_many(path: &Path, actual: usize, max: usize) -> FieldError {
    let items = if max == 1 { "item" } else { "items" };
    error(
        ErrorKind::TooMany,
        path,
        Some(actual.to_string()),
        format!("must have at most {max} {items}"),
    )
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

/// What follows `… is invalid` in a 422: one error plain, several in brackets, equal ones once.
pub(crate) fn aggregate_suffix(errors: &[FieldError]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for e in errors {
        let text = e.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [] => String::new(),
        [one] => format!(": {one}"),
        many => format!(": [{}]", many.join(", ")),
    }
}

/// A string as Go's `%q` prints it.
pub fn go_quote(s: &str) -> String {
    let mut out = String::with_capacity(s.len() + 2);
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\u{b}' => out.push_str("\\v"),
            c if (c as u32) < 0x20 || c == '\u{7f}' => {
                out.push_str(&format!("\\x{:02x}", c as u32))
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
