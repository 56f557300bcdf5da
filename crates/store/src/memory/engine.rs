//! Staged and published state, for engines that keep objects elsewhere. See [`crate::engine`].

use std::{mem, ops::ControlFlow, sync::Arc, task::Waker, time::Duration};

use bytes::Bytes;
use tokio::time::Instant;

use super::{
    AGED_PER_WRITE, Inner, MemoryStore,
    compaction::MARKER,
    hub::Hub,
    state::{Commit, Objects, State},
    tree::Tree,
    version::{Content, Lifetime, Version},
};
use crate::{Change, Entry, Key, Payload, ReadError, Revision, Updated, WriteError};

/// The position in the log of a version whose change is not in the log.
const NOT_IN_LOG: u64 = u64::MAX;

/// The state of a store including writes that its readers do not see yet. See [`engine`](crate::engine) for an example.
pub struct Staged {
    pub(super) inner: Arc<Inner>,
    pub(super) state: State,
    pub(super) commits: Vec<(Arc<str>, Commit)>,
}

/// Staged changes that were taken out to be published together.
#[must_use = "readers do not see the changes before they are published"]
pub struct Unpublished {
    inner: Arc<Inner>,
    state: State,
    commits: Vec<(Arc<str>, Commit)>,
}

/// A write that was decided elsewhere: a replayed record of a log, or an event of etcd.
pub struct Applied {
    /// The key of the object.
    pub key: Key,
    /// The new object; `None` for a deletion.
    pub payload: Option<Payload>,
    /// The time of expiry of a payload with a lifetime. Defaults to its lifetime from now on.
    pub deadline: Option<Instant>,
}

/// An object as an engine keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The path in the collection.
    pub path: Arc<str>,
    /// The revision of the last write.
    pub revision: Revision,
    /// The bytes, with the revision spliced in.
    pub bytes: Bytes,
    /// The offset of the revision in `bytes`.
    pub revision_at: Option<u32>,
    /// The requested lifetime and the time of expiry.
    pub lifetime: Option<(Duration, Instant)>,
}

/// The objects of a store at one revision. It takes constant time to get, and later writes do not affect it.
#[derive(Clone)]
pub struct Contents {
    revision: Revision,
    floor: Revision,
    collections: Tree<Arc<str>, Objects>,
}

impl Staged {
    /// Returns a state with the published contents of `store`. A store has one staged state at a time.
    pub fn of(store: &MemoryStore) -> Self {
        let state = store.inner.state.read().clone();
        Self {
            inner: Arc::clone(&store.inner),
            state,
            commits: Vec::new(),
        }
    }

    /// Returns the newest revision, published or not.
    pub fn current(&self) -> Revision {
        self.state.current
    }

    /// Returns the newest object of a key, published or not.
    pub fn get(&self, key: &Key) -> Option<Entry> {
        self.state.entry(key)
    }

    /// Returns the revision of the last change of a key, which may be its deletion.
    pub fn last_change(&self, key: &Key) -> Option<Revision> {
        self.state.head(key).map(|(_, version)| version.revision)
    }

    /// Creates an object, which must not exist.
    ///
    /// # Errors
    ///
    /// Fails as [`Store::create`](crate::Store::create) does.
    pub fn create(&mut self, key: Key, payload: Payload) -> Result<Arc<Change>, WriteError> {
        let now = Instant::now();
        let collection = Arc::clone(&key.collection);
        let commit = self.state.create(key, payload, now)?;
        Ok(self.committed(collection, commit, now))
    }

    /// Replaces an object, whose revision must be `expected`. Bytes equal to the stored ones are not written.
    ///
    /// # Errors
    ///
    /// Fails as [`Store::update`](crate::Store::update) does.
    pub fn update(
        &mut self,
        key: Key,
        expected: Revision,
        payload: Payload,
    ) -> Result<Updated, WriteError> {
        let now = Instant::now();
        let collection = Arc::clone(&key.collection);
        let (updated, commit) = self.state.update(key, expected, payload, now)?;
        if let Some(commit) = commit {
            self.committed(collection, commit, now);
        }
        Ok(updated)
    }

    /// Deletes an object, whose revision must be `expected`.
    ///
    /// # Errors
    ///
    /// Fails as [`Store::delete`](crate::Store::delete) does.
    pub fn delete(&mut self, key: Key, expected: Revision) -> Result<Arc<Change>, WriteError> {
        let now = Instant::now();
        let collection = Arc::clone(&key.collection);
        let commit = self.state.delete(key, expected, now)?;
        Ok(self.committed(collection, commit, now))
    }

