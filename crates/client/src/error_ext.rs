//! [`ErrorExt`]: questions about the server's answer, for errors of every type.

use std::error::Error as StdError;

use kube::core::Status;

use crate::error::{Error, api_status, has};

/// Predicates on the server's response, for every error that carries or wraps one: [`Error`], [`kube::Error`], boxed
/// errors, `anyhow::Error`.
///
/// ```
/// use kube::core::Status;
/// use kubewright_client::{BoxError, ErrorExt};
///
/// let status = Status::failure("pods \"web\" is forbidden", "Forbidden").with_code(403);
/// let error: BoxError = kube::Error::Api(Box::new(status)).into();
/// assert!(error.is_forbidden());
/// assert!(!error.is_not_found());
/// ```
pub trait ErrorExt {
    /// Returns the `Status` that the server answered with, also where other errors wrap it.
    fn api_status(&self) -> Option<&Status>;

    /// Reports whether the object has changed meanwhile, or another field manager owns a field.
    fn is_conflict(&self) -> bool {
        has(self.api_status(), "Conflict", Some(409))
    }

    /// Reports whether the object or the resource does not exist.
    fn is_not_found(&self) -> bool {
        has(self.api_status(), "NotFound", Some(404))
    }

    /// Reports whether an object of that name exists already.
    fn is_already_exists(&self) -> bool {
        has(self.api_status(), "AlreadyExists", None)
    }

    /// Reports whether the request is not permitted.
    fn is_forbidden(&self) -> bool {
        has(self.api_status(), "Forbidden", Some(403))
    }

    /// Reports whether the object failed validation.
    fn is_invalid(&self) -> bool {
        has(self.api_status(), "Invalid", Some(422))
    }
}

impl ErrorExt for dyn StdError {
    fn api_status(&self) -> Option<&Status> {
        api_status(self)
    }
}

impl ErrorExt for dyn StdError + Send + Sync {
    fn api_status(&self) -> Option<&Status> {
        api_status(self)
    }
}

impl ErrorExt for kube::Error {
    fn api_status(&self) -> Option<&Status> {
        api_status(self)
    }
}

impl ErrorExt for Error {
    fn api_status(&self) -> Option<&Status> {
        api_status(self)
    }
}
