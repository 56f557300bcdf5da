//! The traits that a store implements.
//!
//! A store knows keys, bytes and revisions, and nothing about Kubernetes. One `u64` [`Revision`] counts every committed write
//! of the whole store; it is assigned at commit, dense and ordered.
//!
//! Keys have two parts: the *collection* (a resource, `apps/deployments`) and the *path* in it (`namespace/name`, or `name`).
//! Lists and watches read one collection, and may be restricted to a path prefix.
//!
//! The bytes of an object contain its revision: a [`Payload`] has the offset of its decimal digits, and the store splices them
//! in at commit (or, for a remote store, on read). Readers always get complete bytes.

use std::{any::Any, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;

use crate::splice;

/// A point in the history of a store. Zero is before every write.
///
/// ```
/// use kubewright_store::{Key, MemoryStore, Payload, Revision, Store};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let store = MemoryStore::starting_at(Revision(41));
/// let entry = store.create(Key::new("pods", "default/web"), Payload::plain("{}")).await?;
/// assert_eq!(entry.revision, Revision(42));
/// assert!(Revision::default() < entry.revision);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

/// The key of an object.
///
/// ```
/// use kubewright_store::Key;
///
/// let key = Key::new("pods", "default/web");
/// assert_eq!(&*key.path, "default/web");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The collection: `pods`, `apps/deployments`.
    pub collection: Arc<str>,
    /// The path: `namespace/name` or `name`.
    pub path: Arc<str>,
}

/// A decoded form of an object, such as its labels, that the writer keeps beside the bytes. A store in memory returns it with
/// the entry; a remote store drops it, and readers decode again. Stores never look inside.
pub type Decoded = Arc<dyn Any + Send + Sync>;

/// The bytes of a write.
///
/// ```
/// use kubewright_store::{Payload, Revision};
///
/// let payload = Payload { revision_at: Some(7), ..Payload::plain(r#"{"rv":""}"#) };
/// assert_eq!(payload.spliced(Revision(42)), r#"{"rv":"42"}"#);
/// ```
#[derive(Clone)]
pub struct Payload {
    /// The encoded object without its revision.
    pub bytes: Bytes,
    /// The offset of the revision in `bytes`. `None`: the object does not contain it.
    pub revision_at: Option<u32>,
    /// A decoded form, which is returned with the entry if the store can.
    pub decoded: Option<Decoded>,
    /// The lifetime of the entry, after which it is deleted.
    pub ttl: Option<Duration>,
    /// Whether the write leads to the removal of the object: it begins a deletion, or removes a finalizer of an object that is
    /// being deleted. A full store accepts such an update although the object grows a little.
    pub for_deletion: bool,
}

/// A stored object at some revision.
///
/// ```
/// use kubewright_store::{Key, MemoryStore, Payload, Revision, Store};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// let payload = Payload { revision_at: Some(7), ..Payload::plain(r#"{"rv":""}"#) };
/// let entry = store.create(Key::new("pods", "default/web"), payload).await?;
/// assert_eq!((&*entry.path, entry.revision), ("default/web", Revision(1)));
/// assert_eq!(entry.bytes, r#"{"rv":"1"}"#);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Entry {
    /// The path in the collection.
    pub path: Arc<str>,
    /// The revision of the last write.
    pub revision: Revision,
    /// The bytes, with the revision spliced in.
    pub bytes: Bytes,
    /// The decoded form of the writer, if the store still has it.
    pub decoded: Option<Decoded>,
}

/// A range of a collection.
///
/// ```
/// use kubewright_store::{Key, MemoryStore, Payload, Range, Store};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// for path in ["default/a", "default/b", "system/c"] {
///     store.create(Key::new("pods", path), Payload::plain("{}")).await?;
/// }
/// let range = Range { prefix: "default/".into(), start: "default/b".into(), limit: 0 };
/// let page = store.snapshot(None).await?.range("pods", range).await?;
/// assert_eq!(page.entries.len(), 1);
/// assert_eq!(&*page.entries[0].path, "default/b");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Range {
    /// The prefix of the paths.
    pub prefix: String,
    /// The first path, within the prefix. Empty: the start.
    pub start: String,
    /// The maximum number of entries. Zero: no limit.
    pub limit: usize,
}