    /// Deletes one expired object, if there is one, and returns its collection and the change.
    pub fn expire(&mut self, now: Instant) -> Option<(Arc<str>, Arc<Change>)> {
        let (collection, commit) = self.state.expire(now)?;
        let change = self.committed(Arc::clone(&collection), commit, now);
        Some((collection, change))
    }

    /// Applies writes that took a revision elsewhere, at a time in the past. Deletions of nothing are left out.
    ///
    /// # Errors
    ///
    /// Fails if the revision is not after the newest one.
    pub fn apply(
        &mut self,
        revision: Revision,
        writes: impl IntoIterator<Item = Applied>,
        at: Instant,
    ) -> Result<Vec<Arc<Change>>, WriteError> {
        if revision <= self.state.current {
            let text = format!(
                "revision {} is not after {}",
                revision.0, self.state.current.0
            );
            return Err(WriteError::Backend(text.into()));
        }
        let mut changes = Vec::new();
        for write in writes {
            let collection = Arc::clone(&write.key.collection);
            let commit = match write.payload {
                None => {
                    let Some(there) = self.state.entry(&write.key) else {
                        continue;
                    };
                    self.state.remove(write.key, there.revision, revision, at)?
                }
                Some(payload) => {
                    let ttl = payload.ttl;
                    let mut content = Content::written(payload, revision, at);
                    if let (Some(ttl), Some(deadline)) = (ttl, write.deadline) {
                        content.lifetime = Some(Box::new(Lifetime { ttl, deadline }));
                    }
                    self.state.place(write.key, revision, content, at)
                }
            };
            changes.push(self.committed(collection, commit, at));
        }
        self.state.current = revision;
        Ok(changes)
    }

    /// Raises the floor of history, which must not be above the published revision.
    ///
    /// # Errors
    ///
    /// Fails if the floor is in the future of readers.
    pub fn compact(&mut self, floor: Revision) -> Result<(), ReadError> {
        let current = self.inner.state.read().current;
        if floor > current {
            return Err(ReadError::Future {
                requested: floor,
                current,
            });
        }
        let mut woken = Vec::new();
        let hubs = self.inner.hubs.read();
        let forgotten = self.state.compact(floor, |collection, log| {
            let hub = hubs.get(collection);
            let needed = hub.and_then(|hub| hub.needed_from(&mut woken));
            let slowest = log.end().saturating_sub(self.inner.limits.max_lag);
            needed.map_or(log.end(), |needed| needed.max(slowest))
        });
        drop(hubs);
        woken.into_iter().for_each(Waker::wake);
        forgotten.map(drop)
    }

    /// Forgets the states before a revision, as [`MemoryStore::compact_states`] does. Returns the key and the bytes of the
    /// object that it writes.
    ///
    /// # Errors
    ///
    /// Fails if there are no more revisions.
    pub fn compact_states(&mut self, floor: Revision) -> Result<(Key, Arc<Change>), WriteError> {
        let now = Instant::now();
        let floor = floor.min(self.state.current);
        self.state.state_floor = self.state.state_floor.max(floor);
        let key = Key::new(MARKER, "");
        let payload = Payload::plain(floor.0.to_string());
        let commit = self.state.overwrite(key.clone(), payload, now)?;
        let change = self.committed(Arc::clone(&key.collection), commit, now);
        Ok((key, change))
    }

    /// Drops history that is older than the limits allow, here and in the published state. Returns when to check again.
    pub fn forget_aged(&mut self, now: Instant) -> Option<Instant> {
        for name in self.state.collection_names() {
            self.state
                .retain(&name, &self.inner.limits, now, usize::MAX);
        }
        self.inner.forget_aged(now)
    }

    /// Adds an object as it was when its engine kept it, without a change. Its revision must not be above the one that
    /// [`start_at`](Self::start_at) sets afterwards.
    pub fn load(&mut self, collection: &Arc<str>, stored: Stored) {
        let lifetime = stored
            .lifetime
            .map(|(ttl, deadline)| Box::new(Lifetime { ttl, deadline }));
        if let Some(lifetime) = &lifetime {
            let key = Key {
                collection: Arc::clone(collection),
                path: Arc::clone(&stored.path),
            };
            let deadline = (lifetime.deadline, stored.revision);
            self.state.deadlines.insert(deadline, key);
        }
        let version = Arc::new(Version {
            revision: stored.revision,
            seq: NOT_IN_LOG,
            content: Some(Content {
                bytes: stored.bytes,
                revision_at: stored.revision_at,
                decoded: None,
                lifetime,
            }),
        });
        match self.state.collections.get_mut(&**collection) {
            Some(objects) => objects.heads.insert(stored.path, version),
            None => {
                let mut heads = Tree::new();
                heads.insert(stored.path, version);
                let floor = self.state.floor;
                let objects = Objects { heads, floor };
                let name = Arc::clone(collection);
                self.state.collections.insert(name, objects);
            }
        }
    }

