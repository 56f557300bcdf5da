//! [`SharedInformerFactory`]: one informer for each resource and scope, shared by all users.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use kube::Resource;
use kube::core::{ApiResource, DynamicObject, PartialObjectMeta};
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::informer::core::{Core, Lease};
use crate::informer::{InformerConfig, Namespaces, NotSynced, SharedInformer, status};
use crate::lister_watcher::{KubeListerWatcher, ListerWatcher, Projection, Selection};
use crate::metrics::MetricsSnapshot;
use crate::object::{Compression, DecodedLimits};
use crate::reflector::ReflectorConfig;
use crate::reflector::monitor::ErrorHandler;
use crate::transform::Transform;

/// Creates informers and shares them: all users of one resource and scope share one cache, whether they read typed
/// values, dynamic objects or metadata. Clones share the informers.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use std::time::Duration;
/// use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
/// use kubewright_informer::SharedInformerFactory;
///
/// let factory = SharedInformerFactory::builder(client).namespaces(["default"]).build();
/// let maps = factory.informer::<ConfigMap>();
/// factory.start();
/// let report = factory.wait_for_sync(Duration::from_secs(10)).await;
/// assert!(report.is_synced(), "{report}");
/// assert!(maps.has_synced());
/// factory.shutdown().await;
/// # });
/// ```
#[derive(Clone)]
pub struct SharedInformerFactory(Arc<Shared>);

/// Builds a [`SharedInformerFactory`].
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_informer::{Compression, SharedInformerFactory, Transform};
///
/// let factory = SharedInformerFactory::builder(client)
///     .namespaces(["shop", "bank"])
///     .labels("app=web")
///     .compression(Compression::Lz4)
///     .transform(Transform::drop_fields(["metadata.annotations"]))
///     .build();
/// let _pods = factory.informer::<Pod>();
/// assert_eq!(factory.len(), 1);
/// # });
/// ```
pub struct SharedInformerFactoryBuilder {
    client: kube::Client,
    config: InformerConfig,
    transforms: HashMap<String, Transform>,
}

/// The contents of one informer, where they differ from the factory's.
///
/// ```
/// use kubewright_informer::Scope;
///
/// let scope = Scope::namespaces(["shop", "bank"]).labels("team=a");
/// assert!(scope.namespaces.is_some() && scope.selection.is_some());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The namespaces. Defaults to the factory's.
    pub namespaces: Option<Namespaces>,
    /// The objects. Defaults to the factory's.
    pub selection: Option<Selection>,
}

/// The state of a factory's informers.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use std::time::Duration;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_informer::SharedInformerFactory;
///
/// let factory = SharedInformerFactory::new(client);
/// let _maps = factory.informer::<ConfigMap>();
/// factory.start();
/// let report = factory.wait_for_sync(Duration::from_secs(10)).await;
/// assert!(report.is_synced(), "{report}");
/// assert_eq!(report.synced[0].plural, "configmaps");
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct SyncReport {
    /// The resources whose caches have been filled.
    pub synced: Vec<ApiResource>,
    /// The other resources, with the reason.
    pub not_synced: Vec<NotSynced>,
}

struct Shared {
    client: kube::Client,
    config: InformerConfig,
    transforms: HashMap<String, Transform>,
    runtime: Handle,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    informers: HashMap<Identity, Weak<Lease>>,
    started: bool,
    shut_down: bool,
}

/// The identity of an informer.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Identity {
    group: String,
    version: String,
    plural: String,
    namespaces: Namespaces,
    selection: Selection,
}

impl SharedInformerFactory {
    /// Creates a factory for all namespaces.
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime.
    pub fn new(client: kube::Client) -> Self {
        Self::builder(client).build()
    }

    /// Returns a builder.
    pub fn builder(client: kube::Client) -> SharedInformerFactoryBuilder {
        SharedInformerFactoryBuilder {
            client,
            config: InformerConfig::default(),
            transforms: HashMap::new(),
        }
    }

    /// Returns the informer of a type.
    pub fn informer<K>(&self) -> SharedInformer<K>
    where
        K: Resource<DynamicType = ()>,
    {
        self.informer_in(Scope::default())
    }

