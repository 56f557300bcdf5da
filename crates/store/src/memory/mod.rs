//! The store in memory.
//!
//! | file | contents |
//! |---|---|
//! | `tree` | the persistent ordered map that makes snapshots and forks cheap |
//! | `version` | the newest version of an object |
//! | `log` | the changes of a collection, for watchers and reads of the past |
//! | `state` | the content of a store, and the writes to it |
//! | `snapshot` | the state at a revision |
//! | `hub`, `watch` | watchers, and their cursors into the log |
//! | `engine` | writes ahead of readers, for engines that keep objects elsewhere |
//! | `replace` | the content replaced as a whole, for engines that have missed changes |
//! | `compaction` | periodic compaction, as in etcd |
//! | `limits`, `maintenance` | limits of history; expiry of objects and history |
//!
//! Invariants: one lock guards the state, and is never held across an await; revisions are assigned while it is held for
//! writing, so that readers always see all writes up to one revision; watchers are woken outside of it. Locks are taken in
//! this order: state, hubs, the watchers of a hub, its backlog.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Waker,
};

use async_trait::async_trait;
use parking_lot::{RwLock, RwLockWriteGuard};
use tokio::{sync::Notify, time::Instant};

use crate::{
    Entry, Key, Payload, ReadError, Revision, Snapshot, Store, Updated, Watch, WriteError,
};
use hub::{Hub, Position};
use snapshot::MemorySnapshot;
use state::{Commit, State};
use watch::MemoryWatch;

mod compaction;
mod engine;
mod hub;
mod limits;
mod log;
mod maintenance;
mod replace;
mod snapshot;
mod state;
mod tree;
mod version;
mod watch;

pub use compaction::COMPACTION_INTERVAL;
pub use engine::{Applied, Contents, Staged, Stored, Unpublished};
pub use limits::Limits;

/// The maximum number of changes that a write drops because of their age, so that no write pays for a long pause.
const AGED_PER_WRITE: usize = 64;

/// A store in memory. A clone is the same store; [`fork`](Self::fork) makes another.
///
/// ```
/// use kubewright_store::{Key, MemoryStore, Payload, Store};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// let key = Key::new("pods", "default/web");
/// store.create(key.clone(), Payload::plain("{}")).await?;
///
/// let fork = store.fork();
/// let entry = fork.get(&key).await?.expect("an entry");
/// fork.delete(key.clone(), entry.revision).await?;
/// assert!(store.get(&key).await?.is_some());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
///
/// It drops history beyond its [`Limits`], for each collection separately. So there may be a snapshot of an old revision
/// although one of its collections does not reach back so far; reading that one fails with [`ReadError::Compacted`].
#[derive(Clone)]
pub struct MemoryStore {
    inner: Arc<Inner>,
}

/// The state that handles share.
struct Inner {
    state: RwLock<State>,
    hubs: RwLock<HashMap<Arc<str>, Arc<Hub>>>,
    limits: Limits,
    closed: AtomicBool,
    /// Notifies the maintenance of an earlier expiry, or of the end of the store.
    maintenance: Notify,
}

impl MemoryStore {
    /// Returns an empty store. The first write gets revision 1.
    pub fn new() -> Self {
        Self::starting_at(Revision(0))
    }

    /// Returns an empty store at a revision: the first write gets the next one, and no earlier one can be read.
    pub fn starting_at(revision: Revision) -> Self {
        Self::with_limits(revision, Limits::default())
    }

    /// Returns an empty store at a revision, with these limits.
    pub fn with_limits(revision: Revision, limits: Limits) -> Self {
        Self::holding(State::starting_at(revision), limits)
    }

    /// Returns another store with the same content, revision and history and a separate future. It takes constant time.
    /// Watchers stay with the original; lifetimes continue in both (each needs its own
    /// [`run_maintenance`](Self::run_maintenance)).
    pub fn fork(&self) -> Self {
        let state = self.inner.state.read().clone();
        Self::holding(state, self.inner.limits.clone())
    }

    /// Drops all history, so that the newest revision is the oldest that can be read, and returns it. Watchers that keep up
    /// are not affected.
    pub fn compact_now(&self) -> Revision {
        // Cannot fail: the newest revision is never in the future.
        self.inner.compact(None).unwrap_or_default()
    }

