//! [`Error`], the error of every client here, and [`api_status`], which finds a `Status` inside any error.

use std::{error::Error as StdError, sync::Arc, time::Duration};

use kube::core::{Status, response::reason::is_known};
use kubewright_machinery::{gvk::GroupVersion, rest_mapper::RestMapperError};

use crate::{
    discovery::GroupDiscoveryFailed,
    policy::{RateLimited, TimedOut, transient},
    stream::{DecodeError, OpenError},
};

/// A request that failed.
///
/// Errors can be cloned, because caches keep them and several callers may wait for one response.
///
/// ```
/// use kube::core::Status;
/// use kubewright_client::Error;
///
/// let status = Status::failure("pods \"web\" not found", "NotFound").with_code(404);
/// let error = Error::from(kube::Error::Api(Box::new(status)));
/// assert!(error.is_not_found());
/// assert_eq!(error.code(), Some(404));
/// ```
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The server answered with a failure.
    #[error("{}", .0.message)]
    Api(#[source] Box<Status>),
    /// The request is malformed and was not sent.
    #[error("{0}")]
    Request(String),
    /// The server could not be reached, or the connection broke.
    #[error("{0}")]
    Transport(#[source] Arc<kube::Error>),
    /// No complete response arrived in time.
    #[error("no response within {0:?}")]
    TimedOut(Duration),
    /// The client's own rate limiter could not admit the request before its deadline.
    #[error("{0}")]
    RateLimited(RateLimited),
    /// The response could not be decoded.
    #[error("cannot decode the response: {0}")]
    Decode(String),
    /// No resource, or more than one, matches the request.
    #[error(transparent)]
    Mapping(#[from] RestMapperError),
    /// Some API groups could not be discovered.
    #[error(transparent)]
    Discovery(#[from] GroupDiscoveryFailed),
    /// The server knows the group version but cannot list its resources at present.
    #[error("stale GroupVersion discovery: {0}")]
    Stale(GroupVersion),
}

/// Any error that can be sent to another thread.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// The result of a request.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Returns the `Status` that the server answered with, if `error` or one of its sources carries one.
///
/// Walks the chain of [`source`](StdError::source)s, so errors that wrap [`Error`] or [`kube::Error`] are seen through.
///
/// ```
/// use kube::core::Status;
/// use kubewright_client::api_status;
///
/// #[derive(Debug, thiserror::Error)]
/// #[error("cannot roll out")]
/// struct RolloutFailed(#[source] kube::Error);
///
/// let conflict = Status::failure("try again", "Conflict").with_code(409);
/// let error = RolloutFailed(kube::Error::Api(Box::new(conflict)));
/// assert_eq!(api_status(&error).unwrap().code, 409);
/// ```
pub fn api_status<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Status> {
    transient::chain(error).find_map(|error| {
        if let Some(status) = error.downcast_ref::<Status>() {
            return Some(status);
        }
        if let Some(status) = error.downcast_ref::<Box<Status>>() {
            return Some(status);
        }
        match (error.downcast_ref(), error.downcast_ref()) {
            (Some(kube::Error::Api(status)), _) | (_, Some(Error::Api(status))) => Some(&**status),
            _ => None,
        }
    })
}

/// Returns the first error of that type among `error` and its sources.
///
/// ```
/// use kubewright_client::{BoxError, find_source};
///
/// #[derive(Debug, thiserror::Error)]
/// #[error("cannot read the number")]
/// struct BadNumber(#[source] std::num::ParseIntError);
///
/// let error: BoxError = BadNumber("x".parse::<u32>().unwrap_err()).into();
/// assert!(find_source::<std::num::ParseIntError>(&*error).is_some());
/// assert!(find_source::<std::fmt::Error>(&*error).is_none());
/// ```
pub fn find_source<'a, E: StdError + 'static>(
    error: &'a (dyn StdError + 'static),
) -> Option<&'a E> {
    transient::find(error)
}

/// Reports whether the server rejected a write because the object has changed meanwhile, or because another field manager
/// owns a field. Sees through wrappers, as [`api_status`] does.
///
/// ```
/// use kube::core::Status;
/// use kubewright_client::{BoxError, is_conflict};
///
/// let status = Status::failure("the object has been modified", "Conflict").with_code(409);
/// let error: BoxError = kube::Error::Api(Box::new(status)).into();
/// assert!(is_conflict(&*error));
/// ```
pub fn is_conflict(error: &(dyn StdError + 'static)) -> bool {
    has(api_status(error), "Conflict", Some(409))
}

/// Reports whether the object or the resource does not exist. Sees through wrappers, as [`api_status`] does.
///
/// ```
/// use kube::core::Status;
/// use kubewright_client::{BoxError, is_not_found};
///
/// let status = Status::failure("pods \"web\" not found", "NotFound").with_code(404);
/// let error: BoxError = kube::Error::Api(Box::new(status)).into();
/// assert!(is_not_found(&*error));
/// ```
pub fn is_not_found(error: &(dyn StdError + 'static)) -> bool {
    has(api_status(error), "NotFound", Some(404))
}

impl Error {
    /// Returns the `Status` that the server answered with, also where another error wraps it.
    pub fn status(&self) -> Option<&Status> {
        api_status(self)
    }

    /// Returns the HTTP status code, if the server answered with a failure.
    pub fn code(&self) -> Option<u16> {
        self.status().map(|status| status.code)
    }

    /// Reports whether the object or the resource does not exist.
    pub fn is_not_found(&self) -> bool {
        is_not_found(self)
    }

    /// Reports whether the object has changed meanwhile, or another field manager owns a field.
    pub fn is_conflict(&self) -> bool {
        is_conflict(self)
    }

    /// Reports whether an object of that name exists already.
    pub fn is_already_exists(&self) -> bool {
        self.has("AlreadyExists", None)
    }

    /// Reports whether the request is not permitted.
    pub fn is_forbidden(&self) -> bool {
        self.has("Forbidden", Some(403))
    }

    /// Reports whether the object failed validation.
    pub fn is_invalid(&self) -> bool {
        self.has("Invalid", Some(422))
    }

    /// Reports whether the resource version is no longer available, so that the caller has to list again.
    pub fn is_expired(&self) -> bool {
        self.has("Expired", None) || self.has("Gone", Some(410))
    }

    /// Reports whether the server rejected the request because of its load.
    pub fn is_too_many_requests(&self) -> bool {
        self.has("TooManyRequests", Some(429))
    }

    /// Returns how long the server asks the client to wait before it retries.
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.status()?.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds.into()))
    }

    /// Reports whether a retry may succeed: refused or broken connections, timeouts, 429 and 5xx.
    pub fn is_transient(&self) -> bool {
        if let Some(status) = self.status() {
            return status.code >= 500 || self.is_too_many_requests();
        }
        match self {
            Self::Transport(error) => {
                transient::is_connection_refused(&**error) || transient::is_broken(&**error)
            }
            Self::TimedOut(_) | Self::RateLimited(_) => true,
            _ => false,
        }
    }

    /// Converts the error of a body that broke while it was read.
    pub(crate) fn of_body(error: BoxError) -> Self {
        match error.downcast::<kube::Error>() {
            Ok(error) => Self::from(*error),
            Err(error) => Self::from(kube::Error::Service(error)),
        }
    }

    fn has(&self, reason: &str, code: Option<u16>) -> bool {
        has(self.status(), reason, code)
    }
}

