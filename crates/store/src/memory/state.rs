//! The state of a store and the writes to it. Everything here runs inside the critical section.
//!
//! A write either fails and changes nothing, or takes the next revision, sets the newest version of its path, and appends one
//! change to the log of its collection. A clone shares the whole state, and does not change with the original.

use std::sync::Arc;

use tokio::time::Instant;

use super::{
    limits::Limits,
    log::{Log, Record},
    tree::{self, Measure, Probe, Tree},
    version::{Content, Lifetime, Version},
};
use crate::{
    Change, ChangeKind, Entry, Key, Payload, ReadError, Revision, Updated, WriteError, splice,
};

/// The content of a store.
#[derive(Clone)]
pub(super) struct State {
    /// The newest revision.
    pub(super) current: Revision,
    /// The oldest revision that can be read.
    pub(super) floor: Revision,
    /// The oldest revision that a snapshot can be taken of. Watches may start before it.
    pub(super) state_floor: Revision,
    /// The objects by collection.
    pub(super) collections: Tree<Arc<str>, Objects>,
    /// The changes by collection.
    pub(super) logs: Tree<Arc<str>, Arc<Log>>,
    /// The expiring objects, soonest first.
    pub(super) deadlines: Tree<(Instant, Revision), Key>,
}

/// The objects of a collection.
#[derive(Clone)]
pub(super) struct Objects {
    /// The newest version by path; a tombstone as long as its deletion is in the log.
    pub(super) heads: Tree<Arc<str>, Arc<Version>>,
    /// The oldest revision at which this collection can be read.
    pub(super) floor: Revision,
}

/// A committed write.
pub(super) struct Commit {
    /// The change.
    pub(super) change: Arc<Change>,
    /// Its position in the log.
    pub(super) seq: u64,
}

impl State {
    /// Returns an empty state at a revision.
    pub(super) fn starting_at(revision: Revision) -> Self {
        Self {
            current: revision,
            floor: revision,
            state_floor: revision,
            collections: Tree::new(),
            logs: Tree::new(),
            deadlines: Tree::new(),
        }
    }

    /// Returns the path as it is stored, and its newest version.
    pub(super) fn head(&self, key: &Key) -> Option<(&Arc<str>, &Arc<Version>)> {
        self.collections
            .get(&*key.collection)?
            .heads
            .find(&*key.path)
    }

    /// Returns the object of a key.
    pub(super) fn entry(&self, key: &Key) -> Option<Entry> {
        self.head(key)
            .and_then(|(path, version)| version.entry(path))
    }

    /// Returns the oldest revision at which a collection can be read.
    pub(super) fn floor_of(&self, collection: &str) -> Revision {
        self.collections
            .get(collection)
            .map_or(self.floor, |objects| objects.floor.max(self.floor))
    }

    pub(super) fn create(
        &mut self,
        key: Key,
        payload: Payload,
        now: Instant,
    ) -> Result<Commit, WriteError> {
        if let Some(there) = self.entry(&key) {
            return Err(WriteError::Exists(there));
        }
        self.put(key, payload, ChangeKind::Created, now)
    }

    pub(super) fn update(
        &mut self,
        key: Key,
        expected: Revision,
        payload: Payload,
        now: Instant,
    ) -> Result<(Updated, Option<Commit>), WriteError> {
        let (path, version, content) = self.expect(&key, expected)?;
        if content.is(&payload, expected)
            && let Some(entry) = version.entry(path)
        {
            let changed = false;
            return Ok((Updated { entry, changed }, None));
        }
        let commit = self.put(key, payload, ChangeKind::Updated, now)?;
        let entry = commit.change.entry.clone();
        let changed = true;
        Ok((Updated { entry, changed }, Some(commit)))
    }

    pub(super) fn delete(
        &mut self,
        key: Key,
        expected: Revision,
        now: Instant,
    ) -> Result<Commit, WriteError> {
        let revision = self.next_revision()?;
        self.remove(key, expected, revision, now)
    }

    /// Deletes an object, whose revision must be `expected`, at a revision.
    pub(super) fn remove(
        &mut self,
        key: Key,
        expected: Revision,
        revision: Revision,
        now: Instant,
    ) -> Result<Commit, WriteError> {
        let (path, version, content) = self.expect(&key, expected)?;
        let entry = Entry {
            path: Arc::clone(path),
            revision,
            bytes: splice::replace(&content.bytes, content.revision_at, expected, revision),
            decoded: content.decoded.clone(),
        };
        let (seq, previous) = (version.seq, version.entry(path));
        if let Some(lifetime) = &content.lifetime {
            let deadline = (lifetime.deadline, expected);
            self.deadlines.remove(&deadline);
        }
        Ok(self.commit(key.collection, entry, None, previous, Some(seq), now))
    }

