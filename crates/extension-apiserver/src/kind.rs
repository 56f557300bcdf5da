//! [`Kind`]: a kind of a server, derived from its Rust type.

use std::{collections::HashMap, fmt, sync::Arc};

use futures_util::future::{BoxFuture, FutureExt};
use http::Method;
use kubewright_apiserver::{
    SharedClock, SystemClock,
    admission::Plugin,
    boxed_async,
    registry::{Connect, Generic, Get, Handlers, Resource},
};
use kubewright_custom_kinds::{Conversion, CustomResources, Definition, Renamed};
use kubewright_machinery::{Status, status};
use kubewright_protobuf::DeclaredType;
use kubewright_resource::Versions;
use kubewright_store::Store;
use serde_json::Value;

use crate::{
    admission::{Admission, Typed},
    deletion::{self, GracefulDeletion, Resumer, Terminations},
    protobuf::Numbers,
    reads::Reads,
    rows::{Rows, TypedRows},
    server::BuildError,
    storage::{ServedKind, Storage},
    store::StorageStore,
    streams::{self, ExecSubresource, Handler, LogSubresource, PortForwardSubresource},
    subresource::{Subresource, subresource},
};

/// Adds a part to the resource of a version.
type Extend = Box<dyn Fn(Resource, &Arc<dyn Get>) -> Result<Resource, BuildError> + Send + Sync>;

/// A kind of a server. Its names, schema, validation rules, printer columns, selectable fields, `status` and `scale` are derived
/// from the type `K`.
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
    deletion: Option<Arc<dyn GracefulDeletion<K>>>,
    extend: Vec<Extend>,
    subresources: Vec<SubresourceVerbs>,
    plugins: Vec<Arc<dyn Plugin>>,
    protobuf: Numbers,
}

/// A subresource of a [`Kind`], besides `status` and `scale`, and its verbs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubresourceVerbs {
    /// The name.
    pub name: String,
    /// The verbs, in the order of discovery.
    pub verbs: Vec<String>,
}

enum Data<K> {
    Stored(Arc<dyn Store>),
    /// In the store of the server.
    StoredByServer,
    Computed(Arc<dyn Storage<K>>),
}

/// A kind that is ready to be served.
pub(crate) struct Built {
    pub(crate) resources: Vec<Resource>,
    pub(crate) plugins: Vec<Arc<dyn Plugin>>,
    /// Runs as long as the server.
    pub(crate) background: Option<BoxFuture<'static, ()>>,
}

impl<K: ServedKind> Kind<K> {
    /// Serves objects in a store, with every verb.
    pub fn stored(store: Arc<dyn Store>) -> Self {
        Self::new(Data::Stored(store))
    }

