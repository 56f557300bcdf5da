//! A watcher: a cursor into the log of its collection.
//!
//! Watchers have no queue. A slow one costs nothing, and fails with [`Lagged`](WatchError::Lagged) if what it has
//! still to read is too far behind or no longer kept.

use std::{
    cell::Cell,
    future::poll_fn,
    sync::{Arc, atomic::Ordering},
    task::{Poll, Waker},
};

use async_trait::async_trait;

use super::{
    Inner,
    hub::{Hub, Position},
    log::Log,
    state::State,
};
use crate::{Change, ReadError, Revision, Watch, WatchError};

/// The maximum number of changes that are returned at once.
const BATCH: usize = 512;

/// The maximum size of the changes that are returned at once, unless it is one change. A watcher that does not read holds
/// them after the log has dropped them.
const BATCH_BYTES: usize = 32 << 10;

/// The maximum number of changes that are scanned in one critical section, since writers wait meanwhile.
const SCAN: usize = 2048;

/// A watch of a [`MemoryStore`](super::MemoryStore).
pub(super) struct MemoryWatch {
    inner: Arc<Inner>,
    hub: Arc<Hub>,
    id: u64,
    collection: Arc<str>,
    prefix: Arc<str>,
    position: Arc<Position>,
    /// The maximum lag.
    allowance: u64,
    /// The position up to which every match has been returned.
    seen: Cell<Revision>,
    lagged: Option<Revision>,
    /// Whether it has armed and not disarmed; the hub may have disarmed it since.
    armed: bool,
}

/// The result of a scan of the log.
enum Look {
    Changes(Vec<Arc<Change>>),
    /// No match so far, but there is more to scan.
    More,
    /// No match up to the end.
    Nothing,
    Lagged(Revision),
    Closed,
}

impl MemoryWatch {
    /// Starts a watch after a revision.
    pub(super) fn start(
        inner: &Arc<Inner>,
        collection: &str,
        prefix: &str,
        after: Revision,
    ) -> Result<Self, ReadError> {
        let collection: Arc<str> = collection.into();
        let prefix: Arc<str> = prefix.into();
        // Held until the watcher is registered, so that no compaction comes between.
        let state = inner.state.read();
        if after > state.current {
            return Err(ReadError::Future {
                requested: after,
                current: state.current,
            });
        }
        let floor = state.floor_of(&collection);
        if after < floor {
            return Err(ReadError::Compacted {
                requested: after,
                floor,
            });
        }
        let (cursor, end) = state
            .logs
            .get(&*collection)
            .map_or((0, 0), |log| (log.after(after), log.end()));
        let position = Arc::new(Position::default());
        position.cursor.store(cursor, Ordering::SeqCst);
        let (hub, id) = inner.join(&collection, Arc::clone(&prefix), Arc::clone(&position));
        Ok(Self {
            inner: Arc::clone(inner),
            hub,
            id,
            collection,
            prefix,
            position,
            allowance: inner.limits.max_lag.saturating_add(end - cursor),
            seen: Cell::new(after),
            lagged: None,
            armed: false,
        })
    }

    /// Scans for changes. `settled`: the watcher had settled when it last looked.
    fn look(&mut self, settled: bool) -> Look {
        if let Some(floor) = self.lagged {
            return Look::Lagged(floor);
        }
        // Checked before the log is read: what was written before the store closed is still returned.
        let closed = self.inner.is_closed();
        let mut look = self.look_once();
        if settled && matches!(look, Look::Lagged(_)) && self.catch_up() {
            look = self.look_once();
        }
        match look {
            Look::Nothing => {
                self.allowance = self.inner.limits.max_lag;
                if closed { Look::Closed } else { Look::Nothing }
            }
            Look::Lagged(floor) => {
                self.lagged = Some(floor);
                Look::Lagged(floor)
            }
            look => look,
        }
    }

    /// Moves a settled watcher to what it has not been woken for, if the log was trimmed past it.
    fn catch_up(&self) -> bool {
        let position = self.hub.unmatched_before(self.id);
        let behind = position > self.cursor();
        if behind {
            self.move_to(position);
        }
        behind
    }

    fn cursor(&self) -> u64 {
        self.position.cursor.load(Ordering::SeqCst)
    }

    fn move_to(&self, cursor: u64) {
        self.position.cursor.store(cursor, Ordering::SeqCst);
    }