    /// Returns the informer of a type in the given scope.
    pub fn informer_in<K>(&self, scope: Scope) -> SharedInformer<K>
    where
        K: Resource<DynamicType = ()>,
    {
        SharedInformer::from_lease(self.lease(&ApiResource::erase::<K>(&()), scope))
    }

    /// Returns the informer of a resource that is known at run time.
    pub fn dynamic(&self, resource: &ApiResource) -> SharedInformer<DynamicObject> {
        self.dynamic_in(resource, Scope::default())
    }

    /// Returns the informer of a resource that is known at run time, in the given scope.
    pub fn dynamic_in(
        &self,
        resource: &ApiResource,
        scope: Scope,
    ) -> SharedInformer<DynamicObject> {
        SharedInformer::from_lease(self.lease(resource, scope))
    }

    /// Returns the metadata of a resource, from the cache of whole objects that others use too.
    pub fn metadata(&self, resource: &ApiResource) -> SharedInformer<PartialObjectMeta> {
        SharedInformer::from_lease(self.lease(resource, Scope::default()))
    }

    /// Returns the metadata of a resource from a watch that transfers nothing else.
    pub fn metadata_only(&self, resource: &ApiResource) -> SharedInformer<PartialObjectMeta> {
        let selection = Selection {
            projection: Projection::Metadata,
            ..self.0.config.selection.clone()
        };
        let scope = Scope {
            selection: Some(selection),
            namespaces: None,
        };
        SharedInformer::from_lease(self.lease(resource, scope))
    }

    /// Starts all informers that have been requested. Those requested later start at once.
    pub fn start(&self) {
        let leases = {
            let mut state = self.0.state.lock();
            if state.shut_down {
                return;
            }
            state.started = true;
            state.leases()
        };
        for lease in leases {
            lease.core().start();
        }
    }

    /// Waits until the caches of all started informers have been filled or the time is over, and reports the state.
    pub async fn wait_for_sync(&self, most: Duration) -> SyncReport {
        let deadline = tokio::time::Instant::now() + most;
        let leases = self.0.state.lock().leases();
        let mut report = SyncReport::default();
        for lease in leases.iter().filter(|lease| lease.core().is_running()) {
            let left = deadline.saturating_duration_since(tokio::time::Instant::now());
            match lease.core().wait_for_sync(Some(left)).await {
                Ok(()) => report.synced.push(lease.core().kind.resource.clone()),
                Err(reason) => report.not_synced.push(reason),
            }
        }
        report
    }

    /// Stops all informers and waits for them. None starts again.
    pub async fn shutdown(&self) {
        let leases = {
            let mut state = self.0.state.lock();
            state.shut_down = true;
            state.leases()
        };
        for lease in &leases {
            lease.core().stop();
        }
        for lease in &leases {
            lease.core().stopped().await;
        }
    }

    /// Returns the metrics of all informers.
    pub fn metrics(&self) -> Vec<MetricsSnapshot> {
        let leases = self.0.state.lock().leases();
        leases.iter().map(|lease| lease.core().metrics()).collect()
    }

    /// Returns the number of informers in use.
    pub fn len(&self) -> usize {
        self.0.state.lock().leases().len()
    }

    /// Reports whether no informer is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lease(&self, resource: &ApiResource, scope: Scope) -> Arc<Lease> {
        let shared = &self.0;
        let identity = Identity {
            group: resource.group.clone(),
            version: resource.version.clone(),
            plural: resource.plural.clone(),
            namespaces: scope
                .namespaces
                .unwrap_or_else(|| shared.config.namespaces.clone()),
            selection: scope
                .selection
                .unwrap_or_else(|| shared.config.selection.clone()),
        };
        let mut state = shared.state.lock();
        let found = state.informers.get(&identity).and_then(Weak::upgrade);
        if let Some(lease) = found
            && (!lease.core().is_stopped() || state.shut_down)
        {
            return lease;
        }
        let lease = shared.make(resource, &identity);
        state.informers.retain(|_, lease| lease.strong_count() > 0);
        state.informers.insert(identity, Arc::downgrade(&lease));
        if state.shut_down {
            lease.core().stop();
        } else if state.started {
            lease.core().start();
        }
        lease
    }
}

