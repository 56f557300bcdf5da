//! Findings on their way to field errors.

use kubewright_machinery::{
    field::{self, ErrorKind, ErrorList, FieldError, Path},
    go,
};
use serde_json::Value;

/// Where a value is. Rendered when something is wrong with it.
pub(super) enum Place<'a> {
    /// The object itself.
    Root,
    /// A field with a name of its own.
    Field(&'a Place<'a>, &'a str),
    /// A field whose name is data, or one that is missing.
    Entry(&'a Place<'a>, &'a str),
    /// An item of a list.
    Index(&'a Place<'a>, usize),
}

impl Place<'_> {
    fn render(&self) -> String {
        match self {
            Place::Root => String::new(),
            Place::Field(Place::Root, name) => (*name).to_owned(),
            Place::Field(parent, name) | Place::Entry(parent, name) => {
                format!("{}.{name}", parent.render())
            }
            Place::Index(parent, i) => format!("{}[{i}]", parent.render()),
        }
    }
}

/// What kind of wrong.
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
    /// No field can be blamed.
    Composite,
}

pub(super) struct Finding {
    name: String,
    /// What the validator says; equal texts are told once.
    text: String,
    fault: Fault,
}

/// What was found, and how many checks were passed: of several schemas the one that fits best is told of.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) errors: Vec<Finding>,
    pub(super) matched: usize,
}

impl Findings {
    pub(super) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    pub(super) fn add(&mut self, place: &Place<'_>, fault: Fault, text: impl Fn(&str) -> String) {
        let name = place.render();
        let text = text(&name);
        self.push(Finding { name, text, fault });
    }

    /// The value is not of that type; `actual` says what it is.
    pub(super) fn type_mismatch(&mut self, place: &Place<'_>, expected: &str, actual: &str) {
        self.add(place, Fault::Type(actual.into()), |name| {
            format!(
                "{name} in body must be of type {expected}: {}",
                go::quote(actual)
            )
        });
    }

    pub(super) fn composite(&mut self, place: &Place<'_>, text: impl Fn(&str) -> String) {
        self.add(place, Fault::Composite, |name| text(&go::quote(name)));
    }

    pub(super) fn merge(&mut self, other: Findings) {
        self.matched += other.matched;
        for finding in other.errors {
            self.push(finding);
        }
    }

    fn push(&mut self, finding: Finding) {
        if !self.errors.iter().any(|known| known.text == finding.text) {
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
