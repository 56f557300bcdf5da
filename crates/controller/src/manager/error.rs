//! [`ManagerError`]: why a manager ended, or refused.

use std::{fmt, time::Duration};

use kubewright_informer::NotSynced;

use crate::{builder::BuildError, leader_election::config::ConfigError, reconcile::BoxError};

/// Why a manager ended, or refused.
#[derive(Debug, thiserror::Error)]
pub enum ManagerError {
    /// A controller cannot be made.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// It runs already, or has run.
    #[error("manager already started")]
    AlreadyStarted,
    /// The manager has stopped, or is about to: nothing can be added.
    #[error("can't accept {0:?}: the manager has stopped")]
    Stopped(String),
    /// The election is not set up well.
    #[error(transparent)]
    Election(#[from] ConfigError),
    /// Caches could not be filled in time.
    #[error("caches did not sync within {timeout:?}: {}", Reasons(.reasons))]
    NotSynced {
        /// Which, and why.
        reasons: Vec<NotSynced>,
        /// How long it was waited for.
        timeout: Duration,
    },
    /// Something that it ran failed.
    #[error("{name}: {cause}")]
    Runnable {
        /// Its name.
        name: String,
        /// What it failed with.
        #[source]
        cause: BoxError,
    },
    /// Another process leads now.
    #[error("leader election lost")]
    LeaderElectionLost,
    /// Not everything ended in time.
    #[error("failed waiting for all runnables to end within grace period of {timeout:?}: {}", .running.join(", "))]
    ShutdownTimeout {
        /// How long it was waited for.
        timeout: Duration,
        /// Who had not ended.
        running: Vec<String>,
        /// What ended the manager, if that was an error.
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