    /// Sets the newest revision of loaded objects, before which nothing can be read.
    pub fn start_at(&mut self, revision: Revision) {
        self.state.current = revision;
        self.state.floor = revision;
        self.state.state_floor = revision;
    }

    /// Takes the changes since the last call, to publish them together.
    pub fn take(&mut self) -> Unpublished {
        Unpublished {
            inner: Arc::clone(&self.inner),
            state: self.state.clone(),
            commits: mem::take(&mut self.commits),
        }
    }

    /// Drops every change that is not published.
    pub fn reset(&mut self) {
        self.state = self.inner.state.read().clone();
        self.commits.clear();
    }

    fn committed(&mut self, collection: Arc<str>, commit: Commit, now: Instant) -> Arc<Change> {
        let limits = &self.inner.limits;
        self.state.retain(&collection, limits, now, AGED_PER_WRITE);
        let change = Arc::clone(&commit.change);
        self.commits.push((collection, commit));
        change
    }
}

impl Unpublished {
    /// Returns the newest revision.
    pub fn revision(&self) -> Revision {
        self.state.current
    }

    /// Shows the changes to readers and watchers.
    pub fn publish(self) {
        let inner = &self.inner;
        let mut hubs_to_kick: Vec<Arc<Hub>> = Vec::new();
        let soonest = self.state.deadlines.first().map(|(key, _)| key.1);
        let expires_earlier = self
            .commits
            .iter()
            .any(|(_, commit)| Some(commit.change.revision) == soonest);
        let mut published = inner.state.write();
        let before = mem::replace(&mut *published, self.state);
        let hubs = inner.hubs.read();
        for (collection, commit) in &self.commits {
            let Some(hub) = hubs.get(collection) else {
                continue;
            };
            hub.push(commit.seq, &commit.change.entry.path);
            if !hubs_to_kick.iter().any(|known| Arc::ptr_eq(known, hub)) {
                hubs_to_kick.push(Arc::clone(hub));
            }
        }
        drop(hubs);
        drop(published);
        drop(before);
        hubs_to_kick.iter().for_each(Hub::kick);
        if expires_earlier {
            inner.maintenance.notify_one();
        }
    }
}

impl Contents {
    /// Returns the revision of the newest write.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the oldest revision that could be read.
    pub fn floor(&self) -> Revision {
        self.floor
    }

    /// Returns the number of objects.
    pub fn len(&self) -> u64 {
        let mut number = 0;
        self.each_collection(|_, objects| {
            number += objects.heads.live() as u64;
            ControlFlow::Continue(())
        });
        number
    }

    /// Returns whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Visits the objects in the order of their collections and paths, until the visitor stops.
    pub fn for_each(&self, mut visit: impl FnMut(&Arc<str>, Stored) -> ControlFlow<()>) {
        self.each_collection(|collection, objects| {
            let mut flow = ControlFlow::Continue(());
            objects.heads.walk(
                |_| false,
                |_| false,
                self.revision,
                |path, version| {
                    if let Some(stored) = version.stored(path) {
                        flow = visit(collection, stored);
                    }
                    flow
                },
            );
            flow
        });
    }

    fn each_collection(&self, mut visit: impl FnMut(&Arc<str>, &Objects) -> ControlFlow<()>) {
        let all = |_: &Arc<str>| false;
        self.collections
            .walk(all, all, self.revision, |name, objects| {
                visit(name, objects)
            });
    }
}

impl Version {
    fn stored(&self, path: &Arc<str>) -> Option<Stored> {
        let content = self.content.as_ref()?;
        Some(Stored {
            path: Arc::clone(path),
            revision: self.revision,
            bytes: content.bytes.clone(),
            revision_at: content.revision_at,
            lifetime: content.lifetime.as_ref().map(|l| (l.ttl, l.deadline)),
        })
    }
}

impl MemoryStore {
    /// Returns all objects as of now, for an engine that keeps them elsewhere.
    pub fn contents(&self) -> Contents {
        let state = self.inner.state.read();
        Contents {
            revision: state.current,
            floor: state.floor,
            collections: state.collections.clone(),
        }
    }

    /// Returns the time at which the next object expires.
    pub fn next_expiry(&self) -> Option<Instant> {
        let state = self.inner.state.read();
        state.deadlines.first().map(|(key, _)| key.0)
    }

    /// Waits until the next object expires earlier than before, or the store is closed.
    pub async fn expiry_changed(&self) {
        self.inner.maintenance.notified().await;
    }

    /// Returns whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.inner.is_closed()
    }
}
