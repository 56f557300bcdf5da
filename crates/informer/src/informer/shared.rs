//! [`SharedInformer`]: one cache that many readers share.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use kube::core::ApiResource;
use serde::de::DeserializeOwned;

use super::config::InformerConfig;
use super::core::{Core, Lease};
use super::status::NotSynced;
use crate::Scope;
use crate::events::{EventHandler, HandlerPanic, Registration, SubscribeOptions, Subscription};
use crate::lister::Lister;
use crate::lister_watcher::ListerWatcher;
use crate::metrics::MetricsSnapshot;
use crate::object::{DecodeFailure, Rejected};
use crate::reflector::ReflectorError;
use crate::store::{IndexError, IndexFn, Indexer, VersionError};

/// A cache of one resource that any number of handlers, listers and subscriptions share. Clones share it too; when all
/// of them are dropped, the watch ends.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use std::time::Duration;
/// use k8s_openapi::api::core::v1::Namespace;
/// use kubewright_informer::SharedInformerFactory;
///
/// let informer = SharedInformerFactory::new(client).informer::<Namespace>();
/// informer.start();
/// informer.wait_for_sync(Duration::from_secs(10)).await.unwrap();
/// assert!(informer.lister().get("default").unwrap().is_some());
/// # });
/// ```
pub struct SharedInformer<K> {
    lease: Arc<Lease>,
    kind: PhantomData<fn() -> K>,
}

impl<K> SharedInformer<K> {
    /// Creates an informer over these streams: one, or one for each of the configured namespaces. Most users get theirs
    /// from a [`SharedInformerFactory`](crate::SharedInformerFactory).
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime.
    pub fn new(
        resource: ApiResource,
        sources: Vec<Arc<dyn ListerWatcher>>,
        config: InformerConfig,
    ) -> Self {
        let runtime = tokio::runtime::Handle::current();
        Self::from_lease(Core::lease(resource, sources, config, runtime))
    }

    pub(crate) fn from_lease(lease: Arc<Lease>) -> Self {
        Self {
            lease,
            kind: PhantomData,
        }
    }

    /// Starts the informer if it has not started.
    pub fn start(&self) {
        self.lease.core().start();
    }

    /// Stops the informer for all users.
    pub fn stop(&self) {
        self.lease.core().stop();
    }

    /// Reports whether the informer has stopped. It does not start again.
    pub fn is_stopped(&self) -> bool {
        self.lease.core().is_stopped()
    }

    /// Returns the resource.
    pub fn resource(&self) -> &ApiResource {
        &self.lease.core().kind.resource
    }

    /// Returns the namespaces and the objects that are cached.
    pub fn scope(&self) -> Scope {
        self.lease.core().scope()
    }

    /// Reports whether the cache has been filled. For handlers, ask their [`Registration`].
    pub fn has_synced(&self) -> bool {
        self.lease.core().has_synced()
    }

    /// Waits until the cache has been filled.
    ///
    /// # Errors
    ///
    /// Fails if the time is over or the informer has stopped; the error contains the reason.
    pub async fn wait_for_sync(&self, most: Duration) -> Result<(), NotSynced> {
        self.lease.core().wait_for_sync(Some(most)).await
    }

    /// Waits until the cache has been filled or the first error occurs, which may be transient: a missing permission,
    /// an unknown resource, an unreachable server.
    ///
    /// # Errors
    ///
    /// Fails with the first error of the watch, or if the informer has stopped.
    pub async fn sync_or_error(&self) -> Result<(), NotSynced> {
        self.lease.core().sync_or_error().await
    }

    /// Returns the current error of the watch, if any.
    pub fn error(&self) -> Option<Arc<ReflectorError>> {
        self.lease.processor().monitor.error()
    }

    /// Returns the last object that could not be cached, with the reason.
    pub fn last_rejected(&self) -> Option<Rejected> {
        self.lease.processor().monitor.last_rejected()
    }

    /// Returns the last object that could not be decoded.
    pub fn last_decode_failure(&self) -> Option<DecodeFailure> {
        self.lease.core().kind.last_decode_failure()
    }

    /// Returns the last panic of a handler.
    pub fn last_panic(&self) -> Option<HandlerPanic> {
        self.lease.processor().last_panic()
    }

    /// Returns the cache.
    pub fn indexer(&self) -> &Arc<Indexer> {
        &self.lease.processor().indexer
    }

    /// Adds an index, also while the informer runs.
    ///
    /// # Errors
    ///
    /// Fails if there is an index of that name.
    pub fn add_index(&self, name: &str, function: IndexFn) -> Result<(), IndexError> {
        self.indexer().add_index(name, function)
    }

    /// Returns the resource version of the cache; `None` before the first list.
    pub fn resource_version(&self) -> Option<String> {
        self.indexer().resource_version()
    }

    /// Waits until the cache shows that resource version or a newer one.
    ///
    /// # Errors
    ///
    /// Fails if the version is not a number, or if the informer stops.
    pub async fn wait_for(&self, resource_version: &str) -> Result<(), VersionError> {
        tokio::select! {
            biased;
            result = self.indexer().wait_for(resource_version) => result,
            () = self.lease.core().until_stopped() => Err(VersionError::Stopped),
        }
    }

    /// Returns a lister of the cache.
    pub fn lister(&self) -> Lister<K> {
        Lister::new(self.lease.clone())
    }

    /// Subscribes to all objects, and then to every change, read at the caller's own pace.
    pub fn subscribe(&self, options: SubscribeOptions) -> Subscription<K> {
        self.lease.subscribe(options)
    }

    /// Returns the metrics.
    pub fn metrics(&self) -> MetricsSnapshot {
        self.lease.core().metrics()
    }

    /// Returns the same informer with objects of another type, such as pods as dynamic objects.
    pub fn cast<T>(&self) -> SharedInformer<T> {
        SharedInformer::from_lease(self.lease.clone())
    }
}

impl<K: DeserializeOwned + Send + Sync + 'static> SharedInformer<K> {
    /// Calls a handler for all objects, and then for every change. It is called until it is removed or the informer
    /// stops, and keeps the informer running meanwhile.
    pub fn add_handler(&self, handler: impl EventHandler<K>) -> Registration {
        self.add_handler_with(SubscribeOptions::default(), handler)
    }

    /// Calls a handler, with options.
    pub fn add_handler_with(
        &self,
        options: SubscribeOptions,
        handler: impl EventHandler<K>,
    ) -> Registration {
        Registration::start(self.subscribe(options), &self.lease, handler)
    }
}

impl<K> Clone for SharedInformer<K> {
    fn clone(&self) -> Self {
        Self::from_lease(self.lease.clone())
    }
}

impl<K> fmt::Debug for SharedInformer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformer")
            .field("resource", &super::status::name(self.resource()))
            .field("synced", &self.has_synced())
            .finish_non_exhaustive()
    }
}
