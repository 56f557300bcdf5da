//! [`ReflectorError`]: what ended a list or a watch.

use std::time::Duration;

use kube::core::Status;
use kubewright_client::stream::response::BoxError;
use kubewright_client::stream::{DecodeError, OpenError};

use crate::metrics::RelistCause;

/// What ended a list or a watch.
#[derive(Debug, thiserror::Error)]
pub enum ReflectorError {
    /// The server said no, or ended the watch with an error.
    #[error("{status}")]
    Refused {
        /// What it said.
        #[source]
        status: Box<Status>,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// Nobody answered, or the connection broke.
    #[error("{error}")]
    Transport {
        /// What broke.
        #[source]
        error: BoxError,
        /// Nobody listens there.
        connection_refused: bool,
    },
    /// What came made no sense.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// The watch ended within a second and brought nothing.
    #[error("very short watch: it ended at once and brought nothing")]
    VeryShortWatch,
    /// Nothing came for so long.
    #[error("nothing came for {0:?}")]
    Stalled(Duration),
    /// A watch that should begin with the objects there are did not say where they end.
    #[error("the watch does not say where the initial events end")]
    NoEndMarker,
    /// The server has gone back to an older state, as one restored from a backup has.
    #[error("the server is at revision {got}, older than {seen} that was seen already")]
    WentBackwards {
        /// The revision that was seen.
        seen: String,
        /// The revision that came.
        got: String,
    },
    /// A list that is older than what was asked for.
    #[error("the list shows revision {got}, older than {wanted}")]
    StaleList {
        /// The revision that was asked for.
        wanted: String,
        /// The revision that came.
        got: String,
    },
}

impl ReflectorError {
    /// What the server said, if it said no.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Refused { status, .. } => Some(status),
            _ => None,
        }
    }

    /// The code of the refusal.
    pub fn code(&self) -> Option<u16> {
        self.status().map(|status| status.code)
    }

    /// The revision is gone: 410, by either of its reasons.
    pub fn is_expired(&self) -> bool {
        self.status().is_some_and(|status| {
            matches!(&*status.reason, "Expired" | "Gone") || status.code == 410
        })
    }

    /// The server does not have the revision yet.
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

    /// 429.
    pub fn is_too_many_requests(&self) -> bool {
        self.status()
            .is_some_and(|status| status.code == 429 || status.reason == "TooManyRequests")
    }

    /// Wait and try the same again, without a list.
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
