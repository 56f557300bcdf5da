//! [`Caches`]: one cache for each kind, shared by all readers and by the sources of all controllers.

use std::{any::TypeId, collections::HashMap, sync::Arc};

use kube::{Resource, core::ApiResource};
use kubewright_informer::{
    IndexError, IndexFn, Namespaces, Projection, Scope, SharedInformer, SharedInformerFactory,
};
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

/// One cache for each kind. Clones share them.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use std::sync::Arc;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::core::ApiResource;
/// use kubewright_controller::Manager;
///
/// let manager = Manager::new(client);
/// let caches = manager.caches();
/// let resource = ApiResource::erase::<ConfigMap>(&());
/// let (one, other) = (caches.reading(&resource), caches.reading(&resource));
/// assert_eq!(one.resource().plural, "configmaps");
/// assert!(Arc::ptr_eq(one.indexer(), other.indexer()));
/// # });
/// ```
#[derive(Clone)]
pub struct Caches(Arc<Shared>);

struct Shared {
    factory: SharedInformerFactory,
    /// By `plural.group`.
    scopes: HashMap<String, Scope>,
    /// The namespaces where no scope sets them; the factory's if `None`.
    namespaces: watch::Sender<Option<Namespaces>>,
    /// Caches that have been read; they stay. By the identity of the kind.
    read: Mutex<HashMap<String, Read>>,
    /// The kinds of types that have been read, to build their names only once.
    kinds: RwLock<HashMap<TypeId, Arc<Kind>>>,
}

/// A kind with its names.
pub(crate) struct Kind {
    pub(crate) resource: ApiResource,
    /// The name: `pods`, `deployments.apps`.
    pub(crate) name: String,
    identity: String,
}

/// A cache that has been read.
struct Read {
    cache: SharedInformer<()>,
    resource: ApiResource,
    indices: Vec<(String, IndexFn)>,
}

impl Caches {
    pub(crate) fn new(
        factory: SharedInformerFactory,
        scopes: HashMap<String, Scope>,
        namespaces: Option<Namespaces>,
    ) -> Self {
        Self(Arc::new(Shared {
            factory,
            scopes,
            namespaces: watch::Sender::new(namespaces),
            read: Mutex::default(),
            kinds: RwLock::default(),
        }))
    }

    /// Returns the factory of the caches.
    pub fn factory(&self) -> &SharedInformerFactory {
        &self.0.factory
    }

    /// Returns the cache of a resource in its configured scope. It ends when it is dropped everywhere.
    pub fn informer(&self, resource: &ApiResource) -> SharedInformer<()> {
        let scope = self.scope(resource);
        self.0.factory.dynamic_in(resource, scope).cast()
    }

    /// Returns a cache of a resource's metadata only.
    pub fn metadata(&self, resource: &ApiResource) -> SharedInformer<()> {
        let mut scope = self.scope(resource);
        if scope == Scope::default() {
            return self.0.factory.metadata_only(resource).cast();
        }
        let of_factory = || self.0.factory.metadata_only(resource).scope().selection;
        let mut selection = scope.selection.or_else(of_factory).unwrap_or_default();
        selection.projection = Projection::Metadata;
        scope.selection = Some(selection);
        self.0.factory.dynamic_in(resource, scope).cast()
    }

    /// Returns the cache of a resource for reading. It stays.
    pub fn reading(&self, resource: &ApiResource) -> SharedInformer<()> {
        self.reading_kind(&Kind::of(resource.clone()))
    }

    pub(crate) fn reading_kind(&self, kind: &Kind) -> SharedInformer<()> {
        if let Some(read) = self.0.read.lock().get(&kind.identity)
            && !read.cache.is_stopped()
        {
            return read.cache.clone();
        }
        let cache = self.informer(&kind.resource);
        let read = Read {
            cache: cache.clone(),
            resource: kind.resource.clone(),
            indices: Vec::new(),
        };
        self.0.read.lock().insert(kind.identity.clone(), read);
        cache
    }

    /// Returns the kind of a type.
    pub(crate) fn kind<K: Resource<DynamicType = ()> + 'static>(&self) -> Arc<Kind> {
        let id = TypeId::of::<K>();
        if let Some(kind) = self.0.kinds.read().get(&id) {
            return kind.clone();
        }
        let kind = Arc::new(Kind::of(ApiResource::erase::<K>(&())));
        self.0.kinds.write().insert(id, kind.clone());
        kind
    }

    /// Adds an index to the cache of a resource.
    pub(crate) fn index(
        &self,
        resource: &ApiResource,
        name: &str,
        function: IndexFn,
    ) -> Result<(), IndexError> {
        self.reading(resource).add_index(name, function.clone())?;
        if let Some(read) = self.0.read.lock().get_mut(&identity(resource)) {
            read.indices.push((name.to_owned(), function));
        }
        Ok(())
    }

    /// Returns the namespaces; `None` for all, or if only the factory knows.
    pub(crate) fn namespaces(&self) -> Option<Vec<String>> {
        match &*self.0.namespaces.borrow() {
            Some(Namespaces::These(names)) => Some(names.clone()),
            Some(Namespaces::All) | None => None,
        }
    }

    /// Changes the namespaces. Readers get new caches, which are filled from the start.
    pub(crate) fn set_namespaces(&self, namespaces: Namespaces) {
        let changed = self.0.namespaces.send_if_modified(|now| {
            let changed = now.as_ref() != Some(&namespaces);
            *now = Some(namespaces);
            changed
        });
        if !changed {
            return;
        }
        for read in self.0.read.lock().values_mut() {
            let cache = self.informer(&read.resource);
            if Arc::ptr_eq(cache.indexer(), read.cache.indexer()) {
                continue;
            }
            for (name, function) in &read.indices {
                // A cache that a source shares may have the index already.
                let _ = cache.add_index(name, function.clone());
            }
            read.cache = cache;
        }
    }

    /// Returns a receiver of changes of the namespaces.
    pub(crate) fn namespace_changes(&self) -> watch::Receiver<Option<Namespaces>> {
        let mut changes = self.0.namespaces.subscribe();
        changes.mark_unchanged();
        changes
    }

    /// Returns the caches that have been read.
    pub(crate) fn read(&self) -> Vec<SharedInformer<()>> {
        let read = self.0.read.lock();
        read.values().map(|read| read.cache.clone()).collect()
    }

    fn scope(&self, resource: &ApiResource) -> Scope {
        let mut scope = self
            .0
            .scopes
            .get(&name(resource))
            .cloned()
            .unwrap_or_default();
        if scope.namespaces.is_none() {
            scope.namespaces.clone_from(&self.0.namespaces.borrow());
        }
        scope
    }
}

impl Kind {
    pub(crate) fn of(resource: ApiResource) -> Self {
        Self {
            name: name(&resource),
            identity: identity(&resource),
            resource,
        }
    }
}

fn identity(resource: &ApiResource) -> String {
    format!("{}/{}", resource.version, name(resource))
}

/// Returns the name of a resource: `pods`, `deployments.apps`.
pub(crate) fn name(resource: &ApiResource) -> String {
    if resource.group.is_empty() {
        resource.plural.clone()
    } else {
        format!("{}.{}", resource.plural, resource.group)
    }
}
