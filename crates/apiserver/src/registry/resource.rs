//! A resource: its names, its shape, and the handlers of its verbs.

use std::sync::Arc;

use bytes::Bytes;
use kubewright_catalog::types::StructType;
use kubewright_machinery::gvk::{GroupResource, GroupVersion, GroupVersionKind};
use kubewright_store::Store;
use serde_json::{Value, json};

use super::custom::Custom;
use super::generic::{Generic, GenericOptions, Strategy};
use super::traits::{Connect, Create, Delete, DeleteCollection, Get, List, Table, Update, Watch};
use crate::{
    clock::{SharedClock, SystemClock},
    managed::FieldManager,
    object::Selectable,
};

/// What is known about the fields of an object.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// The fields of a built-in type: others are dropped, types are enforced.
    Typed(&'static StructType),
    /// Any fields.
    Untyped,
}

/// The handlers of a resource or a subresource. What is `None` answers 405.
#[derive(Clone, Default)]
pub struct Handlers {
    /// `get`
    pub get: Option<Arc<dyn Get>>,
    /// `list`
    pub list: Option<Arc<dyn List>>,
    /// `watch`
    pub watch: Option<Arc<dyn Watch>>,
    /// `create`
    pub create: Option<Arc<dyn Create>>,
    /// `update` and `patch`
    pub update: Option<Arc<dyn Update>>,
    /// `delete`
    pub delete: Option<Arc<dyn Delete>>,
    /// `deletecollection`
    pub delete_collection: Option<Arc<dyn DeleteCollection>>,
    /// The conversation of a streaming subresource.
    pub connect: Option<Arc<dyn Connect>>,
}

/// A kind under its plural name, and what can be done with it.
#[derive(Clone)]
pub struct Resource {
    /// The group and version it is served under.
    pub group_version: GroupVersion,
    /// The kind of its objects, in the version served.
    pub kind: GroupVersionKind,
    /// `pods`
    pub plural: String,
    /// `pod`
    pub singular: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// `po`
    pub short_names: Vec<String>,
    /// `all`
    pub categories: Vec<String>,
    /// What discovery says about the stored version.
    pub storage_version_hash: String,
    /// What is known about the fields.
    pub shape: Shape,
    /// The fields that selectors may name.
    pub selectable: Arc<Selectable>,
    /// List items leave out `kind` and `apiVersion`, as those of built-in types do.
    pub bare_items: bool,
    /// The verbs in the order of discovery. Empty: derived from the handlers.
    pub verbs: Vec<String>,
    /// The handlers.
    pub handlers: Handlers,
    /// The subresources, in the order of discovery.
    pub subresources: Vec<Subresource>,
    /// Columns for `kubectl get`.
    pub table: Arc<dyn Table>,
    /// Called on every object after it was decoded or patched.
    pub default: Option<Defaulter>,
    /// Strategic merge and apply patches are understood (built-in types), and which fields are managed.
    pub patches: PatchTypes,
    /// Keeps track of who manages which field; `None`: nobody does.
    pub managed: Option<Arc<FieldManager>>,
    /// The time.
    pub clock: SharedClock,
    /// What a delete with these options is warned of.
    pub warn_on_delete: Option<DeleteWarning>,
    /// Judges a field label that is not in `selectable`: fine, or the text of the refusal.
    pub field_label: Option<FieldLabelCheck>,
    /// What reading the body into the type may say (deprecations of the version).
    pub deprecation: Option<String>,
    /// The kind was declared by a definition; what that changes.
    pub custom: Option<Arc<dyn Custom>>,
    /// The schema of the objects, as OpenAPI v3 in JSON, where `shape` does not tell it. `None`: any fields. It is kept as
    /// text: there may be many, and few are asked for.
    pub openapi: Option<Arc<str>>,
}

/// Fills in the defaults of a kind.
pub type Defaulter = Arc<dyn Fn(&mut Value) + Send + Sync>;

/// What a delete is warned of, given its options.
pub type DeleteWarning =
    Arc<dyn Fn(&crate::request::DeleteOptions) -> Option<String> + Send + Sync>;

/// Judges a field label.
pub type FieldLabelCheck = Arc<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

/// Which patch content types a resource takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchTypes {
    /// JSON patch and merge patch.
    Basic,
    /// Those and apply.
    WithApply,
    /// Those, apply and strategic merge.
    All,
}

/// Something below an object: `status`, `scale`, `log`.
#[derive(Clone)]
pub struct Subresource {
    /// `status`
    pub name: String,
    /// The kind it speaks.
    pub kind: SubresourceKind,
    /// The verbs in the order of discovery. Empty: derived from the handlers.
    pub verbs: Vec<String>,
    /// The handlers.
    pub handlers: Handlers,
    /// Keeps track of who manages which field through it.
    pub managed: Option<Arc<FieldManager>>,
    /// The columns of its objects; `None` where they cannot be shown as tables.
    pub table: Option<Arc<dyn Table>>,
}

