//! [`Following`]: an index that is always as new as the store.
//!
//! The index follows the store's log of some collections. There is no task: the first reader after a write brings the index
//! up to date, before anything is decided. A write is noted by a counter, twice: the store wakes the watches of the index, and
//! the registry of the kinds notes its own writes before they are answered ([`Noted`]), since a store may wake watchers late.
//! As long as the counter stands where it stood when the index was last brought up to date, asking costs one comparison.
//!
//! The index moves from one revision of the store to a later one in one step, so that no reader sees a write without
//! those before it. If the log no longer reaches back, the index is rebuilt from a snapshot.

mod noted;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use bytes::Bytes;
use kubewright_store::{Change, ChangeKind, Range, ReadError, Revision, Store, Watch, WatchError};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};

pub(crate) use noted::Noted;

/// Attempts to begin to follow a store that drops its history meanwhile.
const ATTEMPTS: usize = 3;

/// An index of the objects of some collections.
pub(crate) trait Index: Default + Send + Sync {
    /// Identifies a collection.
    type Kind: Copy + Send;

    /// Returns the collections of the store.
    fn collections() -> Vec<(Self::Kind, Arc<str>)>;

    /// Adds or replaces an object.
    fn put(&mut self, kind: Self::Kind, path: &Arc<str>, bytes: &Bytes);

    /// Removes an object.
    fn remove(&mut self, kind: Self::Kind, path: &str);
}

/// An index that follows a store.
pub(crate) struct Following<I: Index> {
    store: Arc<dyn Store>,
    index: RwLock<I>,
    written: Arc<Written>,
    /// The count of writes that the index includes.
    included: AtomicU64,
    follower: Mutex<Option<Follower<I::Kind>>>,
}

/// Counts writes that may concern the index.
struct Written(AtomicU64);

/// The position of the index in the log.
struct Follower<K> {
    watches: Vec<(K, Box<dyn Watch>)>,
    revision: Revision,
    /// Changes that come after others which have not been read yet.
    ahead: Vec<(K, Arc<Change>)>,
}

impl Wake for Written {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl<I: Index> Following<I> {
    /// Returns the index of a store. It is built on first use.
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            index: RwLock::default(),
            written: Arc::new(Written(AtomicU64::new(1))),
            included: AtomicU64::new(0),
            follower: Mutex::new(None),
        }
    }

    /// Notes a write to one of the collections.
    pub(crate) fn note(&self) {
        self.written.0.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns the index after bringing it up to date.
    pub(crate) async fn index(&self) -> Result<RwLockReadGuard<'_, I>, ReadError> {
        if !self.is_current() && !self.catch_up() {
            self.rebuild().await?;
        }
        Ok(self.index.read())
    }

    /// Calls a function with the index, unless bringing it up to date has to wait.
    pub(crate) fn peek<R>(&self, f: impl FnOnce(&I) -> R) -> Option<R> {
        (self.is_current() || self.catch_up()).then(|| f(&self.index.read()))
    }

    /// Returns whether the index includes every write that was noted.
    pub(crate) fn is_current(&self) -> bool {
        // Read in this order: a write that is counted in between makes them differ.
        let included = self.included.load(Ordering::SeqCst);
        included == self.written.0.load(Ordering::SeqCst)
    }

    /// Reads the log to its end. Returns false if it cannot be read.
    fn catch_up(&self) -> bool {
        let mut follower = self.follower.lock();
        let written = self.written.0.load(Ordering::SeqCst);
        let Some(following) = follower.as_mut() else {
            return false;
        };
        let waker = Waker::from(self.written.clone());
        loop {
            let Ok(changes) = following.read(&waker) else {
                *follower = None;
                return false;
            };
            if !changes.is_empty() {
                let mut index = self.index.write();
                for (kind, change) in changes {
                    match change.kind {
                        ChangeKind::Deleted => index.remove(kind, &change.entry.path),
                        _ => index.put(kind, &change.entry.path, &change.entry.bytes),
                    }
                }
            }
            if following.ahead.is_empty() {
                break;
            }
        }
        // Stored last, so that others wait for the lock until the index includes the writes.
        self.included.store(written, Ordering::SeqCst);
        true
    }

    /// Builds the index from a snapshot, and follows the log from there.
    async fn rebuild(&self) -> Result<(), ReadError> {
        for attempt in 1.. {
            let (index, following) = match self.read_all().await {
                Err(ReadError::Compacted { .. }) if attempt < ATTEMPTS => continue,
                read => read?,
            };
            let mut follower = self.follower.lock();
            let newer = |f: &Follower<I::Kind>| f.revision >= following.revision;
            if !follower.as_ref().is_some_and(newer) {
                *self.index.write() = index;
                *follower = Some(following);
            }
            drop(follower);
            // A store that is closing cannot be followed, but what was read counts for this decision.
            self.catch_up();
            break;
        }
        Ok(())
    }

    async fn read_all(&self) -> Result<(I, Follower<I::Kind>), ReadError> {
        let snapshot = self.store.snapshot(None).await?;
        let revision = snapshot.revision();
        let (mut index, mut watches) = (I::default(), Vec::new());
        for (kind, collection) in I::collections() {
            let page = snapshot.range(&collection, Range::default()).await?;
            for entry in page.entries {
                index.put(kind, &entry.path, &entry.bytes);
            }
            let watch = self.store.watch(&collection, "", revision).await?;
            watches.push((kind, watch));
        }
        let follower = Follower {
            watches,
            revision,
            ahead: Vec::new(),
        };
        Ok((index, follower))
    }
}

impl<K: Copy> Follower<K> {
    /// Reads every change up to one revision, in order. Changes beyond it are kept for the next time.
    fn read(&mut self, waker: &Waker) -> Result<Vec<(K, Arc<Change>)>, WatchError> {
        let mut context = Context::from_waker(waker);
        let mut reached: Option<Revision> = None;
        for (kind, watch) in &mut self.watches {
            while let Poll::Ready(changes) = watch.next().as_mut().poll(&mut context) {
                let changes = changes?.into_iter().map(|change| (*kind, change));
                self.ahead.extend(changes);
            }
            let progress = watch.progress();
            reached = Some(reached.map_or(progress, |reached| reached.min(progress)));
        }
        let reached = reached.unwrap_or_default();
        self.revision = self.revision.max(reached);
        self.ahead.sort_by_key(|(_, change)| change.revision);
        let later = self
            .ahead
            .partition_point(|(_, change)| change.revision <= reached);
        let rest = self.ahead.split_off(later);
        Ok(std::mem::replace(&mut self.ahead, rest))
    }
}