/// A page of a range.
///
/// ```
/// use kubewright_store::{Key, MemoryStore, Payload, Range, Store};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// for path in ["a", "b", "c"] {
///     store.create(Key::new("nodes", path), Payload::plain("{}")).await?;
/// }
/// let snapshot = store.snapshot(None).await?;
/// let first = snapshot.range("nodes", Range { limit: 2, ..Range::default() }).await?;
/// assert_eq!((first.entries.len(), first.remaining), (2, 1));
///
/// // The next page starts right after the last path.
/// let start = format!("{}\0", first.entries[1].path);
/// let second = snapshot.range("nodes", Range { start, ..Range::default() }).await?;
/// assert_eq!((&*second.entries[0].path, second.remaining), ("c", 0));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Page {
    /// The entries in the order of their paths.
    pub entries: Vec<Entry>,
    /// The number of further entries in the range.
    pub remaining: u64,
}

/// The state of the whole store at one revision. It is cheap to take, and reads of it never see later writes.
///
/// ```
/// use kubewright_store::{Key, MemoryStore, Payload, Range, Store};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// for name in ["a", "b", "c"] {
///     store.create(Key::new("pods", format!("default/{name}")), Payload::plain("{}")).await?;
/// }
/// let snapshot = store.snapshot(None).await?;
/// store.delete(Key::new("pods", "default/a"), kubewright_store::Revision(1)).await?;
///
/// let range = Range { prefix: "default/".into(), limit: 2, ..Range::default() };
/// let page = snapshot.range("pods", range).await?;
/// assert_eq!((page.entries.len(), page.remaining), (2, 1));
/// assert_eq!(snapshot.count("pods", "").await?, 3);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[async_trait]
pub trait Snapshot: Send + Sync {
    /// Returns its revision.
    fn revision(&self) -> Revision;
    /// Returns an object.
    async fn get(&self, key: &Key) -> Result<Option<Entry>, ReadError>;
    /// Returns a range of objects in the order of their paths.
    async fn range(&self, collection: &str, range: Range) -> Result<Page, ReadError>;
    /// Returns the number of objects with a prefix.
    async fn count(&self, collection: &str, prefix: &str) -> Result<u64, ReadError>;
}

/// A store.
///
/// ```
/// use kubewright_store::{Key, MemoryStore, Payload, ReadError, Store};
///
/// /// Counts the pods of any store.
/// async fn pods(store: &dyn Store) -> Result<u64, ReadError> {
///     let now = store.snapshot(None).await?;
///     now.count("pods", "").await
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// store.create(Key::new("pods", "default/web"), Payload::plain("{}")).await?;
/// assert_eq!(pods(&store).await?, 1);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Returns the newest revision.
    async fn current(&self) -> Result<Revision, ReadError>;
    /// Returns the newest state (`None`), or the state at a revision.
    async fn snapshot(&self, at: Option<Revision>) -> Result<Arc<dyn Snapshot>, ReadError>;
    /// Returns the newest version of an object, like `get` of `snapshot(None)` in one step.
    async fn get(&self, key: &Key) -> Result<Option<Entry>, ReadError>;
    /// Creates an object, which must not exist.
    async fn create(&self, key: Key, payload: Payload) -> Result<Entry, WriteError>;
    /// Replaces an object, whose revision must be `expected`. Bytes equal to the stored ones are not written.
    async fn update(
        &self,
        key: Key,
        expected: Revision,
        payload: Payload,
    ) -> Result<Updated, WriteError>;
    /// Deletes an object, whose revision must be `expected`. Returns the last object with the revision of the deletion.
    async fn delete(&self, key: Key, expected: Revision) -> Result<Entry, WriteError>;
    /// Returns every change of a collection after `after`, in order and without gaps.
    async fn watch(
        &self,
        collection: &str,
        prefix: &str,
        after: Revision,
    ) -> Result<Box<dyn Watch>, ReadError>;
    /// Fails if the store does not accept writes, and says why. Reads may still work.
    async fn ready(&self) -> Result<(), ReadError> {
        self.current().await.map(drop)
    }
    /// Returns which writes are rejected, and why, although the store is [ready](Self::ready). It must be fast.
    fn limitation(&self) -> Option<String> {
        None
    }
    /// Returns the changes of an object up to a revision that are kept elsewhere, such as in log files, although watches cannot
    /// start so early any more. Oldest first; there may be gaps before the first one only.
    async fn archived(&self, key: &Key, until: Revision) -> Result<Vec<Arc<Change>>, ReadError> {
        let _ = (key, until);
        Ok(Vec::new())
    }
    /// Drops the history before `floor`: older snapshots and watches fail with [`ReadError::Compacted`].
    async fn compact(&self, floor: Revision) -> Result<(), ReadError>;
}

