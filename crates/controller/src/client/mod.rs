//! [`Client`]: reads from the caches, writes to the server, and reads its own writes.
//!
//! Every write through the client is recorded with the resource version of the response; a read from a cache that is
//! older waits for it, for the written object and for lists of its kind. Writes of other processes and other clients
//! become visible when the watch delivers them. A `deletecollection` is not recorded.
//!
//! | module | contents |
//! |---|---|
//! | `writes` | writes that the caches do not show yet |
//! | `caches` | one cache for each kind, created on first use |
//! | `write` | create, update, patch, apply, delete |

pub(crate) mod caches;
mod write;
pub(crate) mod writes;

use std::{sync::Arc, time::Duration};

use kube::{
    Api, Resource,
    core::{ApiResource, ClusterResourceScope, DynamicObject, NamespaceResourceScope},
};
use kubewright_informer::{DecodeFailure, IndexError, IndexFn, Key, NotSynced, SharedInformer};
use kubewright_machinery::labels::LabelSelector;
use serde::de::DeserializeOwned;

use caches::{Caches, Kind};
pub(crate) use write::{is_namespaced, key_of};
use writes::Writes;

use crate::{object::Object, run::Tracking};

/// The default time that a read waits for the cache to show a write.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads from the caches, and writes to the server. Cheap to clone.
///
/// Writes go to the server under the field manager of the operator. What [`kube::Api`]s from [`live`](Self::live) or
/// [`api`](Self::api) write is recorded too.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Filter, Manager};
///
/// let manager = Manager::new(cluster.client());
/// let client = manager.client().clone();
/// # let work = async move {
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("colours".into());
/// map.metadata.namespace = Some("default".into());
/// client.create(&map).await.unwrap();
/// // The read waits until the cache shows the write.
/// assert!(client.get::<ConfigMap>("default", "colours").await.unwrap().is_some());
/// let maps = client.list::<ConfigMap>(&Filter::new().namespace("default")).await.unwrap();
/// assert!(!maps.is_empty());
/// # };
/// # manager.run(work).await.unwrap();
/// # });
/// ```
#[derive(Clone)]
pub struct Client {
    live: kube::Client,
    /// The client below `live`, whose writes are not recorded.
    base: kube::Client,
    caches: Caches,
    writes: Option<Writes>,
    tracking: Tracking,
    timeout: Duration,
    field_manager: Option<Arc<str>>,
}

/// Selects the objects of a list.
///
/// ```
/// use kubewright_controller::Filter;
///
/// let filter = Filter::new().namespace("shop").labels("app=web".parse().unwrap());
/// # let _ = filter;
/// ```
#[derive(Clone, Debug, Default)]
pub struct Filter {
    namespace: Option<String>,
    selector: Option<LabelSelector>,
    index: Option<(String, String)>,
}