    fn look_once(&self) -> Look {
        let state = self.inner.state.read();
        let look = match state.logs.get(&*self.collection) {
            Some(log) => self.look_at(log, &state),
            None => Look::Nothing,
        };
        if matches!(look, Look::Nothing) {
            self.seen.set(state.current);
        }
        look
    }

    fn look_at(&self, log: &Log, state: &State) -> Look {
        let mut cursor = self.cursor();
        if cursor < log.base() {
            return Look::Lagged(state.floor_of(&self.collection));
        }
        let mut found = Vec::new();
        let mut bytes = 0;
        for (seq, record) in log.from(cursor).take(SCAN) {
            if record.change.entry.path.starts_with(&*self.prefix) {
                let size = record.change.entry.bytes.len();
                let is_full = found.len() == BATCH || bytes + size > BATCH_BYTES;
                if is_full && !found.is_empty() {
                    break;
                }
                bytes += size;
                if found.is_empty() && log.end() - seq > self.allowance {
                    return Look::Lagged(state.floor_of(&self.collection));
                }
                found.push(Arc::clone(&record.change));
            }
            self.seen.set(record.change.revision);
            cursor = seq + 1;
        }
        self.move_to(cursor);
        self.step_back(log, cursor);
        if !found.is_empty() {
            Look::Changes(found)
        } else if cursor < log.end() {
            Look::More
        } else {
            Look::Nothing
        }
    }

    /// Moves over changes that do not match. Returns false if the log was trimmed past the watcher.
    fn advance(&self) -> bool {
        let state = self.inner.state.read();
        let Some(log) = state.logs.get(&*self.collection) else {
            self.seen.set(state.current);
            return true;
        };
        let mut cursor = self.cursor();
        if cursor < log.base() {
            return false;
        }
        for (seq, record) in log.from(cursor).take(SCAN) {
            if record.change.entry.path.starts_with(&*self.prefix) {
                break;
            }
            self.seen.set(record.change.revision);
            cursor = seq + 1;
        }
        self.move_to(cursor);
        self.step_back(log, cursor);
        if cursor == log.end() {
            self.seen.set(state.current);
        }
        true
    }

    /// Corrects the progress if the cursor is in the middle of the changes of one revision.
    fn step_back(&self, log: &Log, cursor: u64) {
        let next = log.get(cursor).map(|record| record.change.revision);
        if next.is_some_and(|next| next <= self.seen.get()) {
            self.seen.set(Revision(self.seen.get().0 - 1));
        }
    }

    /// Scans; if there is nothing, arms and scans again, so that no write in between is missed.
    fn look_or_wait(&mut self, waker: &Waker) -> Poll<Look> {
        let settled = self.position.settled.load(Ordering::SeqCst);
        let mut look = self.look(settled);
        if matches!(look, Look::Nothing) {
            self.position.settled.store(false, Ordering::SeqCst);
            let still_armed = self.hub.arm(self.id, waker);
            self.armed = true;
            look = self.look(settled && still_armed);
        }
        if matches!(look, Look::Nothing) {
            self.position.settled.store(true, Ordering::SeqCst);
            return Poll::Pending;
        }
        self.position.settled.store(false, Ordering::SeqCst);
        if std::mem::take(&mut self.armed) {
            self.hub.disarm(self.id);
        }
        Poll::Ready(look)
    }

    async fn changes(&mut self) -> Result<Vec<Arc<Change>>, WatchError> {
        loop {
            match poll_fn(|task| self.look_or_wait(task.waker())).await {
                Look::Changes(changes) => return Ok(changes),
                Look::Lagged(floor) => return Err(WatchError::Lagged { floor }),
                Look::Closed => return Err(WatchError::Closed),
                Look::More | Look::Nothing => tokio::task::yield_now().await,
            }
        }
    }
}

#[async_trait]
impl Watch for MemoryWatch {
    async fn next(&mut self) -> Result<Vec<Arc<Change>>, WatchError> {
        self.changes().await
    }

    fn progress(&self) -> Revision {
        if self.lagged.is_none() && !self.advance() {
            let settled = self.position.settled.load(Ordering::SeqCst);
            if settled && self.catch_up() {
                self.advance();
            }
        }
        self.seen.get()
    }
}

impl Drop for MemoryWatch {
    fn drop(&mut self) {
        self.inner.leave(&self.collection, &self.hub, self.id);
    }
}
