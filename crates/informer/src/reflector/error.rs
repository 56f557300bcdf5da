//! [`ReflectorError`]: the error that ended a list or a watch.

use std::time::Duration;

use kube::core::Status;
use kubewright_client::BoxError;
use kubewright_client::stream::{DecodeError, OpenError};

use crate::metrics::RelistCause;

/// The error that ended a list or a watch.
#[derive(Debug, thiserror::Error)]
pub enum ReflectorError {
    /// The server rejected the request, or ended the watch with an error.
    #[error("{status}")]
    Refused {
        /// The server's answer.
        #[source]
        status: Box<Status>,
        /// The time to wait that the server asks for.
        retry_after: Option<Duration>,
    },
    /// The server could not be reached, or the connection broke.
    #[error("{error}")]
    Transport {
        /// The cause.
        #[source]
        error: BoxError,
        /// True if the connection was refused.
        connection_refused: bool,
    },
    /// The stream could not be decoded.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// The watch ended within a second without an event.
    #[error("very short watch: it ended at once without an event")]
    VeryShortWatch,
    /// Nothing arrived for this long.
    #[error("nothing arrived for {0:?}")]
    Stalled(Duration),
    /// A watch that begins with the existing objects did not mark their end.
    #[error("the watch does not say where the initial events end")]
    NoEndMarker,
    /// The server went back to an older state, for example after a restore from a backup.
    #[error("the server is at revision {got}, older than {seen} which was seen before")]
    WentBackwards {
        /// The resource version that was seen before.
        seen: String,
        /// The resource version that arrived.
        got: String,
    },
    /// The list is older than requested.
    #[error("the list shows revision {got}, older than {wanted}")]
    StaleList {
        /// The requested resource version.
        wanted: String,
        /// The resource version that arrived.
        got: String,
    },
}

impl ReflectorError {
    /// Returns the `Status`, if the server answered with a failure.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Refused { status, .. } => Some(status),
            _ => None,
        }
    }

    /// Returns the HTTP status code, if the server answered with a failure.
    pub fn code(&self) -> Option<u16> {
        self.status().map(|status| status.code)
    }

    /// Reports whether the resource version has expired: 410, for either of its reasons.
    pub fn is_expired(&self) -> bool {
        self.status().is_some_and(|status| {
            matches!(&*status.reason, "Expired" | "Gone") || status.code == 410
        })
    }

    /// Reports whether the server does not have the resource version yet.
    pub fn is_too_large_resource_version(&self) -> bool {
        const CAUSE: &str = "ResourceVersionTooLarge";
        const MESSAGE: &str = "Too large resource version";
        let Some(status) = self.status() else {
            return false;
        };
        if status.reason != "Timeout" {
            return false;
        }
        let causes = status.details.iter().flat_map(|details| &details.causes);
        causes
            .into_iter()
            .any(|cause| cause.reason == CAUSE || cause.message == MESSAGE)
            || status.message.contains(MESSAGE)
    }

    /// Reports whether the server answered with 429.
    pub fn is_too_many_requests(&self) -> bool {
        self.status()
            .is_some_and(|status| status.code == 429 || status.reason == "TooManyRequests")
    }

    /// Reports whether the same request can be retried after a delay, without a list.
    pub(super) fn is_passing(&self) -> bool {
        self.is_too_many_requests()
            || matches!(
                self,
                Self::Transport {
                    connection_refused: true,
                    ..
                }
            )
    }

    pub(super) fn is_internal(&self) -> bool {
        self.status()
            .is_some_and(|status| status.reason == "InternalError")
    }

    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused {
                status,
                retry_after,
            } => retry_after.or_else(|| {
                let seconds = status.details.as_ref()?.retry_after_seconds;
                (seconds > 0).then(|| Duration::from_secs(seconds.into()))
            }),
            _ => None,
        }
    }

    pub(super) fn relist_cause(&self) -> RelistCause {
        match self {
            _ if self.is_expired() => RelistCause::Expired,
            _ if self.is_too_large_resource_version() => RelistCause::TooLarge,
            Self::Refused { .. } => RelistCause::Refused,
            Self::Transport { .. } | Self::Stalled(_) => RelistCause::Transport,
            Self::Malformed(_) | Self::NoEndMarker | Self::StaleList { .. } => {
                RelistCause::Malformed
            }
            Self::VeryShortWatch => RelistCause::ShortWatch,
            Self::WentBackwards { .. } => RelistCause::Backwards,
        }
    }
}

impl From<OpenError> for ReflectorError {
    fn from(error: OpenError) -> Self {
        let connection_refused = error.is_connection_refused();
        match error {
            OpenError::Refused {
                status,
                retry_after,
            } => Self::Refused {
                status,
                retry_after,
            },
            OpenError::Transport(error) => Self::Transport {
                error,
                connection_refused,
            },
            OpenError::Decode(error) => Self::Malformed(error),
        }
    }
}
