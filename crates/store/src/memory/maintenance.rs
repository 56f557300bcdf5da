//! Maintenance: deletes expired objects and drops old history.
//!
//! Nothing else depends on it: a store without maintenance handles every read and write correctly, but keeps expired objects,
//! and old history until the next write to its collection. Time is that of tokio, which a test can pause.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::{Inner, MemoryStore};

/// The minimum interval between checks of history.
const SWEEP: Duration = Duration::from_secs(1);

/// The maximum number of changes that are dropped in one critical section.
const FORGOTTEN_AT_ONCE: usize = 512;

impl MemoryStore {
    /// Deletes objects when they expire and drops history when it is too old, until the store is closed. The owner of the
    /// store spawns it.
    pub async fn run_maintenance(&self) {
        let inner = &self.inner;
        loop {
            // Registered first, so that an earlier expiry or a close in between is not missed.
            let changed = inner.maintenance.notified();
            if inner.is_closed() {
                return;
            }
            self.expire_due();
            let sweep = inner.forget_aged(Instant::now());
            let expiry = inner.state.read().deadlines.first().map(|(key, _)| key.0);
            match [sweep, expiry].into_iter().flatten().min() {
                Some(next) => tokio::select! {
                    () = sleep_until(next) => {}
                    () = changed => {}
                },
                None => changed.await,
            }
        }
    }

    /// Deletes every expired object, each with its own revision, and returns their number.
    pub fn expire_due(&self) -> usize {
        let now = Instant::now();
        let mut expired = 0;
        while self.expire_one(now) {
            expired += 1;
        }
        expired
    }

    fn expire_one(&self, now: Instant) -> bool {
        let mut state = self.inner.state.write();
        let Some((collection, commit)) = state.expire(now) else {
            return false;
        };
        self.inner.finish(state, &collection, &commit, now);
        true
    }
}

impl Inner {
    /// Drops history that is too old. Returns when to check again.
    pub(super) fn forget_aged(self: &Arc<Self>, now: Instant) -> Option<Instant> {
        let names = self.state.read().collection_names();
        let mut next = None;
        for name in names {
            // In parts, so that writers get in between.
            while self
                .state
                .write()
                .retain(&name, &self.limits, now, FORGOTTEN_AT_ONCE)
            {}
            let state = self.state.read();
            let oldest = state.logs.get(&*name).and_then(|log| log.first());
            let due = oldest.and_then(|record| record.at.checked_add(self.limits.max_age));
            next = [next, due].into_iter().flatten().min();
        }
        next.map(|due: Instant| due.max(now + SWEEP))
    }
}
