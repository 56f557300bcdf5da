//! [`Indexer`]: the cache, written by one and read by all.

use std::cmp::Ordering;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::index::{IndexError, IndexFn};
use super::snapshot::Snapshot;
use crate::object::StoredObject;
use crate::object::ingest::Known;
use crate::version;

/// The cache. Reading takes the current [`Snapshot`] without waiting; writing publishes another.
pub struct Indexer {
    current: ArcSwap<Snapshot>,
    next: Mutex<Snapshot>,
    version: watch::Sender<Option<Arc<str>>>,
}

/// A resourceVersion that cannot be waited for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// It is not a number.
    #[error("{0:?} is no resource version that can be compared")]
    Incomparable(String),
    /// Nobody writes the cache any more.
    #[error("the cache has stopped")]
    Stopped,
}

/// The index by namespace, which every informer has.
pub const NAMESPACE_INDEX: &str = "namespace";

impl Indexer {
    /// An empty cache.
    pub fn new() -> Self {
        Self {
            current: ArcSwap::default(),
            next: Mutex::default(),
            version: watch::Sender::new(None),
        }
    }

    /// The current state.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// The object under that key.
    pub fn get(&self, key: &str) -> Option<Arc<StoredObject>> {
        self.current.load().get(key).cloned()
    }

    /// The objects under a value of an index.
    pub fn by_index(&self, name: &str, value: &str) -> Result<Vec<Arc<StoredObject>>, IndexError> {
        self.current.load().by_index(name, value)
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.current.load().len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The revision the cache shows. `None` before the first list.
    pub fn resource_version(&self) -> Option<String> {
        self.current.load().resource_version().map(str::to_owned)
    }

    /// Waits until the cache shows that revision or a newer one. A write's answer has its revision: waiting for it means
    /// reading one's own write.
    pub async fn wait_for(&self, resource_version: &str) -> Result<(), VersionError> {
        if version::compare(resource_version, resource_version).is_none() {
            return Err(VersionError::Incomparable(resource_version.to_owned()));
        }
        let reached = |shown: &Option<Arc<str>>| {
            shown.as_deref().is_some_and(|shown| {
                version::compare(shown, resource_version).is_some_and(Ordering::is_ge)
            })
        };
        let mut shown = self.version.subscribe();
        shown
            .wait_for(reached)
            .await
            .map_err(|_| VersionError::Stopped)?;
        Ok(())
    }

    /// Adds an index; the objects that are there are indexed at once.
    pub fn add_index(&self, name: &str, function: IndexFn) -> Result<(), IndexError> {
        self.write(|state| state.add_index(name, function))
    }

    /// Adds an object or puts it in place of its old state, which is returned. The cache then shows its resourceVersion.
    pub fn upsert(&self, object: Arc<StoredObject>) -> Option<Arc<StoredObject>> {
        self.write(|state| {
            if !object.resource_version().is_empty() {
                state.set_resource_version(Some(object.resource_version()));
            }
            state.insert(object)
        })
    }

    /// Removes an object, which is returned. The resourceVersion stays.
    pub fn delete(&self, key: &str) -> Option<Arc<StoredObject>> {
        self.write(|state| state.remove(key))
    }

    /// Shows these objects and no others.
    pub fn replace(
        &self,
        objects: impl IntoIterator<Item = Arc<StoredObject>>,
        resource_version: &str,
    ) {
        self.write(|state| {
            *state = state.emptied();
            for object in objects {
                state.insert(object);
            }
            state.set_resource_version(Some(resource_version));
        });
    }

    /// Shows a newer revision with the same objects.
    pub fn bookmark(&self, resource_version: &str) {
        self.write(|state| state.set_resource_version(Some(resource_version)));
    }

    /// Changes the state; readers see all of it or nothing.
    pub(crate) fn write<R>(&self, change: impl FnOnce(&mut Snapshot) -> R) -> R {
        let mut next = self.next.lock();
        let result = change(&mut next);
        let published = Arc::new(next.clone());
        self.current.store(published);
        let shown = next.resource_version();
        self.version.send_if_modified(|version| {
            let changed = version.as_deref() != shown;
            if changed {
                *version = shown.map(Into::into);
            }
            changed
        });
        result
    }
}

impl Default for Indexer {
    fn default() -> Self {
        Self::new()
    }
}

impl Known for Indexer {
    fn known(&self, key: &str) -> Option<Arc<StoredObject>> {
        self.get(key)
    }
}
