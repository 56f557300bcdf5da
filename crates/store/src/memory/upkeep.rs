//! What time does to a store: objects whose lifetime is over are deleted, history that is too old is forgotten.
//!
//! Nothing else depends on this being run: a store without it answers every read and write correctly, but keeps objects
//! past their lifetime and old history until the next write to its collection. Time is tokio's, so it stands still where
//! a test has paused it.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::{Inner, MemoryStore};

/// History is looked at no more often than this.
const SWEEP: Duration = Duration::from_secs(1);

/// The most changes forgotten in one critical section.
const FORGOTTEN_AT_ONCE: usize = 512;

impl MemoryStore {
    /// Deletes objects as their lifetimes end and forgets history as it gets too old, until the store closes. The owner
    /// of the store spawns this if it wants either.
    pub async fn run_upkeep(&self) {
        let inner = &self.inner;
        loop {
            // Registered first, so that a shorter lifetime or a close in between is not missed.
            let changed = inner.upkeep.notified();
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

    /// Deletes every object whose lifetime is over by now, each with a revision of its own, and says how many.
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
    /// Forgets what is too old. The answer is when to look again.
    fn forget_aged(self: &Arc<Self>, now: Instant) -> Option<Instant> {
        let names = self.state.read().collection_names();
        let mut next = None;
        for name in names {
            // A part at a time, so that writers get in between.
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
