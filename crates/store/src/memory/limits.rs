//! Limits of the history that a store keeps, and of the lag of watchers.

use std::time::Duration;

/// Limits of the memory of history. They apply to each collection, so that a busy one (events, leases) does not evict the
/// history of the others.
///
/// ```
/// use kubewright_store::{Limits, MemoryStore, Revision};
///
/// let forgetful = Limits { max_changes: 1000, ..Limits::default() };
/// let store = MemoryStore::with_limits(Revision(0), forgetful);
/// # drop(store);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of changes.
    pub max_changes: u64,
    /// The maximum age of a change.
    pub max_age: Duration,
    /// The maximum number of bytes that changes keep alive beside the newest objects.
    pub max_bytes: usize,
    /// The maximum number of changes that a watcher may be behind, and at most `max_changes`. A watcher that starts in the
    /// past may be further behind by as much, until it has caught up once.
    pub max_lag: u64,
}

impl Default for Limits {
    /// Ten minutes, 100,000 changes and 64 MiB; watchers may be 16,384 changes behind.
    fn default() -> Self {
        Self {
            max_changes: 100_000,
            max_age: Duration::from_secs(600),
            max_bytes: 64 << 20,
            max_lag: 16_384,
        }
    }
}
