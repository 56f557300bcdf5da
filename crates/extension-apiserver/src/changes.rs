//! Changes of the data of a kind, and [`ChangeFeed`], a bounded log of them.

use std::{collections::VecDeque, pin::Pin, sync::Arc};

use futures_util::{Stream, stream};
use kubewright_machinery::{Status, status};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::storage::ServedKind;

/// A change of the data. The `resourceVersion` of the object is the version of the data after the change.
#[derive(Clone, Debug)]
pub struct Change<K> {
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The object after the change; after a deletion, its last state with the version of the deletion.
    pub object: K,
    /// The object before the change, if known. Watches with selectors need it to distinguish objects that start to match from
    /// those that already matched.
    pub previous: Option<K>,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The object is new.
    Created,
    /// The object has changed.
    Updated,
    /// The object was deleted.
    Deleted,
}

/// A stream of changes. An error ends the watch.
pub type Changes<K> = Pin<Box<dyn Stream<Item = Result<Change<K>, Status>> + Send>>;

/// A log of the latest changes, which serves watches. Clones share it.
///
/// It maintains the version of the data: [`record`](Self::record) sets it on the object. Call it while holding the lock, or
/// within the transaction, that protects the data, so that the log and the data have the same order.
///
/// ```
/// # extern crate kubewright_resource as kubewright;
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # #[derive(kube::CustomResource, kubewright::Schema, Clone, Debug, serde::Serialize, serde::Deserialize)]
/// # #[kube(group = "sky.example.com", version = "v1", kind = "Planet")]
/// # pub struct PlanetSpec { moons: u32 }
/// use futures_util::StreamExt;
/// use kubewright_extension_apiserver::{ChangeFeed, ChangeKind};
///
/// let feed = ChangeFeed::new(1000);
/// let mut changes = feed.changes(feed.version())?;
/// let mars = feed.record(ChangeKind::Created, Planet::new("mars", PlanetSpec { moons: 2 }), None);
/// assert_eq!(mars.metadata.resource_version.as_deref(), Some("2"));
/// let change = changes.next().await.unwrap()?;
/// assert_eq!(change.object.metadata.name.as_deref(), Some("mars"));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct ChangeFeed<K>(Arc<Shared<K>>);

struct Shared<K> {
    log: Mutex<Log<K>>,
    /// The version of the last change.
    version: watch::Sender<u64>,
}

struct Log<K> {
    changes: VecDeque<(u64, Change<K>)>,
    capacity: usize,
    /// The version of the last change that was dropped, or the first version.
    floor: u64,
    version: u64,
}

/// The version of unchanged data. It is not 0, which means "any version" to clients.
const FIRST_VERSION: u64 = 1;

impl<K> Clone for ChangeFeed<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: ServedKind> ChangeFeed<K> {
    /// Returns an empty log with a capacity. A watch that falls behind by more changes ends, and its client lists again.
    pub fn new(capacity: usize) -> Self {
        Self::starting_at(capacity, FIRST_VERSION)
    }

    /// Returns an empty log for data that already has a version.
    pub fn starting_at(capacity: usize, version: u64) -> Self {
        Self(Arc::new(Shared {
            log: Mutex::new(Log {
                changes: VecDeque::new(),
                capacity: capacity.max(1),
                floor: version,
                version,
            }),
            version: watch::Sender::new(version),
        }))
    }

    /// Returns the version of the data.
    pub fn version(&self) -> u64 {
        self.0.log.lock().version
    }

    /// Records a change, and returns the object with its new `resourceVersion`.
    pub fn record(&self, kind: ChangeKind, mut object: K, previous: Option<K>) -> K {
        let mut log = self.0.log.lock();
        log.version += 1;
        let version = log.version;
        object.meta_mut().resource_version = Some(version.to_string());
        let change = Change {
            kind,
            object: object.clone(),
            previous,
        };
        if log.changes.len() == log.capacity
            && let Some((dropped, _)) = log.changes.pop_front()
        {
            log.floor = dropped;
        }
        log.changes.push_back((version, change));
        drop(log);
        self.0.version.send_replace(version);
        object
    }

    /// Returns the changes after a version.
    ///
    /// # Errors
    ///
    /// Fails with 410 if some of them were dropped.
    pub fn changes(&self, after: u64) -> Result<Changes<K>, Status> {
        let floor = self.0.log.lock().floor;
        if after < floor {
            return Err(too_old(after, floor));
        }
        let reader = Reader {
            feed: self.clone(),
            versions: self.0.version.subscribe(),
            after,
        };
        Ok(Box::pin(stream::unfold(Some(reader), |reader| async {
            let mut reader = reader?;
            match reader.next().await? {
                Ok(change) => Some((Ok(change), Some(reader))),
                Err(error) => Some((Err(error), None)),
            }
        })))
    }

    /// Returns the first change after a version, if there is one.
    fn first_after(&self, after: u64) -> Result<Option<(u64, Change<K>)>, Status> {
        let log = self.0.log.lock();
        if after < log.floor {
            return Err(too_old(after, log.floor));
        }
        let i = log
            .changes
            .partition_point(|(version, _)| *version <= after);
        Ok(log.changes.get(i).cloned())
    }
}

struct Reader<K> {
    feed: ChangeFeed<K>,
    versions: watch::Receiver<u64>,
    after: u64,
}

impl<K: ServedKind> Reader<K> {
    async fn next(&mut self) -> Option<Result<Change<K>, Status>> {
        loop {
            // Marks the version as seen before the log is read, so that no later change is missed.
            self.versions.borrow_and_update();
            match self.feed.first_after(self.after) {
                Ok(Some((version, change))) => {
                    self.after = version;
                    return Some(Ok(change));
                }
                Ok(None) => self.versions.changed().await.ok()?,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

fn too_old(requested: u64, floor: u64) -> Status {
    status::expired(format!("too old resource version: {requested} ({floor})"))
}