impl Shared {
    fn make(&self, resource: &ApiResource, identity: &Identity) -> Arc<Lease> {
        let source = |namespace: Option<&str>| -> Arc<dyn ListerWatcher> {
            Arc::new(KubeListerWatcher::new(
                self.client.clone(),
                resource,
                namespace,
                identity.selection.clone(),
            ))
        };
        let sources = match &identity.namespaces {
            Namespaces::All => vec![source(None)],
            Namespaces::These(names) => names.iter().map(|name| source(Some(name))).collect(),
        };
        let own = self.transforms.get(&status::name(resource)).cloned();
        let config = InformerConfig {
            namespaces: identity.namespaces.clone(),
            selection: identity.selection.clone(),
            transform: own.or_else(|| self.config.transform.clone()),
            ..self.config.clone()
        };
        Core::lease(resource.clone(), sources, config, self.runtime.clone())
    }
}

impl State {
    fn leases(&self) -> Vec<Arc<Lease>> {
        self.informers.values().filter_map(Weak::upgrade).collect()
    }
}

impl SharedInformerFactoryBuilder {
    /// Restricts caches to these namespaces.
    #[must_use]
    pub fn namespaces<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.config.namespaces = Namespaces::these(names);
        self
    }

    /// Restricts caches to objects with these labels.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.config.selection.labels = Some(selector.into());
        self
    }

    /// Restricts caches to objects with these fields.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.config.selection.fields = Some(selector.into());
        self
    }

    /// Sets how the bytes of objects are kept.
    #[must_use]
    pub fn compression(mut self, compression: Compression) -> Self {
        self.config.compression = compression;
        self
    }

    /// Bounds the decoded values that each cache keeps for the next reader.
    #[must_use]
    pub fn decoded(mut self, limits: DecodedLimits) -> Self {
        self.config.decoded = limits;
        self
    }

    /// Keeps `metadata.managedFields`.
    #[must_use]
    pub fn keep_managed_fields(mut self) -> Self {
        self.config.keep_managed_fields = true;
        self
    }

    /// Transforms all objects before they are cached.
    #[must_use]
    pub fn transform(mut self, transform: Transform) -> Self {
        self.config.transform = Some(transform);
        self
    }

    /// Transforms the objects of one resource (`pods`, `deployments.apps`) before they are cached.
    #[must_use]
    pub fn transform_of(mut self, resource: impl Into<String>, transform: Transform) -> Self {
        self.transforms.insert(resource.into(), transform);
        self
    }

    /// Sets the timeouts and sizes of reflectors.
    #[must_use]
    pub fn reflector(mut self, config: ReflectorConfig) -> Self {
        self.config.reflector = config;
        self
    }

    /// Sets a function that is called for every error that ends a list or a watch. It must return quickly.
    #[must_use]
    pub fn on_error(mut self, handler: ErrorHandler) -> Self {
        self.config.on_error = Some(handler);
        self
    }

    /// Builds the factory.
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime.
    pub fn build(self) -> SharedInformerFactory {
        SharedInformerFactory(Arc::new(Shared {
            client: self.client,
            config: self.config,
            transforms: self.transforms,
            runtime: Handle::current(),
            state: Mutex::default(),
        }))
    }
}

impl Scope {
    /// Selects objects in these namespaces.
    pub fn namespaces<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self {
            namespaces: Some(Namespaces::these(names)),
            selection: None,
        }
    }

    /// Selects objects with these labels.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.selection.get_or_insert_default().labels = Some(selector.into());
        self
    }

    /// Selects objects with these fields.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.selection.get_or_insert_default().fields = Some(selector.into());
        self
    }
}

impl SyncReport {
    /// Reports whether all caches have been filled.
    pub fn is_synced(&self) -> bool {
        self.not_synced.is_empty()
    }
}

impl fmt::Display for SyncReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_synced() {
            return write!(f, "all {} caches are synced", self.synced.len());
        }
        for (i, reason) in self.not_synced.iter().enumerate() {
            let separator = if i == 0 { "" } else { "; " };
            write!(f, "{separator}{reason}")?;
        }
        Ok(())
    }
}
