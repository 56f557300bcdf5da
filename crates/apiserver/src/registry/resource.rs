//! [`Resource`]: a [`ResourceSpec`] with the handlers of its verbs.

use std::sync::Arc;

use kubewright_machinery::{Status, gvk::GroupVersionKind};
use kubewright_store::Store;
use serde_json::{Value, json};

use super::{
    custom::Custom,
    generic::Generic,
    handlers::Handlers,
    spec::{ResourceSpec, Shape},
    table::Table,
    traits::Connect,
    versions::Versions,
};
use crate::{
    clock::{SharedClock, SystemClock},
    field_manager::FieldManager,
    request::DeleteOptions,
    respond::{Fields, FrameCache},
};

/// Fills in the defaults of a kind.
pub type Defaulter = Arc<dyn Fn(&mut Value) -> Result<(), Status> + Send + Sync>;

/// Returns the warning for a delete with these options, if there is one.
pub type DeleteWarning = Arc<dyn Fn(&DeleteOptions) -> Option<String> + Send + Sync>;

/// Checks a field label that is not selectable; the error is the message for the client.
pub type FieldLabelCheck = Arc<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

/// A resource that a server serves.
///
/// Its objects are kept in a store ([`Resource::stored`]) or computed by handlers ([`Resource::computed`]).
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::registry::{Plain, RegistryBuilder, Resource, ResourceSpec};
/// use kubewright_machinery::gvk::GroupVersionKind;
/// use kubewright_store::MemoryStore;
///
/// let kind = GroupVersionKind::new("sky.example.com", "v1", "Comet");
/// let spec = ResourceSpec::new(kind, "comets").namespaced();
/// let store = Arc::new(MemoryStore::new());
/// let mut registry = RegistryBuilder::default();
/// registry.add(Resource::stored(spec, store).with_strategy(Arc::new(Plain)));
/// assert!(registry.build().resource("sky.example.com", "v1", "comets").is_some());
/// ```
#[derive(Clone)]
pub struct Resource {
    pub(crate) spec: Arc<ResourceSpec>,
    pub(crate) handlers: Handlers,
    pub(crate) subresources: Vec<Subresource>,
    pub(crate) table: Arc<dyn Table>,
    pub(crate) default: Option<Defaulter>,
    pub(crate) field_manager: Option<Arc<FieldManager>>,
    pub(crate) clock: SharedClock,
    pub(crate) warn_on_delete: Option<DeleteWarning>,
    pub(crate) field_label: Option<FieldLabelCheck>,
    pub(crate) custom: Option<Arc<dyn Custom>>,
    pub(crate) versions: Option<Arc<dyn Versions>>,
    /// The collection of the store that holds the objects.
    collection: Option<Arc<str>>,
    /// The latest frames of its watches.
    pub(crate) frames: Arc<FrameCache>,
}

/// A subresource: `status`, `scale`, `log`.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::registry::{Resource, ResourceSpec, Subresource};
/// use kubewright_machinery::gvk::GroupVersionKind;
/// use kubewright_store::MemoryStore;
///
/// let kind = GroupVersionKind::new("sky.example.com", "v1", "Comet");
/// let comets = Resource::stored(ResourceSpec::new(kind, "comets"), Arc::new(MemoryStore::new()));
/// let status = Subresource::new("status", comets.clone().subresource_handlers());
/// assert_eq!(status.handlers.verbs(), ["get", "patch", "update"]);
/// let comets = comets.into_resource().with_subresource(status);
/// assert!(comets.subresource("status").is_some());
/// ```
#[derive(Clone)]
pub struct Subresource {
    /// The name, as in paths.
    pub name: String,
    /// The kind of its objects.
    pub kind: SubresourceKind,
    /// The verbs in the order of discovery. Empty: derived from the handlers.
    pub verbs: Vec<String>,
    /// The handlers of its verbs.
    pub handlers: Handlers,
    /// Fills in the defaults of its objects if their kind is not that of the parent.
    pub default: Option<Defaulter>,
    /// Tracks the owners of the fields that are written through it.
    pub field_manager: Option<Arc<FieldManager>>,
    /// The columns of its objects; `None` if they cannot be shown as a table.
    pub table: Option<Arc<dyn Table>>,
    /// Describes its objects, if they have a kind and a schema of their own.
    pub object: Option<Arc<Resource>>,
}

/// The kind of a subresource's objects.
#[derive(Clone)]
pub enum SubresourceKind {
    /// The kind of the parent.
    Parent,
    /// Another kind.
    Other(GroupVersionKind, Shape),
}

impl Subresource {
    /// Describes a subresource whose objects have the kind of its parent.
    pub fn new(name: impl Into<String>, handlers: Handlers) -> Self {
        Self {
            name: name.into(),
            kind: SubresourceKind::Parent,
            verbs: Vec::new(),
            handlers,
            default: None,
            field_manager: None,
            table: None,
            object: None,
        }
    }

