//! The errors of reconcilers: retried, terminal, or the end of a finalized object.

use std::{error::Error as StdError, fmt};

use kube::core::Status;
use kubewright_client::{BoxError, ErrorExt, find_source};

/// The result of a reconcile and of the functions it calls. `?` converts every error: those of kube and of this crate,
/// `anyhow::Error`, and boxed ones.
///
/// ```
/// use kubewright_controller::{Error, Result};
///
/// fn replicas(text: &str) -> Result<u32> {
///     if text.is_empty() {
///         return Err("no number of replicas".into());
///     }
///     // Retrying does not help before the object changes.
///     Ok(text.parse().map_err(Error::terminal)?)
/// }
/// assert!(replicas("x").is_err());
/// ```
pub type Result<T, E = BoxError> = std::result::Result<T, E>;

/// An error of a reconcile with its kind.
///
/// Reconcilers may fail with any error; it is retried. Use [`terminal`](Self::terminal) for those that must not be
/// retried. Other errors may wrap it.
///
/// ```
/// use kubewright_controller::{Error, ErrorKind};
///
/// let error = Error::terminal("the image has no tag");
/// assert_eq!(error.kind(), ErrorKind::Terminal);
/// assert_eq!(error.to_string(), "the image has no tag");
/// ```
#[derive(Debug)]
pub struct Error(Cause);

/// The cause of an error, with its kind.
///
/// An error of its own, since wrappers such as `anyhow::Error` show only the source of the error that they wrap.
#[derive(Debug)]
struct Cause {
    kind: ErrorKind,
    cause: BoxError,
}

/// The kind of a reconcile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// An error that is retried.
    Failed,
    /// An error that is not retried before another event requests the object.
    Terminal,
    /// A panic, which is retried.
    Panicked,
    /// A timeout, which is retried.
    TimedOut,
    /// The end of an object that is being deleted and whose finalizer has run. Counts as success.
    Finalized,
}

impl Error {
    /// Builds an error from a message. It is retried.
    pub fn message(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, text.into())
    }

    /// Builds an error that must not be retried before another event requests the object.
    pub fn terminal(cause: impl Into<BoxError>) -> Self {
        Self::new(ErrorKind::Terminal, cause)
    }

    pub(crate) fn finalized() -> Self {
        let text = "the object is being deleted, and its finalizer has run";
        Self::new(ErrorKind::Finalized, text)
    }

    pub(crate) fn new(kind: ErrorKind, cause: impl Into<BoxError>) -> Self {
        Self(Cause {
            kind,
            cause: cause.into(),
        })
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the cause.
    pub fn cause(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.0.cause
    }
}

/// Takes the kind of the [`Error`] that the error is or wraps.
impl From<BoxError> for Error {
    fn from(error: BoxError) -> Self {
        match error.downcast::<Self>() {
            Ok(error) => *error,
            Err(error) => {
                let kind = find_source::<Cause>(&*error).map(|cause| cause.kind);
                Self::new(kind.unwrap_or(ErrorKind::Failed), error)
            }
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.cause.fmt(f)
    }
}

impl StdError for Cause {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.source()
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            ErrorKind::Failed => "failed",
            ErrorKind::Terminal => "terminal error",
            ErrorKind::Panicked => "panicked",
            ErrorKind::TimedOut => "timed out",
            ErrorKind::Finalized => "finalized",
        })
    }
}

impl ErrorExt for Error {
    fn api_status(&self) -> Option<&Status> {
        kubewright_client::api_status(self.cause())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(error: impl Into<BoxError>) -> ErrorKind {
        Error::from(error.into()).kind()
    }

    #[test]
    fn wrappers_keep_the_kind_of_an_error() {
        let terminal = || Error::terminal("never");
        assert_eq!(kind_of(terminal()), ErrorKind::Terminal);
        assert_eq!(
            kind_of(std::io::Error::other(terminal())),
            ErrorKind::Terminal
        );
        let anyhow = anyhow::Error::from(terminal());
        assert_eq!(kind_of(anyhow), ErrorKind::Terminal);
        let context = anyhow::Error::from(terminal()).context("cannot roll out");
        assert_eq!(kind_of(context), ErrorKind::Terminal);
        assert_eq!(kind_of("no luck"), ErrorKind::Failed);
        assert_eq!(kind_of(anyhow::anyhow!("no luck")), ErrorKind::Failed);
    }

    #[test]
    fn every_error_knows_what_the_server_answered() {
        let forbidden = || {
            let status = Status::failure("no", "Forbidden").with_code(403);
            kube::Error::Api(Box::new(status))
        };
        let all: [BoxError; 5] = [
            forbidden().into(),
            Error::terminal(forbidden()).into(),
            anyhow::Error::from(forbidden()).into(),
            anyhow::Error::from(Error::terminal(forbidden()))
                .context("no")
                .into(),
            kubewright_client::Error::from(forbidden()).into(),
        ];
        for error in all {
            assert!(error.is_forbidden() && !error.is_conflict(), "{error:?}");
        }
        assert!(anyhow::Error::from(forbidden()).is_forbidden());
        assert!(Error::terminal(forbidden()).is_forbidden());
    }
}
