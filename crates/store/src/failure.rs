//! [`Failure`]: an error of a backend that says what the caller can do about it.

/// An error of a backend, for [`ReadError::Backend`](crate::ReadError::Backend) and
/// [`WriteError::Backend`](crate::WriteError::Backend). Servers choose the status code of their response by its kind.
///
/// ```
/// use kubewright_store::{Failure, FailureKind, ReadError};
///
/// let failure = Failure::new(FailureKind::Unavailable, "no member of etcd answers");
/// let error = ReadError::from(failure);
/// assert_eq!(error.to_string(), "the store failed: no member of etcd answers");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The kind of the failure.
    pub kind: FailureKind,
    /// A sentence that says what is wrong and what to do.
    pub message: String,
}

/// The kind of a [`Failure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// The backend cannot be reached at the moment. Nothing was written.
    Unavailable,
    /// The write may have happened.
    OutcomeUnknown,
    /// The backend has too much to do. Nothing was written.
    Busy,
    /// The object is larger than the backend accepts. Nothing was written.
    TooLarge,
    /// Anything else, which the caller cannot do anything about.
    Internal,
}

impl Failure {
    /// Returns a failure.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}

impl From<Failure> for crate::ReadError {
    fn from(failure: Failure) -> Self {
        Self::Backend(Box::new(failure))
    }
}

impl From<Failure> for crate::WriteError {
    fn from(failure: Failure) -> Self {
        Self::Backend(Box::new(failure))
    }
}
