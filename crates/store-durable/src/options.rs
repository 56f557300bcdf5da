//! The options of a durable store.

use std::{fmt, str::FromStr, time::Duration};

use kubewright_store::{Limits, Revision};

use crate::Clock;

/// The size of the first segment of a log. Each segment is twice as large as the previous one, up to the maximum.
const FIRST_SEGMENT: u64 = 4 << 20;

/// The durability of acknowledged writes.
///
/// ```
/// use kubewright_store_durable::SyncMode;
///
/// assert_eq!("process".parse(), Ok(SyncMode::Process));
/// assert_eq!(SyncMode::default().to_string(), "always");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// Writes are on disk before they are acknowledged, and survive power failures.
    #[default]
    Always,
    /// Writes are on disk at most 100 ms after they are acknowledged. They survive the end of the process, but not a power
    /// failure.
    Process,
}

/// An unknown [`SyncMode`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `always` or `process`")]
pub struct SyncModeError;

/// The options of a [`DurableStore`](crate::DurableStore).
///
/// ```
/// use kubewright_store_durable::{Options, SyncMode};
///
/// let options = Options { sync: SyncMode::Process, ..Options::default() };
/// # let _ = options;
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// The durability of acknowledged writes.
    pub sync: SyncMode,
    /// The limits of history in memory.
    pub limits: Limits,
    /// The time for which the log is kept beyond the needs of recovery, for `kubewright store log` and for restoring a past
    /// state.
    pub history: Option<Duration>,
    /// The revision before the first write to a new store.
    pub first_revision: Revision,
    /// The maximum size of a segment of the log.
    pub segment_bytes: u64,
    /// The size of the log at which a checkpoint is written, or half the size of the objects if that is larger.
    pub checkpoint_bytes: u64,
    /// The clock for lifetimes and history.
    pub clock: Clock,
    /// Whether network file systems are accepted.
    pub allow_network_file_systems: bool,
    /// A latency to add to every sync, for measurements.
    pub added_sync_latency: Option<Duration>,
    /// A description for other processes that try to use the directory, such as the address of the server.
    pub holder: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sync: SyncMode::Always,
            limits: Limits::default(),
            history: None,
            first_revision: Revision(0),
            segment_bytes: 64 << 20,
            checkpoint_bytes: 64 << 20,
            clock: Clock::default(),
            allow_network_file_systems: false,
            added_sync_latency: None,
            holder: String::new(),
        }
    }
}

impl Options {
    pub(crate) fn first_segment(&self) -> u64 {
        FIRST_SEGMENT.min(self.segment_bytes)
    }
}

impl FromStr for SyncMode {
    type Err = SyncModeError;

    fn from_str(text: &str) -> Result<Self, SyncModeError> {
        match text {
            "always" => Ok(Self::Always),
            "process" => Ok(Self::Process),
            _ => Err(SyncModeError),
        }
    }
}

impl fmt::Display for SyncMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Always => "always",
            Self::Process => "process",
        })
    }
}