    /// Describes a streaming subresource.
    pub fn stream(name: impl Into<String>, handler: Arc<dyn Connect>) -> Self {
        let connect = Some(handler);
        Self::new(
            name,
            Handlers {
                connect,
                ..Handlers::default()
            },
        )
    }

    /// Sets the kind of its objects, if it is not that of the parent.
    #[must_use]
    pub fn with_kind(mut self, kind: GroupVersionKind, shape: Shape) -> Self {
        self.kind = SubresourceKind::Other(kind, shape);
        self
    }

    /// Sets the kind of its objects to that of a resource, which need not be served: its schema, its defaults and the fields that
    /// it knows are those of the objects.
    #[must_use]
    pub fn with_object(mut self, resource: Resource) -> Self {
        let spec = &resource.spec;
        self.kind = SubresourceKind::Other(spec.kind.clone(), spec.shape);
        self.default = resource.default.clone();
        self.object = Some(Arc::new(resource));
        self
    }

    /// Sets the verbs that discovery lists, and their order (default: those that have a handler).
    #[must_use]
    pub fn with_verbs<V: Into<String>>(mut self, verbs: impl IntoIterator<Item = V>) -> Self {
        self.verbs = verbs.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the defaults of its objects, if their kind is not that of the parent.
    #[must_use]
    pub fn with_defaults(mut self, default: Defaulter) -> Self {
        self.default = Some(default);
        self
    }

    /// Sets the tracker of the fields that are written through it.
    #[must_use]
    pub fn with_field_manager(mut self, manager: impl Into<Arc<FieldManager>>) -> Self {
        self.field_manager = Some(manager.into());
        self
    }

    /// Sets the columns of its objects.
    #[must_use]
    pub fn with_table(mut self, table: Arc<dyn Table>) -> Self {
        self.table = Some(table);
        self
    }
}

/// The patch content types that a resource accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchTypes {
    /// JSON patch and merge patch.
    Basic,
    /// Those and apply.
    WithApply,
    /// Those, apply and strategic merge.
    All,
}

impl Resource {
    /// Describes a resource whose objects live in a store, with every verb. Its strategy is
    /// [`Plain`](super::Plain) unless [`Generic::with_strategy`] sets another.
    pub fn stored(spec: impl Into<Arc<ResourceSpec>>, store: Arc<dyn Store>) -> Generic {
        Generic::new(spec, store)
    }

    /// Returns a resource whose handlers compute the answers.
    pub fn computed(spec: impl Into<Arc<ResourceSpec>>, handlers: Handlers) -> Self {
        Self {
            spec: spec.into(),
            handlers,
            subresources: Vec::new(),
            table: Arc::new(NameAndAge),
            default: None,
            field_manager: None,
            clock: Arc::new(SystemClock),
            warn_on_delete: None,
            field_label: None,
            custom: None,
            versions: None,
            collection: None,
            frames: Arc::default(),
        }
    }

    /// Sets the handlers of all verbs.
    #[must_use]
    pub fn with_handlers(mut self, handlers: Handlers) -> Self {
        self.handlers = handlers;
        self
    }

    /// Adds a subresource. Discovery lists them in the order in which they are added.
    #[must_use]
    pub fn with_subresource(mut self, subresource: Subresource) -> Self {
        self.subresources.push(subresource);
        self
    }

    /// Adds a streaming subresource.
    #[must_use]
    pub fn with_stream(self, name: impl Into<String>, handler: Arc<dyn Connect>) -> Self {
        self.with_subresource(Subresource::stream(name, handler))
    }

    /// Sets the columns of `kubectl get` (default: name and creation time).
    #[must_use]
    pub fn with_table(mut self, table: Arc<dyn Table>) -> Self {
        self.table = table;
        self
    }

    /// Sets a function that fills in defaults. It runs on every object that was decoded or patched.
    #[must_use]
    pub fn with_defaults(mut self, default: Defaulter) -> Self {
        self.default = Some(default);
        self
    }

    /// Sets the tracker of managed fields. A resource without one accepts no server-side apply.
    #[must_use]
    pub fn with_field_manager(mut self, manager: FieldManager) -> Self {
        self.field_manager = Some(Arc::new(manager));
        self
    }

    /// Sets the clock that managed fields are stamped with (default: the system clock, or that of the store).
    #[must_use]
    pub fn with_clock(mut self, clock: SharedClock) -> Self {
        self.clock = clock;
        self
    }

    /// Sets a function that warns about deletes.
    #[must_use]
    pub fn with_delete_warning(mut self, warning: DeleteWarning) -> Self {
        self.warn_on_delete = Some(warning);
        self
    }

