//! Findings, which become field errors.

use kubewright_machinery::{
    field::{self, ErrorKind, ErrorList, FieldError, Path},
    go,
    limits::{MAX_ERROR_BYTES, MAX_FIELD_ERRORS, encoded_size, push_path},
};
use serde_json::Value;

/// The size of a value, or the most that errors may have.
fn size_of(value: &Value) -> usize {
    encoded_size(value, MAX_ERROR_BYTES).unwrap_or(MAX_ERROR_BYTES)
}

/// The position of a value, rendered only for findings.
pub(super) enum Position<'a> {
    /// The object itself.
    Root,
    /// A field that the schema lists by name.
    Field(&'a Position<'a>, &'a str),
    /// A field whose name is data, or one that is missing.
    Entry(&'a Position<'a>, &'a str),
    /// An item of a list.
    Index(&'a Position<'a>, usize),
}

impl Position<'_> {
    fn render(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        let name = match self {
            Position::Root => return,
            Position::Field(Position::Root, name) => name,
            Position::Field(parent, name) | Position::Entry(parent, name) => {
                parent.write(out);
                out.push('.');
                name
            }
            Position::Index(parent, i) => {
                parent.write(out);
                push_path(out, &format!("[{i}]"));
                return;
            }
        };
        push_path(out, name);
    }
}

/// The kind of a finding.
pub(super) enum Fault {
    Required,
    Enum(Value, Vec<String>),
    TooLong(i64),
    TooMany {
        actual: i64,
        most: i64,
    },
    Type(Value),
    Invalid(Value),
    /// No single field is at fault.
    Composite,
}

pub(super) struct Finding {
    name: String,
    /// The message; equal messages are reported once.
    text: String,
    fault: Fault,
}

/// The findings and the number of passed checks: of several schemas, the best match is reported.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) errors: Vec<Finding>,
    pub(super) matched: usize,
    /// The bytes of the errors.
    bytes: usize,
}

impl Findings {
    pub(super) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// Reports whether the maximum number of errors is reached.
    pub(super) fn is_full(&self) -> bool {
        self.errors.len() >= MAX_FIELD_ERRORS || self.bytes >= MAX_ERROR_BYTES
    }

    /// Returns the same without errors.
    pub(super) fn without_errors(self) -> Self {
        Findings {
            matched: self.matched,
            ..Findings::default()
        }
    }

    pub(super) fn add(
        &mut self,
        position: &Position<'_>,
        fault: Fault,
        text: impl Fn(&str) -> String,
    ) {
        if self.is_full() {
            return;
        }
        let name = position.render();
        let text = text(&name);
        self.push(Finding { name, text, fault });
    }

    /// The value is not of that type; `actual` is its type.
    pub(super) fn type_mismatch(&mut self, position: &Position<'_>, expected: &str, actual: &str) {
        self.add(position, Fault::Type(actual.into()), |name| {
            format!(
                "{name} in body must be of type {expected}: {}",
                go::quote(actual)
            )
        });
    }

    pub(super) fn composite(&mut self, position: &Position<'_>, text: impl Fn(&str) -> String) {
        self.add(position, Fault::Composite, |name| text(&go::quote(name)));
    }

    pub(super) fn merge(&mut self, other: Findings) {
        self.matched += other.matched;
        for finding in other.errors {
            self.push(finding);
        }
    }

    fn push(&mut self, finding: Finding) {
        if self.is_full() {
            return;
        }
        let known = self.errors.iter().any(|known| known.text == finding.text);
        if !known {
            self.bytes += finding.size();
            self.errors.push(finding);
        }
    }

    pub(super) fn into_errors(self, path: &Path) -> ErrorList {
        self.errors
            .into_iter()
            .map(|f| f.into_error(path))
            .collect()
    }
}

impl Finding {
    fn size(&self) -> usize {
        let value = match &self.fault {
            Fault::Enum(value, values) => {
                let values = values.iter().map(String::len).sum::<usize>();
                size_of(value).saturating_add(values)
            }
            Fault::Type(value) | Fault::Invalid(value) => size_of(value),
            Fault::Required | Fault::TooLong(_) | Fault::TooMany { .. } | Fault::Composite => 0,
        };
        self.name.len() + self.text.len() + value
    }

    fn into_error(self, path: &Path) -> FieldError {
        let at = match self.name.strip_prefix('.').unwrap_or(&self.name) {
            "" => path.clone(),
            name => path.child(name),
        };
        match self.fault {
            Fault::Required => field::required(&at, ""),
            Fault::Enum(value, values) => {
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                FieldError {
                    value: field::invalid(&at, &value, "").value,
                    ..field::not_supported(&at, "", &values)
                }
            }
            Fault::TooLong(most) => match usize::try_from(most) {
                Ok(most) => field::too_long(&at, most),
                Err(_) => FieldError {
                    detail: "value is too long".into(),
                    ..field::too_long(&at, 0)
                },
            },
            Fault::TooMany { actual, most } => {
                let count = |n: i64| usize::try_from(n).unwrap_or(0);
                field::too_many(&at, count(actual), count(most))
            }
            Fault::Type(value) => field::type_invalid(&at, &value, self.text),
            Fault::Invalid(value) => field::invalid(&at, &value, self.text),
            Fault::Composite => FieldError {
                kind: ErrorKind::Invalid,
                ..field::invalid_str(path, "", self.text)
            },
        }
    }
}
