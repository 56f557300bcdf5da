//! [`Lister`]: typed reads from a cache.
//!
//! A lister reads the cached objects, even before the cache has been filled. Values are shared and immutable;
//! [`Arc::make_mut`] makes a copy to change. An object that cannot be decoded is reported and left out of lists.

use std::marker::PhantomData;
use std::sync::Arc;

use kubewright_machinery::labels::LabelSelector;
use serde::de::DeserializeOwned;

use crate::informer::core::Lease;
use crate::key::Key;
use crate::object::{Cached, DecodeFailure, StoredObject};
use crate::store::NAMESPACE_INDEX;
use crate::store::snapshot::matches;
use crate::store::{IndexError, Snapshot};

/// Reads a cache as `K`s. Keeps the informer running.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use std::time::Duration;
/// use k8s_openapi::api::core::v1::Namespace;
/// use kubewright_informer::SharedInformerFactory;
/// use kubewright_machinery::labels::LabelSelector;
///
/// let informer = SharedInformerFactory::new(client).informer::<Namespace>();
/// informer.start();
/// informer.wait_for_sync(Duration::from_secs(10)).await.unwrap();
///
/// let namespaces = informer.lister();
/// assert!(namespaces.get("default").unwrap().is_some());
/// assert!(namespaces.get("missing").unwrap().is_none());
/// assert_eq!(namespaces.list(&LabelSelector::everything()).len(), namespaces.len());
/// # });
/// ```
pub struct Lister<K> {
    lease: Arc<Lease>,
    kind: PhantomData<fn() -> K>,
}

/// Reads the objects of one namespace.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use std::time::Duration;
/// use k8s_openapi::api::core::v1::ServiceAccount;
/// use kubewright_informer::SharedInformerFactory;
///
/// let factory = SharedInformerFactory::new(client);
/// let accounts = factory.informer::<ServiceAccount>().lister().namespace("default");
/// factory.start();
/// assert!(factory.wait_for_sync(Duration::from_secs(10)).await.is_synced());
/// assert!(accounts.get("nobody").unwrap().is_none());
/// # });
/// ```
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

    /// Returns the current state of the cache, for several reads that belong together.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.lease.processor().indexer.snapshot()
    }

    /// Returns a lister of one namespace; of all namespaces if the name is empty.
    pub fn namespace(&self, namespace: impl Into<String>) -> NamespaceLister<K> {
        NamespaceLister {
            lister: self.clone(),
            namespace: namespace.into(),
        }
    }

    /// Returns the object under that key without decoding it.
    pub fn cached(&self, key: &Key) -> Option<Cached<K>> {
        self.lease
            .processor()
            .indexer
            .get(key.as_str())
            .map(Cached::new)
    }

    /// Returns the objects whose labels match, without decoding them.
    pub fn select(&self, selector: &LabelSelector) -> Vec<Cached<K>> {
        seen(self.snapshot().select(selector))
    }

    /// Returns the objects under a value of an index, without decoding them.
    ///
    /// # Errors
    ///
    /// Fails if there is no such index.
    pub fn by_index(&self, name: &str, value: &str) -> Result<Vec<Cached<K>>, IndexError> {
        Ok(seen(self.lease.processor().indexer.by_index(name, value)?))
    }

    /// Returns the number of cached objects.
    pub fn len(&self) -> usize {
        self.lease.processor().indexer.len()
    }

    /// Reports whether nothing is cached.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K: DeserializeOwned + Send + Sync + 'static> Lister<K> {
    /// Returns the cluster-scoped object of that name; `None` if it is not cached.
    ///
    /// # Errors
    ///
    /// Fails if the object cannot be decoded.
    pub fn get(&self, name: &str) -> Result<Option<Arc<K>>, DecodeFailure> {
        self.get_key(&Key::new(None, name))
    }

    /// Returns the object under that key; `None` if it is not cached.
    ///
    /// # Errors
    ///
    /// Fails if the object cannot be decoded.
    pub fn get_key(&self, key: &Key) -> Result<Option<Arc<K>>, DecodeFailure> {
        self.cached(key).map(|object| object.get()).transpose()
    }

    /// Returns the objects whose labels match.
    pub fn list(&self, selector: &LabelSelector) -> Vec<Arc<K>> {
        decoded(self.select(selector))
    }

    /// Returns the objects under a value of an index.
    ///
    /// # Errors
    ///
    /// Fails if there is no such index.
    pub fn list_by_index(&self, name: &str, value: &str) -> Result<Vec<Arc<K>>, IndexError> {
        Ok(decoded(self.by_index(name, value)?))
    }
}

impl<K> NamespaceLister<K> {
    /// Returns the object of that name without decoding it.
    pub fn cached(&self, name: &str) -> Option<Cached<K>> {
        self.lister.cached(&Key::new(Some(&self.namespace), name))
    }

    /// Returns the objects whose labels match, without decoding them.
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
    /// Returns the object of that name; `None` if it is not cached.
    ///
    /// # Errors
    ///
    /// Fails if the object cannot be decoded.
    pub fn get(&self, name: &str) -> Result<Option<Arc<K>>, DecodeFailure> {
        self.cached(name).map(|object| object.get()).transpose()
    }

    /// Returns the objects whose labels match.
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

/// Decodes objects. Those that cannot be decoded are reported by [`Cached::get`] and left out.
fn decoded<K: DeserializeOwned + Send + Sync + 'static>(objects: Vec<Cached<K>>) -> Vec<Arc<K>> {
    objects
        .iter()
        .filter_map(|object| object.get().ok())
        .collect()
}
