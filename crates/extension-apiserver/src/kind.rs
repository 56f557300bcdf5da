//! [`Kind`]: a kind of a server, from its Rust type.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use kubewright_apiserver::{
    SharedClock, SystemClock,
    admission::Plugin,
    registry::{Connect, Generic, Get, Handlers, Resource},
};
use kubewright_custom_kinds::{Conversion, CustomResources, Definition, Renamed};
use kubewright_machinery::{Status, status};
use kubewright_resource::Versions;
use kubewright_store::Store;
use serde_json::Value;

use crate::{
    admission::{Admission, Typed},
    reads::Reads,
    rows::{Rows, TypedRows},
    server::BuildError,
    storage::{ServedKind, Storage},
    store::StorageStore,
    subresource::{Subresource, subresource},
};

/// Adds a part to the resource of a version.
type Extend = Box<dyn Fn(Resource, &Arc<dyn Get>) -> Resource + Send + Sync>;

/// A kind of a server. Names, schema, validation rules, printer columns, selectable fields, `status` and `scale` come from
/// the type `K`.
///
/// ```
/// use std::sync::Arc;
///
/// # extern crate kubewright_resource as kubewright;
/// # #[derive(kube::CustomResource, kubewright::Schema, Clone, Debug, serde::Serialize, serde::Deserialize)]
/// # #[kube(group = "sky.example.com", version = "v1", kind = "Comet")]
/// # pub struct CometSpec { years: u32 }
/// use kubewright_extension_apiserver::{ExtensionServer, Kind};
/// use kubewright_store::MemoryStore;
///
/// let comets = Kind::<Comet>::stored(Arc::new(MemoryStore::new()));
/// let server = ExtensionServer::builder().kind(comets).build()?;
/// # let _ = server;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub struct Kind<K> {
    data: Data<K>,
    versions: Option<Versions<K>>,
    clock: SharedClock,
    extend: Vec<Extend>,
    plugins: Vec<Arc<dyn Plugin>>,
}

enum Data<K> {
    Stored(Arc<dyn Store>),
    Computed(Arc<dyn Storage<K>>),
}

/// A kind that is ready to be served.
pub(crate) struct Built {
    pub(crate) resources: Vec<Resource>,
    pub(crate) plugins: Vec<Arc<dyn Plugin>>,
}

impl<K: ServedKind> Kind<K> {
    /// Serves objects of a store, with every verb.
    pub fn stored(store: Arc<dyn Store>) -> Self {
        Self::new(Data::Stored(store))
    }

    /// Serves the data of a [`Storage`], with the verbs that it supports.
    pub fn computed(storage: impl Storage<K>) -> Self {
        Self::new(Data::Computed(Arc::new(storage)))
    }

    fn new(data: Data<K>) -> Self {
        Self {
            data,
            versions: None,
            clock: Arc::new(SystemClock),
            extend: Vec::new(),
            plugins: Vec::new(),
        }
    }

    /// Serves several versions, with conversion between them (default: the version of `K` only). Objects are kept in the storage
    /// version, which must be that of `K` for the data of a [`Storage`].
    #[must_use]
    pub fn versions(mut self, versions: Versions<K>) -> Self {
        self.versions = Some(versions);
        self
    }

    /// Sets the clock of creation times and ages (default: the system clock).
    #[must_use]
    pub fn clock(mut self, clock: SharedClock) -> Self {
        self.clock = clock;
        self
    }

    /// Adds rules that the schema cannot express.
    #[must_use]
    pub fn admission(mut self, admission: impl Admission<K>) -> Self {
        let typed = Typed::<K>::new(Arc::new(admission));
        self.plugins.push(Arc::new(typed));
        self
    }

    /// Sets the table that `kubectl get` prints (default: the printer columns of the type).
    #[must_use]
    pub fn rows(mut self, rows: impl Rows<K>) -> Self {
        let table = Arc::new(TypedRows::<K>::new(Arc::new(rows)));
        let extend = move |resource: Resource, _: &Arc<dyn Get>| resource.with_table(table.clone());
        self.extend.push(Box::new(extend));
        self
    }