    /// Writes an object whether or not it exists.
    pub(super) fn overwrite(
        &mut self,
        key: Key,
        payload: Payload,
        now: Instant,
    ) -> Result<Commit, WriteError> {
        let kind = match self.entry(&key) {
            None => ChangeKind::Created,
            Some(_) => ChangeKind::Updated,
        };
        self.put(key, payload, kind, now)
    }

    /// Deletes one expired object, if there is one.
    pub(super) fn expire(&mut self, now: Instant) -> Option<(Arc<str>, Commit)> {
        let (&(deadline, revision), key) = self.deadlines.first()?;
        if deadline > now {
            return None;
        }
        let key = key.clone();
        // Removed even if the delete fails, so that the loop of the caller ends.
        self.deadlines.remove(&(deadline, revision));
        let collection = Arc::clone(&key.collection);
        let commit = self.delete(key, revision, now).ok()?;
        Some((collection, commit))
    }

    /// Drops the history of a collection beyond the limits, at most `n` changes because of their age. Returns whether there is
    /// more.
    pub(super) fn retain(
        &mut self,
        collection: &str,
        limits: &Limits,
        now: Instant,
        aged_at_once: usize,
    ) -> bool {
        let mut forgotten = 0;
        while let Some(log) = self.logs.get(collection)
            && let Some(oldest) = log.first()
        {
            let over = log.len() > limits.max_changes || log.bytes() > limits.max_bytes;
            let old = now.duration_since(oldest.at) >= limits.max_age;
            if !over && (!old || forgotten >= aged_at_once) {
                return old;
            }
            forgotten += 1;
            self.forget_oldest(collection);
        }
        false
    }

    /// Raises the floor. Returns the removed changes, which the caller must drop outside the critical section. Changes from the
    /// positions in `needed_from`, by collection, are kept for watchers.
    pub(super) fn compact(
        &mut self,
        floor: Revision,
        mut needed_from: impl FnMut(&str, &Log) -> u64,
    ) -> Result<Vec<Record>, ReadError> {
        if floor > self.current {
            return Err(ReadError::Future {
                requested: floor,
                current: self.current,
            });
        }
        let mut forgotten = Vec::new();
        if floor <= self.floor {
            return Ok(forgotten);
        }
        self.floor = floor;
        for collection in self.collection_names() {
            let needed = self
                .logs
                .get(&*collection)
                .map_or(0, |log| needed_from(&collection, log));
            while let Some(log) = self.logs.get(&*collection)
                && log.base() < needed
                && log
                    .first()
                    .is_some_and(|oldest| oldest.change.revision <= floor)
            {
                forgotten.extend(self.forget_oldest(&collection));
            }
        }
        Ok(forgotten)
    }

    /// Returns the names of all collections that were ever written.
    pub(super) fn collection_names(&self) -> Vec<Arc<str>> {
        let counts = self.change_counts().into_iter();
        counts.map(|(name, _)| name).collect()
    }

    /// Returns the number of changes of all collections that were ever written.
    pub(super) fn change_counts(&self) -> Vec<(Arc<str>, u64)> {
        let mut counts = Vec::new();
        self.logs.walk(
            |_| false,
            |_| false,
            self.current,
            |name, log| {
                counts.push((Arc::clone(name), log.end()));
                std::ops::ControlFlow::Continue(())
            },
        );
        counts
    }

    fn next_revision(&self) -> Result<Revision, WriteError> {
        self.current
            .0
            .checked_add(1)
            .map(Revision)
            .ok_or_else(|| WriteError::Backend("there are no more revisions".into()))
    }

    /// Returns the object of a key, which must be at a revision.
    fn expect(
        &self,
        key: &Key,
        expected: Revision,
    ) -> Result<(&Arc<str>, &Arc<Version>, &Content), WriteError> {
        match self.head(key) {
            Some((path, version)) => match &version.content {
                Some(content) if version.revision == expected => Ok((path, version, content)),
                _ => Err(WriteError::Conflict(version.entry(path))),
            },
            None => Err(WriteError::Conflict(None)),
        }
    }