    /// Returns the number of changes that each collection has had, as far back as its log was started. A collection that was
    /// never written is missing.
    ///
    /// ```
    /// use kubewright_store::{Key, MemoryStore, Payload, Store};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let store = MemoryStore::new();
    /// let web = Key::new("pods", "default/web");
    /// let entry = store.create(web.clone(), Payload::plain("{}")).await?;
    /// store.delete(web, entry.revision).await?;
    /// assert_eq!(store.change_counts(), [("pods".into(), 2)]);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn change_counts(&self) -> Vec<(Arc<str>, u64)> {
        self.inner.state.read().change_counts()
    }

    /// Ends all watches after they have returned all changes. Reads and writes still work.
    pub fn close(&self) {
        self.inner.closed.store(true, Ordering::SeqCst);
        for hub in self.inner.hubs.read().values() {
            hub.wake_all();
        }
        self.inner.maintenance.notify_waiters();
    }

    fn holding(state: State, limits: Limits) -> Self {
        let inner = Inner {
            state: RwLock::new(state),
            hubs: RwLock::default(),
            limits,
            closed: AtomicBool::new(false),
            maintenance: Notify::new(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    fn created(&self, key: Key, payload: Payload) -> Result<Entry, WriteError> {
        let now = Instant::now();
        let collection = Arc::clone(&key.collection);
        let mut state = self.inner.state.write();
        let commit = state.create(key, payload, now)?;
        self.inner.finish(state, &collection, &commit, now);
        Ok(commit.change.entry.clone())
    }

    fn updated(
        &self,
        key: Key,
        expected: Revision,
        payload: Payload,
    ) -> Result<Updated, WriteError> {
        let now = Instant::now();
        let collection = Arc::clone(&key.collection);
        let mut state = self.inner.state.write();
        let (updated, commit) = state.update(key, expected, payload, now)?;
        if let Some(commit) = commit {
            self.inner.finish(state, &collection, &commit, now);
        }
        Ok(updated)
    }

    fn deleted(&self, key: Key, expected: Revision) -> Result<Entry, WriteError> {
        let now = Instant::now();
        let collection = Arc::clone(&key.collection);
        let mut state = self.inner.state.write();
        let commit = state.delete(key, expected, now)?;
        self.inner.finish(state, &collection, &commit, now);
        Ok(commit.change.entry.clone())
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn current(&self) -> Result<Revision, ReadError> {
        Ok(self.inner.state.read().current)
    }

    async fn snapshot(&self, at: Option<Revision>) -> Result<Arc<dyn Snapshot>, ReadError> {
        let snapshot = MemorySnapshot::take(&self.inner.state.read(), at)?;
        Ok(Arc::new(snapshot))
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, ReadError> {
        Ok(self.inner.state.read().entry(key))
    }

    async fn create(&self, key: Key, payload: Payload) -> Result<Entry, WriteError> {
        self.created(key, payload)
    }

    async fn update(
        &self,
        key: Key,
        expected: Revision,
        payload: Payload,
    ) -> Result<Updated, WriteError> {
        self.updated(key, expected, payload)
    }

    async fn delete(&self, key: Key, expected: Revision) -> Result<Entry, WriteError> {
        self.deleted(key, expected)
    }

    async fn watch(
        &self,
        collection: &str,
        prefix: &str,
        after: Revision,
    ) -> Result<Box<dyn Watch>, ReadError> {
        let watch = MemoryWatch::start(&self.inner, collection, prefix, after)?;
        Ok(Box::new(watch))
    }

    async fn compact(&self, floor: Revision) -> Result<(), ReadError> {
        self.inner.compact(Some(floor)).map(drop)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.inner.state.read();
        f.debug_struct("MemoryStore")
            .field("current", &state.current)
            .field("floor", &state.floor)
            .finish_non_exhaustive()
    }
}

impl Inner {
    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Finishes a write: enforces limits and notifies watchers.
    fn finish(
        &self,
        mut state: RwLockWriteGuard<'_, State>,
        collection: &str,
        commit: &Commit,
        now: Instant,
    ) {
        state.retain(collection, &self.limits, now, AGED_PER_WRITE);
        let hub = self.hubs.read().get(collection).cloned();
        if let Some(hub) = &hub {
            hub.push(commit.seq, &commit.change.entry.path);
        }
        let soonest = state
            .deadlines
            .first()
            .is_some_and(|(key, _)| key.1 == commit.change.revision);
        drop(state);
        if let Some(hub) = hub {
            hub.kick();
        }
        if soonest {
            self.maintenance.notify_one();
        }
    }

    /// Raises the floor, to the newest revision if it is `None`. Returns the floor.
    fn compact(&self, floor: Option<Revision>) -> Result<Revision, ReadError> {
        let mut state = self.state.write();
        let floor = floor.unwrap_or(state.current);
        let mut woken = Vec::new();
        let hubs = self.hubs.read();
        let forgotten = state.compact(floor, |collection, log| {
            let hub = hubs.get(collection);
            let needed = hub.and_then(|hub| hub.needed_from(&mut woken));
            let slowest = log.end().saturating_sub(self.limits.max_lag);
            needed.map_or(log.end(), |needed| needed.max(slowest))
        });
        drop(hubs);
        drop(state);
        woken.into_iter().for_each(Waker::wake);
        forgotten.map(|_| floor)
    }

    /// Adds a watcher to the hub of its collection.
    fn join(
        &self,
        collection: &Arc<str>,
        prefix: Arc<str>,
        position: Arc<Position>,
    ) -> (Arc<Hub>, u64) {
        let mut hubs = self.hubs.write();
        let hub = hubs.entry(Arc::clone(collection)).or_default();
        let id = hub.join(prefix, position);
        (Arc::clone(hub), id)
    }

    /// Removes a watcher, and its hub if it was the last.
    fn leave(&self, collection: &str, hub: &Hub, id: u64) {
        let mut hubs = self.hubs.write();
        let (empty, waker) = hub.leave(id);
        if empty {
            hubs.remove(collection);
        }
        drop(hubs);
        drop(waker);
    }
}
