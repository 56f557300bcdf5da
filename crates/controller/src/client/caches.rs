//! [`Caches`]: one cache for each kind, shared by all who read it and by the sources of all controllers.

use std::{collections::HashMap, sync::Arc};

use kube::core::ApiResource;
use kubewright_informer::{
    IndexFn, Namespaces, Scope, SharedInformer, SharedInformerFactory, lister_watcher::Projection,
    store::IndexError,
};
use parking_lot::Mutex;
use tokio::sync::watch;

/// One cache for each kind. Clones share them.
#[derive(Clone)]
pub struct Caches(Arc<Shared>);

struct Shared {
    factory: SharedInformerFactory,
    /// By `plural.group`.
    scopes: HashMap<String, Scope>,
    /// In which namespaces, where no scope says otherwise; the factory's unless given.
    namespaces: watch::Sender<Option<Namespaces>>,
    /// Those that somebody has read; they stay.
    read: Mutex<HashMap<String, Read>>,
}

/// A cache that somebody reads.
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
        }))
    }

    /// The factory that makes them.
    pub fn factory(&self) -> &SharedInformerFactory {
        &self.0.factory
    }

    /// The cache of a resource, in the scope that was set for it. It ends when nobody holds it any more.
    pub fn informer(&self, resource: &ApiResource) -> SharedInformer<()> {
        let scope = self.scope(resource);
        self.0.factory.dynamic_in(resource, scope).seen_as()
    }

    /// The cache of a resource's metadata, for which the server sends no more.
    pub fn metadata(&self, resource: &ApiResource) -> SharedInformer<()> {
        let mut scope = self.scope(resource);
        if scope == Scope::default() {
            return self.0.factory.metadata_only(resource).seen_as();
        }
        let of_factory = || self.0.factory.metadata_only(resource).scope().selection;
        let mut selection = scope.selection.or_else(of_factory).unwrap_or_default();
        selection.projection = Projection::Metadata;
        scope.selection = Some(selection);
        self.0.factory.dynamic_in(resource, scope).seen_as()
    }

    /// The cache of a resource for reading. It stays.
    pub fn reading(&self, resource: &ApiResource) -> SharedInformer<()> {
        let identity = identity(resource);
        if let Some(read) = self.0.read.lock().get(&identity)
            && !read.cache.is_stopped()
        {
            return read.cache.clone();
        }
        let cache = self.informer(resource);
        let read = Read {
            cache: cache.clone(),
            resource: resource.clone(),
            indices: Vec::new(),
        };
        self.0.read.lock().insert(identity, read);
        cache
    }

    /// Adds an index to the cache of a resource for reading.
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

    /// In which namespaces objects are cached; `None` for all, or if only the factory knows.
    pub(crate) fn namespaces(&self) -> Option<Vec<String>> {
        match &*self.0.namespaces.borrow() {
            Some(Namespaces::These(names)) => Some(names.clone()),
            Some(Namespaces::All) | None => None,
        }
    }

    /// Caches objects in other namespaces from now on. Those who read get other caches, which are filled anew.
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
                // A cache that a source shares may have it already.
                let _ = cache.add_index(name, function.clone());
            }
            read.cache = cache;
        }
    }

    /// Told when the namespaces change.
    pub(crate) fn namespace_changes(&self) -> watch::Receiver<Option<Namespaces>> {
        let mut changes = self.0.namespaces.subscribe();
        changes.mark_unchanged();
        changes
    }

    /// Those that somebody has read.
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

fn identity(resource: &ApiResource) -> String {
    format!("{}/{}", resource.version, name(resource))
}

/// `pods`, `deployments.apps`.
pub(crate) fn name(resource: &ApiResource) -> String {
    if resource.group.is_empty() {
        resource.plural.clone()
    } else {
        format!("{}.{}", resource.plural, resource.group)
    }
}