    /// Writes a payload, regardless of the current version.
    fn put(
        &mut self,
        key: Key,
        payload: Payload,
        kind: ChangeKind,
        now: Instant,
    ) -> Result<Commit, WriteError> {
        let revision = self.next_revision()?;
        let content = Content::written(payload, revision, now);
        debug_assert_eq!(kind == ChangeKind::Created, self.entry(&key).is_none());
        Ok(self.place(key, revision, content, now))
    }

    /// Sets the newest version of a path at a revision, regardless of the current version.
    pub(super) fn place(
        &mut self,
        key: Key,
        revision: Revision,
        content: Content,
        now: Instant,
    ) -> Commit {
        let mut earlier = None;
        let mut previous = None;
        let mut path = Arc::clone(&key.path);
        let mut over: Option<(Lifetime, Revision)> = None;
        if let Some((held, version)) = self.head(&key) {
            path = Arc::clone(held);
            earlier = Some(version.seq);
            previous = version.entry(held);
            over = version
                .content
                .as_ref()
                .and_then(|content| Some((**content.lifetime.as_ref()?, version.revision)));
        }
        if let Some((lifetime, revision)) = over {
            self.deadlines.remove(&(lifetime.deadline, revision));
        }
        if let Some(lifetime) = &content.lifetime {
            let key = Key {
                collection: Arc::clone(&key.collection),
                path: Arc::clone(&path),
            };
            self.deadlines.insert((lifetime.deadline, revision), key);
        }
        let entry = Entry {
            path,
            revision,
            bytes: content.bytes.clone(),
            decoded: content.decoded.clone(),
        };
        self.commit(key.collection, entry, Some(content), previous, earlier, now)
    }

    /// Commits a valid write: newest version, log, revision.
    fn commit(
        &mut self,
        collection: Arc<str>,
        entry: Entry,
        content: Option<Content>,
        previous: Option<Entry>,
        earlier: Option<u64>,
        now: Instant,
    ) -> Commit {
        let revision = entry.revision;
        let path = Arc::clone(&entry.path);
        let kind = match (&content, &previous) {
            (None, _) => ChangeKind::Deleted,
            (Some(_), None) => ChangeKind::Created,
            (Some(_), Some(_)) => ChangeKind::Updated,
        };
        let change = Arc::new(Change {
            revision,
            entry,
            previous,
            kind,
        });
        let record = Record {
            change: Arc::clone(&change),
            at: now,
            earlier,
            kind,
        };
        let seq = self.append(&collection, record);
        let version = Arc::new(Version {
            revision,
            seq,
            content,
        });
        match self.collections.get_mut(&*collection) {
            Some(objects) => objects.heads.insert(path, version),
            None => {
                let mut heads = Tree::new();
                heads.insert(path, version);
                let floor = self.floor;
                self.collections
                    .insert(collection, Objects { heads, floor });
            }
        }
        self.current = revision;
        Commit { change, seq }
    }

    fn append(&mut self, collection: &Arc<str>, record: Record) -> u64 {
        if let Some(log) = self.logs.get_mut(&**collection) {
            let log = Arc::make_mut(log);
            log.push(record);
            return log.end() - 1;
        }
        let mut log = Log::default();
        log.push(record);
        self.logs.insert(Arc::clone(collection), Arc::new(log));
        0
    }

    /// Removes the oldest change of a collection, and its tombstone if it is a deletion.
    fn forget_oldest(&mut self, collection: &str) -> Option<Record> {
        let log = Arc::make_mut(self.logs.get_mut(collection)?);
        let seq = log.base();
        let record = log.pop()?;
        let objects = self.collections.get_mut(collection)?;
        objects.floor = objects.floor.max(record.change.revision);
        if record.change.kind == ChangeKind::Deleted {
            let path = &*record.change.entry.path;
            if objects.heads.get(path).is_some_and(|head| head.seq == seq) {
                objects.heads.remove(path);
            }
        }
        Some(record)
    }
}

impl Measure for Objects {}
impl Measure for Arc<Log> {}
impl Measure for Key {}

impl tree::Key for (Instant, Revision) {
    type Probe = Self;
}

/// Compares by address first.
impl Probe for (Instant, Revision) {
    fn shared(&self, _: &Self) -> usize {
        0
    }

    fn digest(&self, _: usize) -> u64 {
        0
    }
}
