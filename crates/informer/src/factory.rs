//! [`SharedInformerFactory`]: one informer for each resource and scope, shared by all who ask.

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
use crate::object::Compression;
use crate::reflector::ReflectorConfig;
use crate::reflector::monitor::ErrorHandler;
use crate::transform::Transform;

/// Makes informers and shares them: who asks for the same resource in the same scope gets the same cache, be it as typed
/// values, dynamic objects or metadata. Clones share it.
#[derive(Clone)]
pub struct SharedInformerFactory(Arc<Shared>);

/// Builds a [`SharedInformerFactory`].
pub struct FactoryBuilder {
    client: kube::Client,
    config: InformerConfig,
    transforms: HashMap<String, Transform>,
}

/// What an informer is to cache, where it is not what the factory says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope {
    /// In which namespaces; the factory's unless given.
    pub namespaces: Option<Namespaces>,
    /// Which objects there; the factory's unless given.
    pub selection: Option<Selection>,
}

/// How the informers of a factory fare.
#[derive(Clone, Debug, Default)]
pub struct SyncReport {
    /// The resources whose caches have been filled.
    pub synced: Vec<ApiResource>,
    /// The others, and why.
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

/// What makes two informers the same.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Identity {
    group: String,
    version: String,
    plural: String,
    namespaces: Namespaces,
    selection: Selection,
}

impl SharedInformerFactory {
    /// A factory for all namespaces.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn new(client: kube::Client) -> Self {
        Self::builder(client).build()
    }

    /// A factory by your own settings.
    pub fn builder(client: kube::Client) -> FactoryBuilder {
        FactoryBuilder {
            client,
            config: InformerConfig::default(),
            transforms: HashMap::new(),
        }
    }

    /// The informer of a type.
    pub fn informer<K>(&self) -> SharedInformer<K>
    where
        K: Resource<DynamicType = ()>,
    {
        self.informer_in(Scope::default())
    }

    /// The informer of a type in a scope of its own.
    pub fn informer_in<K>(&self, scope: Scope) -> SharedInformer<K>
    where
        K: Resource<DynamicType = ()>,
    {
        SharedInformer::from_lease(self.lease(&ApiResource::erase::<K>(&()), scope))
    }

    /// The informer of a resource that is known at run time.
    pub fn dynamic(&self, resource: &ApiResource) -> SharedInformer<DynamicObject> {
        self.dynamic_in(resource, Scope::default())
    }

    /// The informer of a resource that is known at run time, in a scope of its own.
    pub fn dynamic_in(
        &self,
        resource: &ApiResource,
        scope: Scope,
    ) -> SharedInformer<DynamicObject> {
        SharedInformer::from_lease(self.lease(resource, scope))
    }

    /// The metadata of a resource, from the cache of whole objects that others use too.
    pub fn metadata(&self, resource: &ApiResource) -> SharedInformer<PartialObjectMeta> {
        SharedInformer::from_lease(self.lease(resource, Scope::default()))
    }

    /// The metadata of a resource and nothing else: a watch of its own, for which the server sends no more.
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

    /// Starts all informers that somebody has asked for. Those asked for later start at once.
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

    /// Waits until the caches of all started informers have been filled, at most so long, and says how it went.
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

    /// Stops all informers, waits for them, and starts none again.
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

    /// What the informers have done and hold.
    pub fn metrics(&self) -> Vec<MetricsSnapshot> {
        let leases = self.0.state.lock().leases();
        leases.iter().map(|lease| lease.core().metrics()).collect()
    }

    /// How many informers somebody uses.
    pub fn len(&self) -> usize {
        self.0.state.lock().leases().len()
    }

    /// Whether nobody uses an informer.
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

impl FactoryBuilder {
    /// Caches objects in these namespaces only.
    #[must_use]
    pub fn namespaces<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.config.namespaces = Namespaces::these(names);
        self
    }

    /// Caches objects with these labels only.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.config.selection.labels = Some(selector.into());
        self
    }

    /// Caches objects with these fields only.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.config.selection.fields = Some(selector.into());
        self
    }

    /// How the bytes of objects are kept.
    #[must_use]
    pub fn compression(mut self, compression: Compression) -> Self {
        self.config.compression = compression;
        self
    }

    /// Keeps `metadata.managedFields`.
    #[must_use]
    pub fn keep_managed_fields(mut self) -> Self {
        self.config.keep_managed_fields = true;
        self
    }

    /// Changes all objects before they are cached.
    #[must_use]
    pub fn transform(mut self, transform: Transform) -> Self {
        self.config.transform = Some(transform);
        self
    }

    /// Changes the objects of one resource (`pods`, `deployments.apps`) before they are cached.
    #[must_use]
    pub fn transform_of(mut self, resource: impl Into<String>, transform: Transform) -> Self {
        self.transforms.insert(resource.into(), transform);
        self
    }

    /// Times and sizes.
    #[must_use]
    pub fn reflector(mut self, config: ReflectorConfig) -> Self {
        self.config.reflector = config;
        self
    }

    /// Is told of every error that ends a list or a watch. It must be quick.
    #[must_use]
    pub fn on_error(mut self, handler: ErrorHandler) -> Self {
        self.config.on_error = Some(handler);
        self
    }

    /// The factory.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
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
    /// Objects in these namespaces.
    pub fn namespaces<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self {
            namespaces: Some(Namespaces::these(names)),
            selection: None,
        }
    }

    /// Objects with these labels.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.selection.get_or_insert_default().labels = Some(selector.into());
        self
    }

    /// Objects with these fields.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.selection.get_or_insert_default().fields = Some(selector.into());
        self
    }
}

impl SyncReport {
    /// Whether all caches have been filled.
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