/// The kind of a subresource's objects.
#[derive(Clone)]
pub enum SubresourceKind {
    /// The parent's own.
    Parent,
    /// Another one.
    Other(GroupVersionKind, Shape),
}

impl Resource {
    /// A resource without handlers yet; fill in what it can do.
    pub fn new(kind: GroupVersionKind, plural: impl Into<String>, namespaced: bool) -> Self {
        Self {
            group_version: kind.group_version(),
            singular: kind.kind.to_lowercase(),
            kind,
            plural: plural.into(),
            namespaced,
            short_names: Vec::new(),
            categories: Vec::new(),
            storage_version_hash: String::new(),
            shape: Shape::Untyped,
            selectable: Arc::default(),
            bare_items: false,
            verbs: Vec::new(),
            handlers: Handlers::default(),
            subresources: Vec::new(),
            table: Arc::new(NameAndAge),
            default: None,
            patches: PatchTypes::Basic,
            managed: None,
            clock: Arc::new(SystemClock),
            warn_on_delete: None,
            field_label: None,
            deprecation: None,
            custom: None,
            openapi: None,
        }
    }

    /// A resource whose objects live in a store, with every verb and any fields.
    pub fn stored(
        kind: GroupVersionKind,
        plural: impl Into<String>,
        namespaced: bool,
        store: Arc<dyn Store>,
        strategy: Arc<dyn Strategy>,
    ) -> Self {
        let mut resource = Self::new(kind, plural, namespaced);
        let generic = Generic::new(GenericOptions {
            store,
            collection: format!("{}/{}", resource.kind.group, resource.plural).into(),
            resource: resource.group_resource(),
            kind: resource.kind.clone(),
            namespaced,
            shape: Shape::Untyped,
            selectable: resource.selectable.clone(),
            strategy,
            converter: None,
            clock: resource.clock.clone(),
        });
        resource.handlers = generic.handlers();
        resource.managed = Some(Arc::new(FieldManager::new(
            &resource.kind,
            Shape::Untyped,
            "",
            &[],
        )));
        resource.patches = PatchTypes::WithApply;
        resource
    }

    /// With a subresource that is a conversation: a stream, or an upgraded connection.
    #[must_use]
    pub fn with_stream(mut self, name: impl Into<String>, handler: Arc<dyn Connect>) -> Self {
        self.subresources.push(Subresource {
            name: name.into(),
            kind: SubresourceKind::Parent,
            verbs: Vec::new(),
            handlers: Handlers {
                connect: Some(handler),
                ..Handlers::default()
            },
            managed: None,
            table: None,
        });
        self
    }

    /// The resource as error messages name it.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(&self.group_version.group, &self.plural)
    }

    /// The subresource of that name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|s| s.name == name)
    }

    /// The columns of the objects at an endpoint: those of the subresource, if it has some of its own.
    pub fn table_at(&self, subresource: &str) -> &dyn Table {
        let own = self
            .subresource(subresource)
            .and_then(|s| s.table.as_deref());
        own.unwrap_or(&*self.table)
    }

    /// How the bytes of its stored objects begin: up to and with the comma after `apiVersion`.
    pub fn type_prefix(&self) -> Bytes {
        type_prefix(&self.kind)
    }
}

/// How the bytes of a stored object of that kind begin.
pub fn type_prefix(kind: &GroupVersionKind) -> Bytes {
    format!(
        "{{\"kind\":{},\"apiVersion\":{},",
        Value::from(kind.kind.as_str()),
        Value::from(kind.api_version())
    )
    .into()
}

impl Handlers {
    /// The verbs they amount to, in the order of discovery.
    pub fn verbs(&self) -> Vec<String> {
        let update = self.update.is_some();
        let all = [
            ("create", self.create.is_some()),
            ("delete", self.delete.is_some()),
            ("deletecollection", self.delete_collection.is_some()),
            ("get", self.get.is_some() || self.connect.is_some()),
            ("list", self.list.is_some()),
            ("patch", update),
            ("update", update),
            ("watch", self.watch.is_some()),
        ];
        all.iter()
            .filter(|(_, there)| *there)
            .map(|(verb, _)| (*verb).to_owned())
            .collect()
    }
}

/// The columns of a kind that declares none: its name and when it was created.
pub struct NameAndAge;

impl Table for NameAndAge {
    fn columns(&self) -> Value {
        json!([
            {"name": "Name", "type": "string", "format": "name", "description": "The name, unique within the namespace.", "priority": 0},
            {"name": "Created At", "type": "date", "format": "", "description": "When the server made the object.", "priority": 0},
        ])
    }

    fn cells(&self, object: &Value) -> Vec<Value> {
        let metadata = &object["metadata"];
        vec![
            metadata["name"].clone(),
            metadata["creationTimestamp"].clone(),
        ]
    }
}
