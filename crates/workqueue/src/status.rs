//! How a queue stands, and why there was nothing to get.

use std::fmt;

use crate::sync::Instant;

/// How a queue stands at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueStatus {
    /// Keys that can be handed out.
    pub queued: usize,
    /// Keys that workers have.
    pub processing: usize,
    /// Those of them that were added again meanwhile.
    pub to_run_again: usize,
    /// Keys that are to be added later.
    pub delayed: usize,
    /// When the first of them is due.
    pub next_due: Option<Instant>,
    /// Workers that wait for a key.
    pub waiting_workers: usize,
}

/// There is nothing to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryGetError {
    /// Nothing is queued at the moment.
    Empty,
    /// The queue is shut down, and nothing is left in it.
    ShutDown,
}

impl QueueStatus {
    /// Nothing is queued and nothing is processed. Something may be due later.
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
