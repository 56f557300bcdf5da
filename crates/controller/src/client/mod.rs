//! [`Client`]: reads from the caches, writes to the server, and reads its own writes.
//!
//! Every write through the client is noted with the resourceVersion of the answer; a read from a cache that has not come so
//! far waits until it has, for the object that was written, and for lists of its kind. Writes of other processes, and of
//! other clients, are seen when the watch brings them. The answer to a `deletecollection` is not noted.
//!
//! | module | what it holds |
//! |---|---|
//! | [`writes`] | what was written and is not in the caches yet |
//! | [`caches`] | one cache for each kind, made when it is first needed |

pub mod caches;
mod status;
pub mod writes;

use std::{sync::Arc, time::Duration};

use kube::{
    Api, Resource,
    core::{ApiResource, ClusterResourceScope, DynamicObject, NamespaceResourceScope},
};
use kubewright_informer::{
    IndexFn, Key, NotSynced, SharedInformer, object::DecodeFailure, store::IndexError,
};
use kubewright_machinery::labels::LabelSelector;
use serde::de::DeserializeOwned;

use caches::Caches;
use writes::Writes;

/// How long a read waits for the cache to show what was written, unless said otherwise.
pub const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads from the caches, writes to the server. Cheap to clone.
///
/// Writing is done with [`kube::Api`]s on [`live`](Self::live) or [`api`](Self::api): whatever uses them (`create_or_update`,
/// finalizers, apply) is noted too.
#[derive(Clone)]
pub struct Client {
    live: kube::Client,
    caches: Caches,
    writes: Option<Writes>,
    timeout: Duration,
}

/// What to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    namespace: Option<String>,
    selector: Option<LabelSelector>,
    index: Option<(String, String)>,
}

/// Why a cache could not be read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReadError {
    /// The cache could not be filled.
    #[error(transparent)]
    NotSynced(#[from] NotSynced),
    /// What was written has not come back in time.
    #[error("the cache of {resource} does not show this client's last write after {waited:?}")]
    Behind {
        /// The kind's resource.
        resource: String,
        /// How long the read waited.
        waited: Duration,
    },
    /// The object is not what it should be.
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
        timeout: Duration,
    ) -> Self {
        let live = match &writes {
            Some(writes) => writes.note(client),
            None => client,
        };
        Self {
            live,
            caches,
            writes,
            timeout,
        }
    }

    /// The server itself, past the caches. Writes are noted.
    pub fn live(&self) -> kube::Client {
        self.live.clone()
    }

    /// The objects of a type in a namespace, on the server. Writes are noted.
    pub fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.live(), namespace)
    }

    /// The objects of a type without namespaces, on the server. Writes are noted.
    pub fn cluster_api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>,
    {
        Api::all(self.live())
    }

    /// An object from the cache of its kind; `None` if there is none.
    pub async fn get<K>(&self, namespace: &str, name: &str) -> Result<Option<Arc<K>>, ReadError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        self.get_key(&Key::new(Some(namespace), name)).await
    }

    /// An object from the cache of its kind; `None` if there is none.
    pub async fn get_key<K>(&self, key: &Key) -> Result<Option<Arc<K>>, ReadError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        let resource = ApiResource::erase::<K>(&());
        let cache = self.caught_up(&resource, Some(key)).await?;
        Ok(cache.seen_as::<K>().lister().get_key(key)?)
    }

    /// An object of a kind that is known at run time, from the same cache that typed readers use.
    pub async fn get_dynamic(
        &self,
        resource: &ApiResource,
        key: &Key,
    ) -> Result<Option<Arc<DynamicObject>>, ReadError> {
        let cache = self.caught_up(resource, Some(key)).await?;
        Ok(cache.seen_as::<DynamicObject>().lister().get_key(key)?)
    }

    /// Objects from the cache of their kind.
    pub async fn list<K>(&self, filter: &Filter) -> Result<Vec<Arc<K>>, ReadError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        let resource = ApiResource::erase::<K>(&());
        let cache = self.caught_up(&resource, None).await?;
        filter.list(&cache.seen_as::<K>())
    }

    /// Objects of a kind that is known at run time, from the same cache that typed readers use.
    pub async fn list_dynamic(
        &self,
        resource: &ApiResource,
        filter: &Filter,
    ) -> Result<Vec<Arc<DynamicObject>>, ReadError> {
        let cache = self.caught_up(resource, None).await?;
        filter.list(&cache.seen_as::<DynamicObject>())
    }

    /// Adds an index to the cache of a kind, to list by. Once for each name.
    pub fn index<K>(&self, name: &str, function: IndexFn) -> Result<(), IndexError>
    where
        K: Resource<DynamicType = ()>,
    {
        let resource = ApiResource::erase::<K>(&());
        self.caches.index(&resource, name, function)
    }

    /// The cache of a type, to subscribe to or to read without waiting.
    pub fn informer<K>(&self) -> SharedInformer<K>
    where
        K: Resource<DynamicType = ()>,
    {
        self.caches.reading(&ApiResource::erase::<K>(&())).seen_as()
    }

    /// The same with writes through another client: one that is guarded, or acts for somebody else.
    pub(crate) fn writing_through(&self, client: kube::Client) -> Self {
        Self::new(
            client,
            self.caches.clone(),
            self.writes.clone(),
            self.timeout,
        )
    }

    /// The cache of a resource, filled, and not older than what was written.
    async fn caught_up(
        &self,
        resource: &ApiResource,
        key: Option<&Key>,
    ) -> Result<SharedInformer<()>, ReadError> {
        let cache = self.caches.reading(resource);
        if !cache.has_synced() {
            cache.wait_for_sync(self.timeout).await?;
        }
        if let Some(writes) = &self.writes {
            let caught_up = writes.caught_up(resource, &cache, key);
            if tokio::time::timeout(self.timeout, caught_up).await.is_err() {
                // It may be outside what is cached: one read fails for it, not all.
                writes.forget(resource, key);
                return Err(ReadError::Behind {
                    resource: resource.plural.clone(),
                    waited: self.timeout,
                });
            }
        }
        Ok(cache)
    }
}

impl Filter {
    /// Everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// In one namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// With these labels.
    #[must_use]
    pub fn labels(mut self, selector: LabelSelector) -> Self {
        self.selector = Some(selector);
        self
    }

    /// Under a value of an index.
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
