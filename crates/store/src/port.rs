//! The port: what an API server asks of its storage.
//!
//! A store knows keys, bytes and revisions, and nothing of Kubernetes. One `u64` [`Revision`] counts every
//! committed write of the whole store; it is assigned at commit, dense and ordered.
//!
//! Keys have two parts: the *collection* (one resource, `apps/deployments`) and the *path* within it
//! (`namespace/name`, or `name`). Lists and watches are within one collection and may be narrowed by a path prefix.
//!
//! The bytes of an object carry its own revision: a [`Payload`] says at which offset the decimal digits of the
//! revision belong, and the store splices them in at commit (or, for a remote store, when it reads). Readers always get
//! bytes that are complete.

use std::{any::Any, fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::splice;

/// A point in the store's history. Zero is "before everything".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

/// Where an object lives.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The resource: `pods`, `apps/deployments`.
    pub collection: Arc<str>,
    /// `namespace/name` or `name`.
    pub path: Arc<str>,
}

/// What the writer knows about an object beside its bytes (parsed labels, say). A store in this process hands it back
/// with the entry; a remote one forgets it and readers parse again. Stores never look inside.
pub type Companion = Arc<dyn Any + Send + Sync>;

/// Bytes to be stored.
#[derive(Clone)]
pub struct Payload {
    /// The encoded object without its revision.
    pub bytes: Bytes,
    /// Where in `bytes` the decimal digits of the revision go. `None`: nowhere.
    pub revision_at: Option<u32>,
    /// Handed back with the entry where the store can.
    pub companion: Option<Companion>,
    /// The entry is deleted this long after the write.
    pub ttl: Option<Duration>,
}

/// A stored object as of some revision.
#[derive(Clone)]
pub struct Entry {
    /// The path within the collection.
    pub path: Arc<str>,
    /// The revision of the last write.
    pub revision: Revision,
    /// The object, its revision spliced in.
    pub bytes: Bytes,
    /// What the writer handed over, if the store still has it.
    pub companion: Option<Companion>,
}

/// What to read of a collection.
#[derive(Clone, Debug, Default)]
pub struct Range {
    /// Only paths that start so.
    pub prefix: String,
    /// Only paths that sort at or after this one (within the prefix). Empty: from the start.
    pub start: String,
    /// At most this many entries. Zero: no limit.
    pub limit: usize,
}

/// The answer to a range read.
#[derive(Clone)]
pub struct Page {
    /// The entries in path order.
    pub entries: Vec<Entry>,
    /// How many more there are in the range, beyond `entries`.
    pub remaining: u64,
}

/// The state of the whole store as of one revision. Cheap to take; reads of it never see later writes.
pub trait Snapshot: Send + Sync {
    /// The revision it shows.
    fn revision(&self) -> Revision;
    /// One object.
    fn get<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Entry>, ReadError>>;
    /// A run of objects in path order.
    fn range<'a>(
        &'a self,
        collection: &'a str,
        range: Range,
    ) -> BoxFuture<'a, Result<Page, ReadError>>;
    /// How many objects a prefix holds.
    fn count<'a>(
        &'a self,
        collection: &'a str,
        prefix: &'a str,
    ) -> BoxFuture<'a, Result<u64, ReadError>>;
}

/// The storage of an API server.
pub trait Store: Send + Sync + 'static {
    /// The newest revision.
    fn current(&self) -> BoxFuture<'_, Result<Revision, ReadError>>;
    /// The state now (`None`), or as of a revision.
    fn snapshot(&self, at: Option<Revision>)
    -> BoxFuture<'_, Result<Arc<dyn Snapshot>, ReadError>>;
    /// One object as it is now. Equal to `snapshot(None)` and `get`, in one step.
    fn get<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Entry>, ReadError>>;
    /// Writes an object that must not exist.
    fn create(&self, key: Key, payload: Payload) -> BoxFuture<'_, Result<Entry, WriteError>>;
    /// Replaces an object whose revision must be `expected`. Bytes equal to the stored ones write nothing.
    fn update(
        &self,
        key: Key,
        expected: Revision,
        payload: Payload,
    ) -> BoxFuture<'_, Result<Updated, WriteError>>;
    /// Deletes an object whose revision must be `expected`. The answer is the last object, carrying the revision of the deletion.
    fn delete(&self, key: Key, expected: Revision) -> BoxFuture<'_, Result<Entry, WriteError>>;
    /// Every change of a collection after `after`, in order, from now on without a gap.
    fn watch(
        &self,
        collection: &str,
        prefix: &str,
        after: Revision,
    ) -> BoxFuture<'_, Result<Box<dyn Watch>, ReadError>>;
    /// Forgets what was before `floor`: older snapshots and watches answer [`ReadError::Compacted`].
    fn compact(&self, floor: Revision) -> BoxFuture<'_, Result<(), ReadError>>;
}

