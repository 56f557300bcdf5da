//! [`ManagerError`]: the error of a manager.

use std::{fmt, time::Duration};

use kubewright_informer::{IndexError, NotSynced};

use kubewright_client::BoxError;

use crate::{builder::BuildError, leader_election::ElectionConfigError};

/// The error that ended a manager, or that it rejected a call with.
#[derive(Debug, thiserror::Error)]
pub enum ManagerError {
    /// A controller cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// An index of the cache cannot be added.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The manager runs already, or has run.
    #[error("manager already started")]
    AlreadyStarted,
    /// The manager has stopped, or is stopping: nothing can be added.
    #[error("can't accept {0:?}: the manager has stopped")]
    Stopped(String),
    /// The settings of the election are invalid.
    #[error(transparent)]
    Election(#[from] ElectionConfigError),
    /// Caches could not be filled in time.
    #[error("caches did not sync within {timeout:?}: {}", Reasons(.reasons))]
    NotSynced {
        /// The caches, with the reasons.
        reasons: Vec<NotSynced>,
        /// The time limit.
        timeout: Duration,
    },
    /// A runnable failed.
    #[error("{name}: {cause}")]
    Runnable {
        /// The name of the runnable.
        name: String,
        /// The error.
        #[source]
        cause: BoxError,
    },
    /// The Lease was lost to another process.
    #[error("leader election lost")]
    LeaderElectionLost,
    /// Not everything ended in time.
    #[error("failed waiting for all runnables to end within grace period of {timeout:?}: {}", .running.join(", "))]
    ShutdownTimeout {
        /// The time limit.
        timeout: Duration,
        /// The runnables that had not ended.
        running: Vec<String>,
        /// The error that ended the manager, if any.
        #[source]
        cause: Option<Box<ManagerError>>,
    },
}

struct Reasons<'a>(&'a [NotSynced]);

impl fmt::Display for Reasons<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, reason) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { "; " };
            write!(f, "{separator}{reason}")?;
        }
        Ok(())
    }
}