/// The result of an update.
pub struct Updated {
    /// The object after the update.
    pub entry: Entry,
    /// Whether the object was written. False if the bytes were the same.
    pub changed: bool,
}

/// A change of a collection.
#[derive(Clone)]
pub struct Change {
    /// The revision of the write.
    pub revision: Revision,
    /// The object after the write; after a delete, the last object with the revision of the deletion.
    pub entry: Entry,
    /// The object before the write.
    pub previous: Option<Entry>,
    /// The kind of the change.
    pub kind: ChangeKind,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The object was created.
    Created,
    /// The object was updated.
    Updated,
    /// The object was deleted.
    Deleted,
}

/// A stream of changes.
///
/// ```
/// use kubewright_store::{Key, MemoryStore, Payload, Revision, Store};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// let mut watch = store.watch("pods", "default/", Revision(0)).await?;
/// store.create(Key::new("pods", "default/web"), Payload::plain("{}")).await?;
/// let changes = watch.next().await?;
/// assert_eq!(&*changes[0].entry.path, "default/web");
/// assert_eq!(watch.progress(), Revision(1));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[async_trait]
pub trait Watch: Send {
    /// Waits for the next changes and returns at least one, in the order of revisions.
    async fn next(&mut self) -> Result<Vec<Arc<Change>>, WatchError>;
    /// Returns the revision up to which the caller has seen every matching change. It advances even if nothing matches.
    fn progress(&self) -> Revision;
}

/// An error of a read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The revision was compacted.
    #[error("revision {} has been compacted; the oldest is {}", requested.0, floor.0)]
    Compacted {
        /// The requested revision.
        requested: Revision,
        /// The oldest revision that can be read.
        floor: Revision,
    },
    /// The revision is in the future.
    #[error("revision {} is in the future; the newest is {}", requested.0, current.0)]
    Future {
        /// The requested revision.
        requested: Revision,
        /// The newest revision.
        current: Revision,
    },
    /// The backend failed.
    #[error("the store failed: {0}")]
    Backend(#[source] BackendError),
}

/// An error of a write.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The object exists already.
    #[error("the object exists")]
    Exists(Entry),
    /// The object is not at the expected revision. It has the current object, or `None` if there is none.
    #[error("the object is not at the expected revision")]
    Conflict(Option<Entry>),
    /// The backend failed; the write may have happened.
    #[error("the store failed: {0}")]
    Backend(#[source] BackendError),
}

/// An error that ends a watch.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The watcher fell too far behind. Other watchers are not affected.
    #[error("the watcher fell behind revision {}", floor.0)]
    Lagged {
        /// The oldest revision that is still available.
        floor: Revision,
    },
    /// The store was closed.
    #[error("the store is closing")]
    Closed,
    /// The backend failed.
    #[error("the store failed: {0}")]
    Backend(#[source] BackendError),
}

/// The error of a backend.
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
    /// Returns a key.
    pub fn new(collection: impl Into<Arc<str>>, path: impl Into<Arc<str>>) -> Self {
        Self {
            collection: collection.into(),
            path: path.into(),
        }
    }
}

impl Payload {
    /// Returns a payload that does not contain its revision.
    pub fn plain(bytes: impl Into<Bytes>) -> Self {
        Self {
            bytes: bytes.into(),
            revision_at: None,
            decoded: None,
            ttl: None,
            for_deletion: false,
        }
    }

    /// Returns the bytes as a reader sees them after a write at `revision`.
    pub fn spliced(&self, revision: Revision) -> Bytes {
        splice::insert(&self.bytes, self.revision_at, revision)
    }
}