/// The reason decides; the code does only where the reason is not a known one.
pub(crate) fn has(status: Option<&Status>, reason: &str, code: Option<u16>) -> bool {
    status.is_some_and(|status| {
        status.reason == reason || (!is_known(&status.reason) && Some(status.code) == code)
    })
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

    /// Wraps an error and shows only that error's own source, as `#[error(transparent)]` does.
    #[derive(Debug, thiserror::Error)]
    enum Transparent {
        #[error(transparent)]
        Ours(Error),
        #[error(transparent)]
        Kube(kube::Error),
        #[error(transparent)]
        Boxed(BoxError),
    }

    #[derive(Debug, thiserror::Error)]
    #[error("no luck")]
    struct Wrapped(#[source] BoxError);

    #[test]
    fn a_status_is_seen_inside_wrappers() {
        let kube = |reason, code| kube::Error::from(refused(reason, code));
        // A layer below the client that answers with a kube error of its own.
        let service = kube::Error::Service(Box::new(kube("Conflict", 409)));
        assert!(Error::from(service).is_conflict());
        let service = kube::Error::Service(Box::new(Wrapped(Box::new(kube("NotFound", 404)))));
        assert!(Error::from(service).is_not_found());
        let service = kube::Error::Service(Box::new(kube("Forbidden", 403)));
        assert!(Error::from(service).is_forbidden());
        let service = kube::Error::Service(Box::new(kube("TooManyRequests", 429)));
        assert!(Error::from(service).is_transient());

        let wrappers: [BoxError; 5] = [
            Box::new(Transparent::Ours(refused("Conflict", 409))),
            Box::new(Transparent::Kube(kube("Conflict", 409))),
            Box::new(Transparent::Boxed(Box::new(refused("Conflict", 409)))),
            Box::new(Wrapped(Box::new(Transparent::Kube(kube("Conflict", 409))))),
            Box::new(std::io::Error::other(kube("Conflict", 409))),
        ];
        for error in &wrappers {
            assert!(is_conflict(&**error), "{error:?}");
            assert!(!is_not_found(&**error), "{error:?}");
        }
    }
}
