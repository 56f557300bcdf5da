//! [`Error`]: what went wrong and what to do about it.

use std::{fmt, io, path::Path};

/// An error that the user can correct. Its message says what went wrong and what to do.
///
/// ```
/// let error = kubewright_scaffold::Error::new("there is no project here", "run `kubewright new`");
/// assert_eq!(error.to_string(), "there is no project here; run `kubewright new`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    /// Creates an error from what went wrong and what to do.
    pub fn new(problem: impl fmt::Display, advice: impl fmt::Display) -> Self {
        Error(format!("{problem}; {advice}"))
    }

    /// Creates the error of an operation on a file or directory: `cannot <action> <path>: ...`.
    pub fn io(action: &str, path: &Path, error: &io::Error) -> Self {
        let advice = match error.kind() {
            io::ErrorKind::PermissionDenied => "check its owner and your permissions",
            io::ErrorKind::NotFound => "check the path",
            io::ErrorKind::StorageFull => "free some disk space",
            _ => "check the path and retry",
        };
        Error(format!(
            "cannot {action} {}: {error}; {advice}",
            path.display()
        ))
    }
}