/// A read from a cache that failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReadError {
    /// The cache could not be filled.
    #[error(transparent)]
    NotSynced(#[from] NotSynced),
    /// The cache did not show a write in time.
    #[error("the cache of {resource} does not show this client's last write after {waited:?}")]
    Behind {
        /// The resource of the kind.
        resource: String,
        /// The time that the read waited.
        waited: Duration,
    },
    /// The object could not be decoded.
    #[error(transparent)]
    Decode(#[from] DecodeFailure),
    /// There is no such index.
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl Client {
    pub(crate) fn new(
        client: kube::Client,
        caches: Caches,
        writes: Option<Writes>,
        tracking: Tracking,
        timeout: Duration,
    ) -> Self {
        let live = match &writes {
            Some(writes) => writes.note(client.clone()),
            None => client.clone(),
        };
        Self {
            live,
            base: client,
            caches,
            writes,
            tracking,
            timeout,
            field_manager: None,
        }
    }

    /// Returns a client that bypasses the caches. Its writes are recorded.
    pub fn live(&self) -> kube::Client {
        self.live.clone()
    }

    /// Returns the objects of a type in a namespace, on the server. Writes are recorded.
    pub fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.live(), namespace)
    }

    /// Returns the cluster-scoped objects of a type, on the server. Writes are recorded.
    pub fn cluster_api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>,
    {
        Api::all(self.live())
    }

    /// Returns an object from the cache; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the cache cannot be filled, does not show this client's last write in time, or if the object cannot be
    /// decoded.
    pub async fn get<K: Object>(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<K>>, ReadError> {
        self.get_key(&Key::new(Some(namespace), name)).await
    }

    /// Returns an object from the cache; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails like [`get`](Self::get).
    pub async fn get_key<K: Object>(&self, key: &Key) -> Result<Option<Arc<K>>, ReadError> {
        let cache = self.caught_up(&self.caches.kind::<K>(), Some(key)).await?;
        Ok(cache.cast::<K>().lister().get_key(key)?)
    }

    /// Returns an object of a kind that is known at run time, from the same cache that typed readers use.
    ///
    /// # Errors
    ///
    /// Fails like [`get`](Self::get).
    pub async fn get_dynamic(
        &self,
        resource: &ApiResource,
        key: &Key,
    ) -> Result<Option<Arc<DynamicObject>>, ReadError> {
        let kind = Kind::of(resource.clone());
        let cache = self.caught_up(&kind, Some(key)).await?;
        Ok(cache.cast::<DynamicObject>().lister().get_key(key)?)
    }

    /// Returns objects from the cache.
    ///
    /// # Errors
    ///
    /// Fails like [`get`](Self::get), or if there is no such index.
    pub async fn list<K: Object>(&self, filter: &Filter) -> Result<Vec<Arc<K>>, ReadError> {
        let cache = self.caught_up(&self.caches.kind::<K>(), None).await?;
        filter.list(&cache.cast::<K>())
    }

    /// Returns objects of a kind that is known at run time, from the same cache that typed readers use.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// # let cluster = kubewright_testing::TestCluster::start().await;
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kube::core::ApiResource;
    /// use kubewright_controller::{Filter, Manager};
    ///
    /// let manager = Manager::new(cluster.client());
    /// let client = manager.client().clone();
    /// # let work = async move {
    /// let namespaces = ApiResource::erase::<Namespace>(&());
    /// let found = client.list_dynamic(&namespaces, &Filter::new()).await.unwrap();
    /// assert!(!found.is_empty());
    /// # };
    /// # manager.run(work).await.unwrap();
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Fails like [`list`](Self::list).
    pub async fn list_dynamic(
        &self,
        resource: &ApiResource,
        filter: &Filter,
    ) -> Result<Vec<Arc<DynamicObject>>, ReadError> {
        let cache = self.caught_up(&Kind::of(resource.clone()), None).await?;
        filter.list(&cache.cast::<DynamicObject>())
    }

    /// Adds an index to the cache of a kind, once for each name.
    ///
    /// # Errors
    ///
    /// Fails if there is an index of that name.
    pub fn index<K>(&self, name: &str, function: IndexFn) -> Result<(), IndexError>
    where
        K: Resource<DynamicType = ()>,
    {
        let resource = ApiResource::erase::<K>(&());
        self.caches.index(&resource, name, function)
    }

    /// Adds an index to the cache of a type: a function returns the values under which [`Filter::index`] finds an object.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// # let cluster = kubewright_testing::TestCluster::start().await;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Filter, Manager};
    ///
    /// let manager = Manager::new(cluster.client());
    /// let client = manager.client().clone();
    /// client
    ///     .index_by::<ConfigMap>("colour", |map| map.data.iter().flat_map(|d| d.get("colour").cloned()).collect())
    ///     .unwrap();
    /// # let work = async move {
    /// let mut map = ConfigMap::default();
    /// map.metadata.name = Some("sky".into());
    /// map.metadata.namespace = Some("default".into());
    /// map.data = Some([("colour".into(), "blue".into())].into());
    /// client.create(&map).await.unwrap();
    /// let blue = client.list::<ConfigMap>(&Filter::new().index("colour", "blue")).await.unwrap();
    /// assert_eq!(blue.len(), 1);
    /// # };
    /// # manager.run(work).await.unwrap();
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if there is an index of that name.
    pub fn index_by<K: Object>(
        &self,
        name: &str,
        values: impl Fn(&K) -> Vec<String> + Send + Sync + 'static,
    ) -> Result<(), IndexError> {
        self.index::<K>(name, IndexFn::typed(values))
    }

    /// Returns the informer of a type, to subscribe to or to read without waiting.
    pub fn informer<K>(&self) -> SharedInformer<K>
    where
        K: Resource<DynamicType = ()>,
    {
        self.caches.reading(&ApiResource::erase::<K>(&())).cast()
    }

    /// Returns the informer of a type once its cache shows this client's writes of the kind, to read many objects of one
    /// state, or their JSON.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// # let cluster = kubewright_testing::TestCluster::start().await;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::Manager;
    ///
    /// let manager = Manager::new(cluster.client());
    /// let client = manager.client().clone();
    /// # let work = async move {
    /// let mut map = ConfigMap::default();
    /// map.metadata.name = Some("colours".into());
    /// map.metadata.namespace = Some("default".into());
    /// client.create(&map).await.unwrap();
    /// let maps = client.current_informer::<ConfigMap>().await.unwrap();
    /// assert!(maps.indexer().get("default/colours").is_some());
    /// # };
    /// # manager.run(work).await.unwrap();
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Fails like [`get`](Self::get).
    pub async fn current_informer<K: Object>(&self) -> Result<SharedInformer<K>, ReadError> {
        let cache = self.caught_up(&self.caches.kind::<K>(), None).await?;
        Ok(cache.cast())
    }

    /// Returns a client that writes through another one, such as a guarded or an impersonating one.
    pub(crate) fn writing_through(&self, client: kube::Client) -> Self {
        let field_manager = self.field_manager.clone();
        Self {
            field_manager,
            ..Self::new(
                client,
                self.caches.clone(),
                self.writes.clone(),
                self.tracking.clone(),
                self.timeout,
            )
        }
    }

    /// Returns the cache of a resource, filled and not older than the recorded writes.
    async fn caught_up(
        &self,
        kind: &Kind,
        key: Option<&Key>,
    ) -> Result<SharedInformer<()>, ReadError> {
        let cache = self.caches.reading_kind(kind);
        if !cache.has_synced() {
            cache.wait_for_sync(self.timeout).await?;
        }
        if let Some(writes) = &self.writes
            && writes.are_pending(&kind.name, key)
        {
            let caught_up = writes.caught_up(&kind.name, &cache, key);
            if tokio::time::timeout(self.timeout, caught_up).await.is_err() {
                // The object may be outside the cache's scope: one read fails for it, not all.
                writes.forget(&kind.name, key);
                return Err(ReadError::Behind {
                    resource: kind.resource.plural.clone(),
                    waited: self.timeout,
                });
            }
        }
        Ok(cache)
    }
}

impl Filter {
    /// Selects everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Selects the objects of one namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Selects by labels.
    #[must_use]
    pub fn labels(mut self, selector: LabelSelector) -> Self {
        self.selector = Some(selector);
        self
    }

    /// Selects the objects under a value of an index.
    #[must_use]
    pub fn index(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.index = Some((name.into(), value.into()));
        self
    }

    fn list<K>(&self, cache: &SharedInformer<K>) -> Result<Vec<Arc<K>>, ReadError>
    where
        K: DeserializeOwned + Send + Sync + 'static,
    {
        let everything = LabelSelector::everything();
        let selector = self.selector.as_ref().unwrap_or(&everything);
        let namespace = self.namespace.as_deref().unwrap_or_default();
        let lister = cache.lister();
        let Some((index, value)) = &self.index else {
            return Ok(lister.namespace(namespace).list(selector));
        };
        let found = lister.by_index(index, value)?;
        let fits = |object: &&kubewright_informer::Cached<K>| {
            let labels = object.labels();
            let label = |name: &str| {
                let label = labels.iter().find(|(key, _)| *key == name);
                label.map(|(_, value)| &**value)
            };
            (namespace.is_empty() || object.namespace() == Some(namespace))
                && selector.matches(label)
        };
        let found = found.iter().filter(fits);
        Ok(found.filter_map(|object| object.get().ok()).collect())
    }
}
