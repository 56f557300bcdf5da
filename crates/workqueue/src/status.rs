//! [`QueueStatus`] and [`TryGetError`].

use std::fmt;

use crate::sync::Instant;

/// The numbers of a queue at one moment.
///
/// ```
/// use std::time::Duration;
/// use kubewright_workqueue::WorkQueue;
///
/// let queue = WorkQueue::new();
/// queue.add("now");
/// queue.add_after("later", Duration::from_secs(60));
/// assert!(!queue.status().is_idle());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueStatus {
    /// Keys that can be handed out.
    pub queued: usize,
    /// Keys that are being processed.
    pub processing: usize,
    /// Keys being processed that were added again meanwhile.
    pub to_run_again: usize,
    /// Delayed keys.
    pub delayed: usize,
    /// The time at which the first delayed key is due.
    pub next_due: Option<Instant>,
    /// Workers that wait for a key.
    pub waiting_workers: usize,
}

/// The reason why there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryGetError {
    /// Nothing is queued at the moment.
    Empty,
    /// The queue is shut down, and nothing is left in it.
    ShutDown,
}

impl QueueStatus {
    /// Reports whether nothing is queued and nothing is processed. Delayed keys do not count.
    pub fn is_idle(&self) -> bool {
        self.queued == 0 && self.processing == 0
    }
}

impl fmt::Display for TryGetError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Empty => "nothing is queued",
            Self::ShutDown => "the queue is shut down",
        })
    }
}

impl std::error::Error for TryGetError {}
