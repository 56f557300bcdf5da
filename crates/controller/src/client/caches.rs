//! [`Caches`]: one cache for each kind, shared by all who read it and by the sources of all controllers.

use std::{collections::HashMap, sync::Arc};

use kube::core::ApiResource;
use kubewright_informer::{
    Scope, SharedInformer, SharedInformerFactory, lister_watcher::Projection,
};
use parking_lot::Mutex;

/// One cache for each kind. Clones share them.
#[derive(Clone)]
pub struct Caches(Arc<Shared>);

struct Shared {
    factory: SharedInformerFactory,
    /// By `plural.group`.
    scopes: HashMap<String, Scope>,
    /// All of them may hold less than there is.
    all_scoped: bool,
    /// Those that somebody has read; they stay.
    read: Mutex<HashMap<String, SharedInformer<()>>>,
}

impl Caches {
    pub(crate) fn new(
        factory: SharedInformerFactory,
        scopes: HashMap<String, Scope>,
        all_scoped: bool,
    ) -> Self {
        Self(Arc::new(Shared {
            factory,
            scopes,
            all_scoped,
            read: Mutex::default(),
        }))
    }

    /// The factory that makes them.
    pub fn factory(&self) -> &SharedInformerFactory {
        &self.0.factory
    }

    /// The cache of a resource, in the scope that was set for it. It ends when nobody holds it any more.
    pub fn informer(&self, resource: &ApiResource) -> SharedInformer<()> {
        match self.0.scopes.get(&name(resource)) {
            Some(scope) => self.0.factory.dynamic_in(resource, scope.clone()),
            None => self.0.factory.dynamic(resource),
        }
        .seen_as()
    }

    /// The cache of a resource's metadata, for which the server sends no more.
    pub fn metadata(&self, resource: &ApiResource) -> SharedInformer<()> {
        let Some(mut scope) = self.0.scopes.get(&name(resource)).cloned() else {
            return self.0.factory.metadata_only(resource).seen_as();
        };
        scope.selection.get_or_insert_default().projection = Projection::Metadata;
        self.0.factory.dynamic_in(resource, scope).seen_as()
    }

    /// The cache of a resource for reading. It stays.
    pub fn reading(&self, resource: &ApiResource) -> SharedInformer<()> {
        let identity = format!("{}/{}", resource.version, name(resource));
        if let Some(cache) = self.0.read.lock().get(&identity)
            && !cache.is_stopped()
        {
            return cache.clone();
        }
        let cache = self.informer(resource);
        self.0.read.lock().insert(identity, cache.clone());
        cache
    }

    /// Whether the cache of a resource may hold less than there is.
    pub(crate) fn is_scoped(&self, resource: &ApiResource) -> bool {
        self.0.all_scoped || self.0.scopes.contains_key(&name(resource))
    }

    /// Those that somebody has read.
    pub(crate) fn read(&self) -> Vec<SharedInformer<()>> {
        self.0.read.lock().values().cloned().collect()
    }
}

/// `pods`, `deployments.apps`.
pub(crate) fn name(resource: &ApiResource) -> String {
    if resource.group.is_empty() {
        resource.plural.clone()
    } else {
        format!("{}.{}", resource.plural, resource.group)
    }
}