    /// Serves objects in the [store of the server](crate::ExtensionServerBuilder::default_store), with every verb. The flags
    /// of the program select that store.
    pub fn stored_by_server() -> Self {
        Self::new(Data::StoredByServer)
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
            deletion: None,
            extend: Vec::new(),
            subresources: Vec::new(),
            plugins: Vec::new(),
            protobuf: Numbers::default(),
        }
    }

    /// Serves several versions, with conversion between them (default: only the version of `K`). Objects are stored in the
    /// storage version, which must be that of `K` if a [`Storage`] holds the data.
    #[must_use]
    pub fn versions(mut self, versions: Versions<K>) -> Self {
        self.versions = Some(versions);
        self
    }

    /// Sets the clock for creation times and ages (default: the system clock).
    #[must_use]
    pub fn clock(mut self, clock: SharedClock) -> Self {
        self.clock = clock;
        self
    }

    /// Deletes objects gracefully (default: immediately, or when the last finalizer is removed). Disables `deletecollection`.
    #[must_use]
    pub fn graceful_deletion(mut self, deletion: impl GracefulDeletion<K>) -> Self {
        self.deletion = Some(Arc::new(deletion));
        self
    }

    /// Serves and accepts the version of `K` in protobuf too (default: JSON and YAML). Each field needs a number, which it must
    /// keep: `#[schema(protobuf = 3)]`. `metadata`, `spec` and `status` have 1, 2 and 3.
    ///
    /// Types of other crates have no numbers; see [`proto_file`](Self::proto_file).
    #[must_use]
    pub fn protobuf(mut self) -> Self {
        self.protobuf.of_type = true;
        self
    }

    /// Serves and accepts a version in protobuf too, with the numbers of a `.proto` file. The file starts empty, and
    /// [`proto`](Self::proto) returns its new text whenever the type has changed: fields keep their numbers, and new ones are
    /// added.
    ///
    /// ```
    /// # extern crate kubewright_resource as kubewright;
    /// # #[derive(kube::CustomResource, kubewright::Schema, Clone, Debug, serde::Serialize, serde::Deserialize)]
    /// # #[kube(group = "sky.example.com", version = "v1", kind = "Comet")]
    /// # pub struct CometSpec { years: u32 }
    /// # let store = std::sync::Arc::new(kubewright_store::MemoryStore::new());
    /// use kubewright_extension_apiserver::Kind;
    ///
    /// // include_str!("../proto/comet.v1.proto")
    /// let recorded = "
    ///     package sky.example.com.v1;
    ///     message CometSpec {
    ///       reserved 1;
    ///       optional int64 years = 2;
    ///     }
    /// ";
    /// let comets = Kind::<Comet>::stored(store).proto_file(recorded);
    /// assert!(comets.proto("v1")?.contains("optional int64 years = 2;"));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn proto_file(mut self, text: impl Into<String>) -> Self {
        self.protobuf.files.push(text.into());
        self
    }

    /// Returns the protobuf form of a version, if it has one: for clients and tests in Rust.
    ///
    /// # Errors
    ///
    /// Fails if the schema is invalid, if a field has no number, or if it has two.
    pub fn protobuf_type(&self, version: &str) -> Result<Option<DeclaredType>, BuildError> {
        let types = self.protobuf_types(&self.definition()?)?;
        Ok(types.get(version).cloned())
    }

    fn protobuf_types(
        &self,
        manifest: &Value,
    ) -> Result<HashMap<String, DeclaredType>, BuildError> {
        let types = self.protobuf.types::<K>(manifest, self.versions.as_ref());
        types.map_err(|e| invalid::<K>(&e))
    }

    /// Returns the text of the `.proto` file of a version. Numbers of the type and of the current file stay, and fields without
    /// one get a new one.
    ///
    /// # Errors
    ///
    /// Fails if the schema is invalid, if the version does not exist, or if a field has two numbers.
    pub fn proto(&self, version: &str) -> Result<String, BuildError> {
        let (manifest, versions) = (self.definition()?, self.versions.as_ref());
        let text = self.protobuf.print::<K>(&manifest, versions, version);
        text.map_err(|e| invalid::<K>(&e))
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
        let extend =
            move |resource: Resource, _: &Arc<dyn Get>| Ok(resource.with_table(table.clone()));
        self.extend.push(Box::new(extend));
        self
    }

    /// Adds a subresource with typed bodies to each version.
    #[must_use]
    pub fn subresource(mut self, name: impl Into<String>, handler: impl Subresource<K>) -> Self {
        let (name, handler) = (name.into(), Arc::new(handler));
        self.note_subresource(&name, handler.access().verbs().iter().copied());
        let extend = move |resource: Resource, parents: &Arc<dyn Get>| {
            Ok(resource.with_subresource(subresource(&name, &handler, parents)?))
        };
        self.extend.push(Box::new(extend));
        self
    }

    /// Adds a subresource such as `pods/log` to each version.
    #[must_use]
    pub fn log(self, name: impl Into<String>, handler: impl LogSubresource<K>) -> Self {
        self.open(name.into(), Handler::Log(Arc::new(handler)))
    }

    /// Adds a subresource such as `pods/exec` to each version.
    #[must_use]
    pub fn exec(self, name: impl Into<String>, handler: impl ExecSubresource<K>) -> Self {
        self.open(name.into(), Handler::Exec(Arc::new(handler)))
    }

    /// Adds a subresource such as `pods/portforward` to each version.
    #[must_use]
    pub fn port_forward(
        self,
        name: impl Into<String>,
        handler: impl PortForwardSubresource<K>,
    ) -> Self {
        self.open(name.into(), Handler::PortForward(Arc::new(handler)))
    }

    fn open(mut self, name: String, handler: Handler<K>) -> Self {
        self.note_subresource(&name, verbs_of(handler.methods()));
        let extend = move |resource: Resource, parents: &Arc<dyn Get>| {
            let connect = streams::connect(handler.clone(), parents);
            Ok(resource.with_stream(name.clone(), connect))
        };
        self.extend.push(Box::new(extend));
        self
    }

    /// Adds a streaming subresource that handles its requests itself to each version.
    #[must_use]
    pub fn stream(mut self, name: impl Into<String>, handler: impl Connect + 'static) -> Self {
        let (name, handler) = (name.into(), Arc::new(handler));
        self.note_subresource(&name, verbs_of(handler.methods()));
        let extend = move |resource: Resource, _: &Arc<dyn Get>| {
            Ok(resource.with_stream(name.clone(), handler.clone()))
        };
        self.extend.push(Box::new(extend));
        self
    }

    fn note_subresource(&mut self, name: &str, verbs: impl IntoIterator<Item = &'static str>) {
        self.subresources.push(SubresourceVerbs {
            name: name.to_owned(),
            verbs: verbs.into_iter().map(str::to_owned).collect(),
        });
    }

    /// Returns the subresources that were added, in the order in which they were. `status` and `scale` are part of the
    /// [definition](Self::definition).
    pub fn subresources(&self) -> &[SubresourceVerbs] {
        &self.subresources
    }

    /// Returns the names, versions and schemas of the kind, in the form of a CustomResourceDefinition. It is an input of
    /// tools, and is not meant to be installed.
    ///
    /// # Errors
    ///
    /// Fails if the schema is invalid, or if versions contradict each other.
    pub fn definition(&self) -> Result<Value, BuildError> {
        let manifest = match &self.versions {
            Some(versions) => versions.manifest().map_err(|e| invalid::<K>(&e))?,
            None => K::manifest().map_err(|e| invalid::<K>(&e))?,
        };
        Ok(manifest)
    }

    /// Builds the resources of the kind.
    pub(crate) fn build(self, default_store: Option<&Arc<dyn Store>>) -> Result<Built, BuildError> {
        let invalid = invalid::<K>;
        let manifest = self.definition()?;
        let definition = Definition::read(&manifest).map_err(|e| invalid(&e))?;
        definition.compile_rules();
        let protobuf = self.protobuf_types(&manifest)?;
        let conversion: Arc<dyn Conversion> = match self.versions {
            Some(versions) => Arc::new(Converted(versions)),
            None => Arc::new(Renamed),
        };
        let (store, storage): (Arc<dyn Store>, _) = match self.data {
            Data::Stored(store) => (store, None),
            Data::StoredByServer => {
                let store = default_store.ok_or_else(|| invalid(&"the server has no store"))?;
                (store.clone(), None)
            }
            Data::Computed(storage) => {
                (Arc::new(StorageStore::new(storage.clone())), Some(storage))
            }
        };
        let mut resources = CustomResources::new(&definition, store.clone()).protobuf(protobuf);
        if let Some(deletion) = self.deletion.clone() {
            resources = resources.grace_period(move |object, requested| {
                deletion::grace_period(&deletion, object, requested)
            });
        }
        let terminations = self
            .deletion
            .map(|deletion| Arc::new(Terminations::new(deletion)));
        let graceful = terminations.clone();
        let resources = resources.handlers(move |generic, handlers| {
            let handlers = match &storage {
                Some(storage) => supported(storage, generic, handlers),
                None => handlers,
            };
            match &graceful {
                Some(graceful) => deletion::handlers(graceful, generic, handlers),
                None => handlers,
            }
        });
        let resources = resources.clock(self.clock).conversion(conversion);
        let (generic, _) = resources
            .stored()
            .ok_or_else(|| invalid(&"no version is the storage version"))?;
        let parents: Arc<dyn Get> = Arc::new(generic.clone());
        let background = terminations.map(|terminations| {
            // This is the only place that sets it.
            let _ = terminations.stored.set(parents.clone());
            let resumer = Resumer {
                terminations,
                generic,
                store,
            };
            resumer.run().boxed()
        });
        let extended = resources.served().into_iter().map(|resource| {
            let mut all = self.extend.iter();
            all.try_fold(resource, |resource, extend| extend(resource, &parents))
        });
        Ok(Built {
            resources: extended.collect::<Result<_, _>>()?,
            plugins: self.plugins,
            background,
        })
    }
}

/// Returns the verbs of the methods of a stream, in the order of discovery.
fn verbs_of(methods: &[Method]) -> Vec<&'static str> {
    let verbs = [
        ("create", Method::POST),
        ("delete", Method::DELETE),
        ("get", Method::GET),
        ("patch", Method::PATCH),
        ("update", Method::PUT),
    ];
    let supported = verbs.iter().filter(|(_, method)| methods.contains(method));
    supported.map(|(verb, _)| *verb).collect()
}

fn invalid<K: ServedKind>(reason: &dyn fmt::Display) -> BuildError {
    BuildError {
        kind: K::kind(&()).into_owned(),
        reason: reason.to_string(),
    }
}

/// Returns the handlers for the verbs of a storage: reads call the storage directly, and writes use the generic registry.
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

#[boxed_async]
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
