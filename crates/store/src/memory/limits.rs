//! How much history a store keeps, and how far behind a watcher may be.

use std::time::Duration;

/// Bounds on the memory that the past may take. They are of each collection, so that a busy one (events, leases) does
/// not push out the history of the others.
///
/// ```
/// use kubewright_store::{MemoryStore, Revision, memory::Limits};
///
/// let forgetful = Limits { max_changes: 1000, ..Limits::default() };
/// let store = MemoryStore::with_limits(Revision(0), forgetful);
/// # drop(store);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most changes that are kept.
    pub max_changes: u64,
    /// How long a change is kept.
    pub max_age: Duration,
    /// The most bytes that changes keep alive beyond the newest objects.
    pub max_bytes: usize,
    /// The most changes that a watcher may be behind; also no more than are kept. One that starts in the past may be as
    /// much more behind as its start was, until it has caught up once.
    pub max_lag: u64,
}

impl Default for Limits {
    /// Ten minutes, 100,000 changes, 64 MiB; watchers may be 16,384 changes behind.
    fn default() -> Self {
        Self {
            max_changes: 100_000,
            max_age: Duration::from_secs(600),
            max_bytes: 64 << 20,
            max_lag: 16_384,
        }
    }
}
