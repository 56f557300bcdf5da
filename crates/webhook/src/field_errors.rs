//! [`FieldErrors`]: the errors of an object by field.

use std::fmt;

use kubewright_controller::Result;
use kubewright_machinery::field::{self, FieldError, Path};
use serde::Serialize;

/// The errors of an object by field. A validator that returns them rejects the object with 422 and one cause for each field.
///
/// The path of a field is text, such as `spec.crew[2].name`, or a [`Path`].
///
/// ```
/// use kubewright_controller::Result;
/// use kubewright_webhook::FieldErrors;
///
/// fn validate(masts: i32, crew: &[&str]) -> Result<()> {
///     let mut errors = FieldErrors::new();
///     if masts < 1 {
///         errors.invalid("spec.masts", masts, "must be at least 1");
///     }
///     for (i, name) in crew.iter().enumerate() {
///         if name.is_empty() {
///             errors.required(format!("spec.crew[{i}].name"), "every sailor has a name");
///         }
///     }
///     errors.into_result()
/// }
///
/// assert!(validate(3, &["ahab"]).is_ok());
/// assert_eq!(
///     validate(0, &[""]).unwrap_err().to_string(),
///     "[spec.masts: Invalid value: 0: must be at least 1, spec.crew[0].name: Required value: every sailor has a name]",
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldErrors(Vec<FieldError>);

impl FieldErrors {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an error.
    pub fn push(&mut self, error: FieldError) {
        self.0.push(error);
    }

    /// Adds an error for a value that breaks a rule.
    pub fn invalid(
        &mut self,
        field: impl fmt::Display,
        value: impl Serialize,
        detail: impl Into<String>,
    ) {
        let value = serde_json::to_value(value).unwrap_or_default();
        self.push(field::invalid(&path(field), &value, detail));
    }

    /// Adds an error for a field that must be set.
    pub fn required(&mut self, field: impl fmt::Display, detail: impl Into<String>) {
        self.push(field::required(&path(field), detail));
    }

    /// Adds an error for a field that must not be set, or must not be changed.
    pub fn forbidden(&mut self, field: impl fmt::Display, detail: impl Into<String>) {
        self.push(field::forbidden(&path(field), detail));
    }

    /// Adds an error for a value that is not one of the supported ones.
    pub fn not_supported(&mut self, field: impl fmt::Display, value: &str, supported: &[&str]) {
        self.push(field::not_supported(&path(field), value, supported));
    }

    /// Adds an error for a value that occurs twice.
    pub fn duplicate(&mut self, field: impl fmt::Display, value: impl Serialize) {
        let value = serde_json::to_value(value).unwrap_or_default();
        self.push(field::duplicate(&path(field), &value));
    }

    /// Adds an error for a reference to something that does not exist.
    pub fn not_found(&mut self, field: impl fmt::Display, value: impl Serialize) {
        let value = serde_json::to_value(value).unwrap_or_default();
        self.push(field::not_found(&path(field), &value));
    }

    /// Reports whether there are no errors.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the errors.
    pub fn as_slice(&self) -> &[FieldError] {
        &self.0
    }

    /// Returns `Ok` if there are no errors.
    ///
    /// # Errors
    ///
    /// Returns the errors if there are any.
    pub fn into_result(self) -> Result<()> {
        match self.is_empty() {
            true => Ok(()),
            false => Err(self.into()),
        }
    }
}

impl Extend<FieldError> for FieldErrors {
    fn extend<I: IntoIterator<Item = FieldError>>(&mut self, errors: I) {
        self.0.extend(errors);
    }
}

impl fmt::Display for FieldErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&field::aggregate(&self.0))
    }
}

impl std::error::Error for FieldErrors {}

fn path(field: impl fmt::Display) -> Path {
    Path::new(&field.to_string())
}