/// The answer to an update.
pub struct Updated {
    /// The object as it now is.
    pub entry: Entry,
    /// False where the bytes were the same and nothing was written.
    pub changed: bool,
}

/// A change of a collection.
#[derive(Clone)]
pub struct Change {
    /// The revision of the write.
    pub revision: Revision,
    /// The object after the write; after a delete, the last object carrying the revision of the deletion.
    pub entry: Entry,
    /// The object before the write, as it was then.
    pub previous: Option<Entry>,
    /// What was done.
    pub kind: ChangeKind,
}

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The object is new.
    Created,
    /// The object was replaced.
    Updated,
    /// The object is gone.
    Deleted,
}

/// Changes as they are committed.
pub trait Watch: Send {
    /// The next changes, at least one, in revision order. Waits until there are some.
    fn next(&mut self) -> BoxFuture<'_, Result<Vec<Arc<Change>>, WatchError>>;
    /// The revision up to which the caller has now seen everything that matches. Moves on even where nothing matches.
    fn progress(&self) -> Revision;
}

/// Why a read failed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The revision is below the compaction floor.
    #[error("revision {} has been compacted; the oldest is {}", requested.0, floor.0)]
    Compacted {
        /// What was asked for.
        requested: Revision,
        /// The oldest revision that can be read.
        floor: Revision,
    },
    /// The revision has not happened yet.
    #[error("revision {} is in the future; the newest is {}", requested.0, current.0)]
    Future {
        /// What was asked for.
        requested: Revision,
        /// The newest revision.
        current: Revision,
    },
    /// The backend failed.
    #[error("the store failed: {0}")]
    Backend(#[source] BackendError),
}

/// Why a write failed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The object exists already.
    #[error("the object exists")]
    Exists(Entry),
    /// The object is not at the expected revision; here it is, or `None` where there is none.
    #[error("the object is not at the expected revision")]
    Conflict(Option<Entry>),
    /// The backend failed; whether the write happened is not known.
    #[error("the store failed: {0}")]
    Backend(#[source] BackendError),
}

/// Why a watch ended.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The watcher fell too far behind and lost its place. Others are not affected.
    #[error("the watcher fell behind revision {}", floor.0)]
    Lagged {
        /// The oldest revision that could still be had.
        floor: Revision,
    },
    /// The store is closing.
    #[error("the store is closing")]
    Closed,
    /// The backend failed.
    #[error("the store failed: {0}")]
    Backend(#[source] BackendError),
}

/// An adapter's own error.
pub type BackendError = Box<dyn std::error::Error + Send + Sync>;

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}@{} ({} bytes)",
            self.path,
            self.revision.0,
            self.bytes.len()
        )
    }
}

impl Key {
    /// A key from its two parts.
    pub fn new(collection: impl Into<Arc<str>>, path: impl Into<Arc<str>>) -> Self {
        Self {
            collection: collection.into(),
            path: path.into(),
        }
    }
}

impl Payload {
    /// Bytes that carry no revision of their own.
    pub fn plain(bytes: impl Into<Bytes>) -> Self {
        Self {
            bytes: bytes.into(),
            revision_at: None,
            companion: None,
            ttl: None,
        }
    }

    /// The bytes as a reader sees them after a write at `revision`.
    pub fn spliced(&self, revision: Revision) -> Bytes {
        splice::insert(&self.bytes, self.revision_at, revision)
    }
}