    /// Adds a subresource with typed bodies to each version.
    #[must_use]
    pub fn subresource(mut self, name: impl Into<String>, handler: impl Subresource<K>) -> Self {
        let (name, handler) = (name.into(), Arc::new(handler));
        let extend = move |resource: Resource, parents: &Arc<dyn Get>| {
            resource.with_subresource(subresource(&name, &handler, parents))
        };
        self.extend.push(Box::new(extend));
        self
    }

    /// Adds a streaming subresource to each version.
    #[must_use]
    pub fn stream(mut self, name: impl Into<String>, handler: impl Connect + 'static) -> Self {
        let (name, handler) = (name.into(), Arc::new(handler));
        let extend = move |resource: Resource, _: &Arc<dyn Get>| {
            resource.with_stream(name.clone(), handler.clone())
        };
        self.extend.push(Box::new(extend));
        self
    }

    /// Builds the resources of the kind.
    pub(crate) fn build(self) -> Result<Built, BuildError> {
        let kind = K::kind(&()).into_owned();
        let invalid = |e: &dyn fmt::Display| BuildError {
            kind: kind.clone(),
            reason: e.to_string(),
        };
        let manifest = match &self.versions {
            Some(versions) => versions.manifest().map_err(|e| invalid(&e))?,
            None => K::manifest().map_err(|e| invalid(&e))?,
        };
        let definition = Definition::read(&manifest).map_err(|e| invalid(&e))?;
        definition.compile_rules();
        let conversion: Arc<dyn Conversion> = match self.versions {
            Some(versions) => Arc::new(Converted(versions)),
            None => Arc::new(Renamed),
        };
        let resources = match self.data {
            Data::Stored(store) => CustomResources::new(&definition, store),
            Data::Computed(storage) => {
                let store = Arc::new(StorageStore::new(storage.clone()));
                CustomResources::new(&definition, store)
                    .handlers(move |generic, handlers| supported(&storage, generic, handlers))
            }
        };
        let resources = resources.clock(self.clock).conversion(conversion);
        let (parents, _) = resources
            .stored()
            .ok_or_else(|| invalid(&"no version is the storage version"))?;
        let parents: Arc<dyn Get> = Arc::new(parents);
        let extended = resources.served().into_iter().map(|resource| {
            let all = self.extend.iter();
            all.fold(resource, |resource, extend| extend(resource, &parents))
        });
        Ok(Built {
            resources: extended.collect(),
            plugins: self.plugins,
        })
    }
}

/// Returns the handlers of the verbs that a storage supports: reads go to the storage directly, and writes through the generic
/// registry.
fn supported<K: ServedKind>(
    storage: &Arc<dyn Storage<K>>,
    generic: &Generic,
    handlers: Handlers,
) -> Handlers {
    let verbs = storage.verbs();
    let reads = Arc::new(Reads::new(storage.clone(), generic.clone()));
    let mut supported = Handlers::default();
    if verbs.get {
        supported.get = Some(reads.clone());
    }
    if verbs.list {
        supported.list = Some(reads);
    }
    if verbs.watch && verbs.list {
        supported.watch = handlers.watch;
    }
    if verbs.create {
        supported.create = handlers.create;
    }
    if verbs.update && verbs.get {
        supported.update = handlers.update;
    }
    if verbs.delete && verbs.get {
        supported.delete = handlers.delete;
    }
    if verbs.delete && verbs.get && verbs.list {
        supported.delete_collection = handlers.delete_collection;
    }
    supported
}

/// Converts objects between the versions of a type.
struct Converted<K>(Versions<K>);

#[async_trait]
impl<K: ServedKind> Conversion for Converted<K> {
    async fn convert(&self, objects: Vec<Value>, api_version: &str) -> Result<Vec<Value>, Status> {
        let converted = objects
            .iter()
            .map(|object| self.0.convert(object, api_version));
        converted
            .collect::<Result<_, _>>()
            .map_err(|e| status::internal(e.to_string()))
    }
}
