//! [`Lister`]: reads a cache as `K`s.
//!
//! A lister answers from whatever is cached, also before the cache has been filled. Values are shared and do not change;
//! [`Arc::make_mut`] makes a copy to change. An object that cannot be decoded is reported and left out of lists.

use std::marker::PhantomData;
use std::sync::Arc;

use kubewright_machinery::labels::LabelSelector;
use serde::de::DeserializeOwned;

use crate::informer::core::Lease;
use crate::key::Key;
use crate::object::{Cached, DecodeFailure, StoredObject};
use crate::store::indexer::NAMESPACE_INDEX;
use crate::store::snapshot::matches;
use crate::store::{IndexError, Snapshot};

/// Reads a cache as `K`s. It keeps the informer running.
pub struct Lister<K> {
    lease: Arc<Lease>,
    kind: PhantomData<fn() -> K>,
}

/// Reads the objects of one namespace.
pub struct NamespaceLister<K> {
    lister: Lister<K>,
    namespace: String,
}

impl<K> Lister<K> {
    pub(crate) fn new(lease: Arc<Lease>) -> Self {
        Self {
            lease,
            kind: PhantomData,
        }
    }

    /// The current state of the cache, for several reads that belong together.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.lease.processor().indexer.snapshot()
    }

    /// The objects of one namespace; of all of them if the name is empty.
    pub fn namespace(&self, namespace: impl Into<String>) -> NamespaceLister<K> {
        NamespaceLister {
            lister: self.clone(),
            namespace: namespace.into(),
        }
    }

    /// The object under that key, not decoded.
    pub fn cached(&self, key: &Key) -> Option<Cached<K>> {
        self.lease
            .processor()
            .indexer
            .get(key.as_str())
            .map(Cached::new)
    }

    /// The objects whose labels match, not decoded.
    pub fn select(&self, selector: &LabelSelector) -> Vec<Cached<K>> {
        seen(self.snapshot().select(selector))
    }

    /// The objects under a value of an index, not decoded.
    pub fn by_index(&self, name: &str, value: &str) -> Result<Vec<Cached<K>>, IndexError> {
        Ok(seen(self.lease.processor().indexer.by_index(name, value)?))
    }

    /// How many objects are cached.
    pub fn len(&self) -> usize {
        self.lease.processor().indexer.len()
    }

    /// Whether nothing is cached.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K: DeserializeOwned + Send + Sync + 'static> Lister<K> {
    /// The object of that name that has no namespace.
    pub fn get(&self, name: &str) -> Result<Option<Arc<K>>, DecodeFailure> {
        self.get_key(&Key::new(None, name))
    }

    /// The object under that key.
    pub fn get_key(&self, key: &Key) -> Result<Option<Arc<K>>, DecodeFailure> {
        self.cached(key).map(|object| object.get()).transpose()
    }

    /// The objects whose labels match.
    pub fn list(&self, selector: &LabelSelector) -> Vec<Arc<K>> {
        decoded(self.select(selector))
    }

    /// The objects under a value of an index.
    pub fn list_by_index(&self, name: &str, value: &str) -> Result<Vec<Arc<K>>, IndexError> {
        Ok(decoded(self.by_index(name, value)?))
    }
}

impl<K> NamespaceLister<K> {
    /// The object of that name, not decoded.
    pub fn cached(&self, name: &str) -> Option<Cached<K>> {
        self.lister.cached(&Key::new(Some(&self.namespace), name))
    }

    /// The objects whose labels match, not decoded.
    pub fn select(&self, selector: &LabelSelector) -> Vec<Cached<K>> {
        if self.namespace.is_empty() {
            return self.lister.select(selector);
        }
        if selector.is_nothing() {
            return Vec::new();
        }
        let objects = self
            .lister
            .by_index(NAMESPACE_INDEX, &self.namespace)
            .unwrap_or_default();
        objects
            .into_iter()
            .filter(|object| matches(selector, object))
            .collect()
    }
}

impl<K: DeserializeOwned + Send + Sync + 'static> NamespaceLister<K> {
    /// The object of that name.
    pub fn get(&self, name: &str) -> Result<Option<Arc<K>>, DecodeFailure> {
        self.cached(name).map(|object| object.get()).transpose()
    }

    /// The objects whose labels match.
    pub fn list(&self, selector: &LabelSelector) -> Vec<Arc<K>> {
        decoded(self.select(selector))
    }
}

impl<K> Clone for Lister<K> {
    fn clone(&self) -> Self {
        Self::new(self.lease.clone())
    }
}

impl<K> Clone for NamespaceLister<K> {
    fn clone(&self) -> Self {
        self.lister.namespace(self.namespace.clone())
    }
}

fn seen<K>(objects: Vec<Arc<StoredObject>>) -> Vec<Cached<K>> {
    objects.into_iter().map(Cached::new).collect()
}

/// What cannot be decoded is reported by [`Cached::get`] and left out.
fn decoded<K: DeserializeOwned + Send + Sync + 'static>(objects: Vec<Cached<K>>) -> Vec<Arc<K>> {
    objects
        .iter()
        .filter_map(|object| object.get().ok())
        .collect()
}
