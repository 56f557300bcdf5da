//! [`Policy`]: an [`Index`] that is always as new as the store.
//!
//! The index follows the store's log of the four collections. There is no task: whoever asks first after a write brings the index
//! up to date, before anything is decided. A write is noted by a counter, twice: the store wakes the watches of the index, and
//! the registry of roles and bindings notes its own writes before they are answered ([`Noted`](super::Noted)), since a store
//! may wake watchers late. As long as the counter stands where it stood when the index was last brought up to date, a
//! decision costs one comparison.
//!
//! The index goes from one revision of the store to a later one in one step, so a decision never sees a write without those
//! before it. If the log no longer reaches back, the index is built anew from a snapshot.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use kubewright_apiserver::request::UserInfo;
use kubewright_rbac::{GROUP, PolicyKind, PolicyRule};
use kubewright_store::{Change, ChangeKind, Range, ReadError, Revision, Store, Watch, WatchError};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};

use super::index::{Index, KINDS, MissingRole, RoleRef};
use crate::kinds::collection;

/// Attempts to begin to follow a store that drops its history meanwhile.
const ATTEMPTS: usize = 3;

/// The roles and bindings of a store.
pub(crate) struct Policy {
    store: Arc<dyn Store>,
    index: RwLock<Index>,
    written: Arc<Written>,
    /// The count of writes that the index includes.
    included: AtomicU64,
    follower: Mutex<Option<Follower>>,
}

/// Counts writes that may concern the index.
struct Written(AtomicU64);

/// The position of the index in the log.
struct Follower {
    watches: Vec<(PolicyKind, Box<dyn Watch>)>,
    revision: Revision,
    /// Changes that come after others which have not been read yet.
    ahead: Vec<(PolicyKind, Arc<Change>)>,
}

impl Wake for Written {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Policy {
    /// Returns the policy of a store. It is read when somebody asks for the first time.
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            index: RwLock::default(),
            written: Arc::new(Written(AtomicU64::new(1))),
            included: AtomicU64::new(0),
            follower: Mutex::new(None),
        }
    }

    /// Notes a write to a role or binding.
    pub(super) fn note(&self) {
        self.written.0.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns the index after bringing it up to date.
    pub(super) async fn index(&self) -> Result<RwLockReadGuard<'_, Index>, ReadError> {
        if !self.is_current() && !self.catch_up() {
            self.rebuild().await?;
        }
        Ok(self.index.read())
    }

    /// Returns the rules that apply to a user in a namespace, and the roles that do not exist.
    pub(super) async fn rules_for(
        &self,
        user: &UserInfo,
        namespace: &str,
    ) -> Result<(Vec<Arc<[PolicyRule]>>, Vec<MissingRole>), ReadError> {
        Ok(self.index().await?.rules_for(user, namespace))
    }

    /// Returns the rules of a role that a binding in a namespace refers to.
    pub(super) async fn role(
        &self,
        role: &RoleRef,
        namespace: &str,
    ) -> Result<Result<Arc<[PolicyRule]>, MissingRole>, ReadError> {
        Ok(self.index().await?.role(role, namespace).cloned())
    }

    fn is_current(&self) -> bool {
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
            let newer = |f: &Follower| f.revision >= following.revision;
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

    async fn read_all(&self) -> Result<(Index, Follower), ReadError> {
        let snapshot = self.store.snapshot(None).await?;
        let revision = snapshot.revision();
        let (mut index, mut watches) = (Index::default(), Vec::with_capacity(KINDS.len()));
        for kind in KINDS {
            let collection = collection(GROUP, kind.resource());
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

impl Follower {
    /// Reads every change up to one revision, in order. Changes beyond it are kept for the next time.
    fn read(&mut self, waker: &Waker) -> Result<Vec<(PolicyKind, Arc<Change>)>, WatchError> {
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

#[cfg(test)]
mod tests;
