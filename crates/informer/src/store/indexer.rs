//! [`Indexer`]: the cache, with one writer and many readers.

use std::cmp::Ordering;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::index::{IndexError, IndexFn};
use super::snapshot::Snapshot;
use crate::object::StoredObject;
use crate::object::ingest::Known;
use crate::version::compare_resource_versions;

/// The cache of an informer. Reading takes the current [`Snapshot`] without waiting; writing publishes a new one.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::core::ApiResource;
/// use kubewright_informer::{Compression, IndexFn, Indexer, Ingest, ObjectKind};
///
/// let kind = ObjectKind::new(ApiResource::erase::<ConfigMap>(&()), Compression::None);
/// let indexer = Indexer::new();
/// indexer.add_index("team", IndexFn::label("team")).unwrap();
/// indexer.upsert(Ingest::new(kind)
///     .object(br#"{"metadata":{"name":"a","namespace":"shop","uid":"1","resourceVersion":"7","labels":{"team":"x"}}}"#)
///     .unwrap());
/// assert_eq!(indexer.by_index("team", "x").unwrap().len(), 1);
/// assert!(indexer.get("shop/a").is_some());
/// ```
pub struct Indexer {
    current: ArcSwap<Snapshot>,
    next: Mutex<Snapshot>,
    version: watch::Sender<Option<Arc<str>>>,
}

/// A resource version that cannot be waited for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// The version is not a number.
    #[error("{0:?} is not a comparable resource version")]
    Incomparable(String),
    /// The cache is not written any more.
    #[error("the cache has stopped")]
    Stopped,
}

/// The index by namespace, which every informer has.
pub const NAMESPACE_INDEX: &str = "namespace";

impl Indexer {
    /// Creates an empty cache.
    pub fn new() -> Self {
        Self {
            current: ArcSwap::default(),
            next: Mutex::default(),
            version: watch::Sender::new(None),
        }
    }

    /// Returns the current state.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Returns the object under that key.
    pub fn get(&self, key: &str) -> Option<Arc<StoredObject>> {
        self.current.load().get(key).cloned()
    }

    /// Returns the objects under a value of an index.
    ///
    /// # Errors
    ///
    /// Fails if there is no such index.
    pub fn by_index(&self, name: &str, value: &str) -> Result<Vec<Arc<StoredObject>>, IndexError> {
        self.current.load().by_index(name, value)
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.current.load().len()
    }

    /// Reports whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the resource version of the cache; `None` before the first list.
    pub fn resource_version(&self) -> Option<String> {
        self.current.load().resource_version().map(str::to_owned)
    }

    /// Waits until the cache shows that resource version or a newer one. The response to a write contains its version,
    /// so waiting for it makes the caller's own write visible.
    ///
    /// # Errors
    ///
    /// Fails if the version is not a number, or if the informer has stopped.
    pub async fn wait_for(&self, resource_version: &str) -> Result<(), VersionError> {
        if compare_resource_versions(resource_version, resource_version).is_none() {
            return Err(VersionError::Incomparable(resource_version.to_owned()));
        }
        let reached = |shown: &Option<Arc<str>>| {
            shown.as_deref().is_some_and(|shown| {
                compare_resource_versions(shown, resource_version).is_some_and(Ordering::is_ge)
            })
        };
        let mut shown = self.version.subscribe();
        shown
            .wait_for(reached)
            .await
            .map_err(|_| VersionError::Stopped)?;
        Ok(())
    }

    /// Adds an index; existing objects are indexed at once.
    ///
    /// # Errors
    ///
    /// Fails if there is an index of that name.
    pub fn add_index(&self, name: &str, function: IndexFn) -> Result<(), IndexError> {
        self.write(|state| state.add_index(name, function))
    }

    /// Adds or replaces an object, and returns its previous state. The cache then shows the object's resource version.
    pub fn upsert(&self, object: Arc<StoredObject>) -> Option<Arc<StoredObject>> {
        self.write(|state| {
            if !object.resource_version().is_empty() {
                state.set_resource_version(Some(object.resource_version()));
            }
            state.insert(object)
        })
    }

    /// Removes and returns an object. The resource version stays.
    pub fn delete(&self, key: &str) -> Option<Arc<StoredObject>> {
        self.write(|state| state.remove(key))
    }

    /// Replaces all objects.
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

    /// Advances the resource version with the same objects.
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
