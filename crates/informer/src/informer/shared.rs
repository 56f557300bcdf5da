//! [`SharedInformer`]: one cache that many share, seen as a `K`.

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

/// One cache of one resource, that any number of handlers, listers and subscriptions share. Clones share it too; when all
/// of them are gone, the watch ends.
pub struct SharedInformer<K> {
    lease: Arc<Lease>,
    kind: PhantomData<fn() -> K>,
}

impl<K> SharedInformer<K> {
    /// An informer of its own over these streams: one, or one for each of the configured namespaces. Most get theirs from a
    /// [`SharedInformerFactory`](crate::SharedInformerFactory).
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
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

    /// Starts the informer, if it does not run yet.
    pub fn start(&self) {
        self.lease.core().start();
    }

    /// Stops the informer for all who share it.
    pub fn stop(&self) {
        self.lease.core().stop();
    }

    /// Whether it has stopped. It does not start again.
    pub fn is_stopped(&self) -> bool {
        self.lease.core().is_stopped()
    }

    /// The resource.
    pub fn resource(&self) -> &ApiResource {
        &self.lease.core().kind.resource
    }

    /// What it caches: in which namespaces, and which objects there.
    pub fn scope(&self) -> Scope {
        self.lease.core().scope()
    }

    /// Whether the cache has been filled. It says nothing of handlers: ask their [`Registration`].
    pub fn has_synced(&self) -> bool {
        self.lease.core().has_synced()
    }

    /// Waits until the cache has been filled, at most so long. The error says what is in the way.
    pub async fn wait_for_sync(&self, most: Duration) -> Result<(), NotSynced> {
        self.lease.core().wait_for_sync(Some(most)).await
    }

    /// Waits until the cache has been filled or the first error, which may pass or not: a missing permission, an unknown
    /// resource, a server that is not there.
    pub async fn sync_or_error(&self) -> Result<(), NotSynced> {
        self.lease.core().sync_or_error().await
    }

    /// What is wrong at the moment; nothing if the watch goes well.
    pub fn error(&self) -> Option<Arc<ReflectorError>> {
        self.lease.processor().monitor.error()
    }

    /// The last object that could not be cached, and why.
    pub fn last_rejected(&self) -> Option<Rejected> {
        self.lease.processor().monitor.last_rejected()
    }

    /// The last object that could not be decoded into what somebody wanted.
    pub fn last_decode_failure(&self) -> Option<DecodeFailure> {
        self.lease.core().kind.last_decode_failure()
    }

    /// The last panic of a handler.
    pub fn last_panic(&self) -> Option<HandlerPanic> {
        self.lease.processor().last_panic()
    }

    /// The cache.
    pub fn indexer(&self) -> &Arc<Indexer> {
        &self.lease.processor().indexer
    }

    /// Adds an index, also while the informer runs.
    pub fn add_index(&self, name: &str, function: IndexFn) -> Result<(), IndexError> {
        self.indexer().add_index(name, function)
    }

    /// The revision the cache shows. `None` before the first list.
    pub fn resource_version(&self) -> Option<String> {
        self.indexer().resource_version()
    }

    /// Waits until the cache shows that revision or a newer one.
    pub async fn wait_for(&self, resource_version: &str) -> Result<(), VersionError> {
        tokio::select! {
            biased;
            result = self.indexer().wait_for(resource_version) => result,
            () = self.lease.core().until_stopped() => Err(VersionError::Stopped),
        }
    }

    /// Reads the cache.
    pub fn lister(&self) -> Lister<K> {
        Lister::new(self.lease.clone())
    }

    /// The events, for who reads them at its own pace: everything there is, and then every change.
    pub fn subscribe(&self, options: SubscribeOptions) -> Subscription<K> {
        self.lease.subscribe(options)
    }

    /// What the informer has done and holds.
    pub fn metrics(&self) -> MetricsSnapshot {
        self.lease.core().metrics()
    }

    /// The same informer with its objects seen as another type: pods as their metadata, or as dynamic objects.
    pub fn seen_as<T>(&self) -> SharedInformer<T> {
        SharedInformer::from_lease(self.lease.clone())
    }
}

impl<K: DeserializeOwned + Send + Sync + 'static> SharedInformer<K> {
    /// Calls a handler for everything there is, and then for every change. It is called until it is removed or the
    /// informer stops, and keeps the informer running as long.
    pub fn add_handler(&self, handler: impl EventHandler<K>) -> Registration {
        self.add_handler_with(SubscribeOptions::default(), handler)
    }

    /// Calls a handler, by options.
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