    /// Sets the check for field labels that [`ResourceSpec::selectable`] does not list.
    #[must_use]
    pub fn with_field_label_check(mut self, check: FieldLabelCheck) -> Self {
        self.field_label = Some(check);
        self
    }

    /// Marks the resource as custom: defined by a CustomResourceDefinition.
    #[must_use]
    pub fn with_custom(mut self, custom: Arc<dyn Custom>) -> Self {
        self.custom = Some(custom);
        self
    }

    /// Sets the versions in which the same objects are served, if there are several.
    #[must_use]
    pub fn with_versions(mut self, versions: Arc<dyn Versions>) -> Self {
        self.versions = Some(versions);
        self
    }

    /// Returns the versions in which the same objects are served, if there are several.
    pub fn versions(&self) -> Option<&Arc<dyn Versions>> {
        self.versions.as_ref()
    }

    /// Returns the schema of a custom resource.
    pub fn custom(&self) -> Option<&Arc<dyn Custom>> {
        self.custom.as_ref()
    }

    /// Returns the kind and the fields of the objects of a subresource, or of the resource itself if the name is empty.
    pub fn kind_of(&self, subresource: &str) -> (&GroupVersionKind, Shape) {
        match self.subresource(subresource).map(|s| &s.kind) {
            Some(SubresourceKind::Other(kind, shape)) => (kind, *shape),
            _ => (&self.spec.kind, self.spec.shape),
        }
    }

    /// Returns the defaults of the objects of a subresource, or of the resource itself if the name is empty.
    pub fn defaults_of(&self, subresource: &str) -> Option<&Defaulter> {
        match self.subresource(subresource) {
            Some(subresource) if matches!(subresource.kind, SubresourceKind::Other(..)) => {
                subresource.default.as_ref()
            }
            _ => self.default.as_ref(),
        }
    }

    /// Sets the collection of the store that holds the objects.
    pub(super) fn with_collection(mut self, collection: Arc<str>) -> Self {
        self.collection = Some(collection);
        self
    }

    /// Returns the collection of the store that holds the objects, or `None` if they are not stored.
    pub fn collection(&self) -> Option<&Arc<str>> {
        self.collection.as_ref()
    }

    /// Returns the description of the resource.
    pub fn spec(&self) -> &ResourceSpec {
        &self.spec
    }

    /// Returns the handlers of its verbs.
    pub fn handlers(&self) -> &Handlers {
        &self.handlers
    }

    /// Returns the subresources in the order of discovery.
    pub fn subresources(&self) -> &[Subresource] {
        &self.subresources
    }

    /// Returns the resource with each subresource replaced.
    #[must_use]
    pub fn map_subresources(mut self, map: impl FnMut(Subresource) -> Subresource) -> Self {
        self.subresources = self.subresources.into_iter().map(map).collect();
        self
    }

    /// Returns the subresource of that name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|s| s.name == name)
    }

    /// Returns the tracker of managed fields of a subresource, or of the resource itself if the name is empty.
    pub fn field_manager_of(&self, subresource: &str) -> Option<&Arc<FieldManager>> {
        match self.subresource(subresource) {
            Some(subresource) => subresource.field_manager.as_ref(),
            None => self.field_manager.as_ref(),
        }
    }

    /// Returns the columns of its objects.
    pub fn table(&self) -> &Arc<dyn Table> {
        &self.table
    }

    /// Returns the columns of a subresource's objects, or of the resource itself if the name is empty.
    pub fn table_of(&self, subresource: &str) -> &Arc<dyn Table> {
        let own = self.subresource(subresource).and_then(|s| s.table.as_ref());
        own.unwrap_or(&self.table)
    }

    /// Returns the accepted patch content types. Strategic merge needs a type, and apply a field manager.
    pub(crate) fn patch_types(&self) -> PatchTypes {
        match (self.spec.shape, &self.field_manager) {
            (_, None) => PatchTypes::Basic,
            (Shape::Untyped, Some(_)) => PatchTypes::WithApply,
            (Shape::Typed(_), Some(_)) => PatchTypes::All,
        }
    }
}

/// The columns of a kind that has none: name and creation time.
struct NameAndAge;

impl Table for NameAndAge {
    fn columns(&self) -> Value {
        json!([
            {"name": "Name", "type": "string", "format": "name", "description": "The name, unique within the namespace.", "priority": 0},
            {"name": "Created At", "type": "date", "format": "", "description": "When the server made the object.", "priority": 0},
        ])
    }

    fn fields(&self) -> Option<Fields> {
        Some(Fields::new(["metadata.name", "metadata.creationTimestamp"]))
    }

    fn cells(&self, object: &Value) -> Vec<Value> {
        let metadata = &object["metadata"];
        vec![
            metadata["name"].clone(),
            metadata["creationTimestamp"].clone(),
        ]
    }
}
