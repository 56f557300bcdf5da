//! [`Error`]: why a request has no result.
//!
//! Errors can be cloned, because caches keep them and several callers may wait for one answer.

use std::{sync::Arc, time::Duration};

use kube::core::{Status, response::reason::is_known};
use kubewright_machinery::{gvk::GroupVersion, rest_mapper::RestMapperError, scheme::SchemeError};

use crate::{
    discovery::GroupDiscoveryFailed,
    policy::{BoxError, RateLimited, TimedOut, transient},
    stream::{DecodeError, OpenError},
};

/// Why a request has no result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The server said no.
    #[error("{}", .0.message)]
    Api(Box<Status>),
    /// The request makes no sense; it was not sent.
    #[error("{0}")]
    Request(String),
    /// Nobody answered, or the connection broke.
    #[error("{0}")]
    Transport(Arc<kube::Error>),
    /// There was no whole answer in time.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The client's own rate limit would not let the request pass before its time was over.
    #[error("{0}")]
    RateLimited(RateLimited),
    /// The answer is not what was asked for.
    #[error("cannot decode the answer: {0}")]
    Decode(String),
    /// No resource, or no single one, is what was asked for.
    #[error(transparent)]
    Mapping(#[from] RestMapperError),
    /// A Rust type or a kind that the scheme does not know.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// Some API groups could not be discovered.
    #[error(transparent)]
    Discovery(#[from] GroupDiscoveryFailed),
    /// The server knows the group and version, and cannot say at present what is in it.
    #[error("stale GroupVersion discovery: {0}")]
    Stale(GroupVersion),
}

/// What a request ends in.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// What the server said, if it said no.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Api(status) => Some(status),
            _ => None,
        }
    }

    /// The HTTP code of the refusal, if the server said no.
    pub fn code(&self) -> Option<u16> {
        self.status().map(|status| status.code)
    }

    /// The object or the resource is not there.
    pub fn is_not_found(&self) -> bool {
        self.has("NotFound", Some(404))
    }

    /// Somebody else has changed the object meanwhile, or owns the field.
    pub fn is_conflict(&self) -> bool {
        self.has("Conflict", Some(409))
    }

    /// There is an object of that name.
    pub fn is_already_exists(&self) -> bool {
        self.has("AlreadyExists", None)
    }

    /// Not allowed.
    pub fn is_forbidden(&self) -> bool {
        self.has("Forbidden", Some(403))
    }

    /// The object breaks the rules of its kind.
    pub fn is_invalid(&self) -> bool {
        self.has("Invalid", Some(422))
    }

    /// That revision is no longer kept: list again.
    pub fn is_expired(&self) -> bool {
        self.has("Expired", None) || self.has("Gone", Some(410))
    }

    /// The server asks to be left alone for a while.
    pub fn is_too_many_requests(&self) -> bool {
        self.has("TooManyRequests", Some(429))
    }

    /// How long the server wants to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.status()?.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds.into()))
    }

    /// Whether the same request may succeed a little later: refused or broken connections, 429 and 5xx.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Api(status) => status.code >= 500 || self.is_too_many_requests(),
            Self::Transport(error) => {
                transient::is_connection_refused(&**error) || transient::is_broken(&**error)
            }
            Self::TimedOut(_) | Self::RateLimited(_) => true,
            _ => false,
        }
    }

    /// What broke a body while it was read.
    pub(crate) fn of_body(error: BoxError) -> Self {
        match error.downcast::<kube::Error>() {
            Ok(error) => Self::from(*error),
            Err(error) => Self::from(kube::Error::Service(error)),
        }
    }

    /// The reason decides, and the code where the reason is none that is known.
    fn has(&self, reason: &str, code: Option<u16>) -> bool {
        self.status().is_some_and(|status| {
            status.reason == reason || (!is_known(&status.reason) && Some(status.code) == code)
        })
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Api(status),
            kube::Error::BuildRequest(error) => Self::Request(error.to_string()),
            kube::Error::HttpError(error) => Self::Request(error.to_string()),
            kube::Error::SerdeError(error) => Self::Decode(error.to_string()),
            kube::Error::Service(error) => {
                if let Some(ours) = transient::find::<Self>(&*error) {
                    ours.clone()
                } else if let Some(TimedOut(after)) = transient::find(&*error) {
                    Self::TimedOut(*after)
                } else if let Some(limited) = transient::find::<RateLimited>(&*error) {
                    Self::RateLimited(limited.clone())
                } else {
                    Self::Transport(Arc::new(kube::Error::Service(error)))
                }
            }
            other => Self::Transport(Arc::new(other)),
        }
    }
}

impl From<Error> for kube::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Api(status) => Self::Api(status),
            other => Self::Service(Box::new(other)),
        }
    }
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error.to_string())
    }
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Refused { status, .. } => Self::Api(status),
            OpenError::Transport(error) => Self::from(kube::Error::Service(error)),
            OpenError::Decode(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(reason: &str, code: u16) -> Error {
        Error::Api(Box::new(Status::failure("no", reason).with_code(code)))
    }

    #[test]
    fn the_reason_decides_and_then_the_code() {
        assert!(refused("NotFound", 404).is_not_found());
        assert!(refused("", 404).is_not_found() && refused("Odd", 404).is_not_found());
        assert!(!refused("Expired", 404).is_not_found());
        // 409 is two things; only the reason tells them apart.
        assert!(refused("AlreadyExists", 409).is_already_exists());
        assert!(!refused("AlreadyExists", 409).is_conflict());
        assert!(refused("", 409).is_conflict() && !refused("", 409).is_already_exists());
        assert!(refused("Gone", 410).is_expired() && refused("Expired", 410).is_expired());
        assert!(refused("", 429).is_too_many_requests() && refused("", 429).is_transient());
    }

    #[test]
    fn errors_go_to_kube_and_back() {
        let there = kube::Error::from(refused("NotFound", 404));
        assert!(Error::from(there).is_not_found());
        let there = kube::Error::from(Error::Request("odd".into()));
        assert!(matches!(Error::from(there), Error::Request(_)));
        let limit = Duration::from_secs(3);
        let there = kube::Error::Service(Box::new(TimedOut(limit)));
        assert!(matches!(Error::from(there), Error::TimedOut(after) if after == limit));
    }
}
