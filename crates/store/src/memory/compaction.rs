//! Compaction of past states, at the pace at which kube-apiserver compacts etcd.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::MemoryStore;
use crate::{Key, Payload, Revision, WriteError};

/// The time between two compactions of a cluster's store.
pub const COMPACTION_INTERVAL: Duration = Duration::from_secs(300);

/// The collection of the one object that each compaction writes.
pub(super) const MARKER: &str = "compact_rev_key";

impl MemoryStore {
    /// Calls [`compact_states`](Self::compact_states) at each interval with the revision of the call before, until the
    /// store closes. So a past state can be read for at least one interval and at most two, also while nothing is written.
    pub async fn run_compaction(&self, interval: Duration) {
        let mut floor = self.inner.state.read().current;
        loop {
            sleep(interval).await;
            if self.inner.is_closed() {
                return;
            }
            let Ok(revision) = self.compact_states(floor) else {
                // There are no more revisions, so nothing more is written either.
                return;
            };
            floor = revision;
        }
    }

    /// Forgets the states before a revision: snapshots of them answer [`ReadError::Compacted`](crate::ReadError::Compacted).
    /// The changes since then stay, so watches resume as before. Returns the revision of the compaction itself, which is a
    /// write, so that it leaves every state before it in the past.
    ///
    /// # Errors
    ///
    /// Fails if there are no more revisions.
    pub fn compact_states(&self, floor: Revision) -> Result<Revision, WriteError> {
        let now = Instant::now();
        let mut state = self.inner.state.write();
        let floor = floor.min(state.current);
        state.state_floor = state.state_floor.max(floor);
        let payload = Payload::plain(floor.0.to_string());
        let commit = state.overwrite(Key::new(MARKER, ""), payload, now)?;
        let revision = commit.change.revision;
        self.inner.finish(state, MARKER, &commit, now);
        Ok(revision)
    }
}
