//! The options of a durable store.

use std::{fmt, str::FromStr, time::Duration};

use kubewright_store::{Limits, Revision};

use crate::Clock;

/// The size of the first segment of a log. Each next one is twice as large, up to the largest.
const FIRST_SEGMENT: u64 = 4 << 20;

/// The time at which an acknowledged write is on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// Before it is acknowledged: it survives a power cut.
    #[default]
    Always,
    /// At most 100 ms after it is acknowledged: it survives the end of the process, but not a power cut.
    Process,
}

/// A text that names no [`SyncMode`].
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
    /// The time at which an acknowledged write is on disk.
    pub sync: SyncMode,
    /// The limits of history in memory.
    pub limits: Limits,
    /// The time for which the log is kept on disk beyond what recovery needs, for `kubewright store log` and restoring a
    /// past state.
    pub history: Option<Duration>,
    /// The revision before the first write of a new store.
    pub first_revision: Revision,
    /// The largest size of a segment of the log.
    pub segment_bytes: u64,
    /// The size of the log after which a checkpoint is written, or half of the objects if that is more.
    pub checkpoint_bytes: u64,
    /// The clock of lifetimes and history.
    pub clock: Clock,
    /// Whether network file systems are accepted.
    pub allow_network_file_systems: bool,
    /// A latency to add to every sync, for measurements.
    pub added_sync_latency: Option<Duration>,
    /// Text for other processes that want the directory, such as the address of the server.
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
