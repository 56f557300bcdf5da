//! [`ResourceSpec`]: the names, the kind, the scope and the fields of a resource.

use std::sync::Arc;

use bytes::Bytes;
use kubewright_catalog::types::StructType;
use kubewright_machinery::gvk::{GroupResource, GroupVersion, GroupVersionKind};
use serde_json::Value;

use crate::object::Selectable;

/// The fields that an object may have.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// The fields of a built-in type: unknown fields are dropped and types are enforced.
    Typed(&'static StructType),
    /// Any fields.
    Untyped,
}

/// The description of a resource: everything about it that is data.
///
/// It is the single source of truth for a [`Resource`](super::Resource), its generic registry and its documents, all of which
/// share one `Arc` of it.
///
/// ```
/// use kubewright_apiserver::registry::ResourceSpec;
/// use kubewright_machinery::gvk::GroupVersionKind;
///
/// let kind = GroupVersionKind::new("sky.example.com", "v1", "Comet");
/// let spec = ResourceSpec { short_names: vec!["co".into()], ..ResourceSpec::new(kind, "comets") };
/// assert_eq!(spec.singular, "comet");
/// assert!(!spec.namespaced);
/// ```
#[derive(Clone, Debug)]
pub struct ResourceSpec {
    /// The group and version under which the resource is served.
    pub group_version: GroupVersion,
    /// The kind of its objects, in the served version.
    pub kind: GroupVersionKind,
    /// The plural name, as in paths: `pods`.
    pub plural: String,
    /// The singular name: `pod`.
    pub singular: String,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Short names, such as `po`.
    pub short_names: Vec<String>,
    /// Categories, such as `all`.
    pub categories: Vec<String>,
    /// The hash of the stored version that discovery reports.
    pub storage_version_hash: String,
    /// The verbs in the order of discovery. Empty: derived from the handlers.
    pub verbs: Vec<String>,
    /// The fields that an object may have.
    pub shape: Shape,
    /// The fields that selectors may name.
    pub selectable: Selectable,
    /// Whether list items leave out `kind` and `apiVersion`, as those of built-in types do.
    pub bare_items: bool,
    /// A deprecation warning that is added to every response.
    pub deprecation: Option<String>,
    /// The OpenAPI v3 schema of the objects as JSON text, for objects that are [`Shape::Untyped`]. `None` allows any fields.
    /// It is kept as text because there may be many schemas and few are read.
    pub openapi: Option<Arc<str>>,
}

impl ResourceSpec {
    /// Returns the description of a cluster-scoped resource with any fields.
    pub fn new(kind: GroupVersionKind, plural: impl Into<String>) -> Self {
        Self {
            group_version: kind.group_version(),
            singular: kind.kind.to_lowercase(),
            kind,
            plural: plural.into(),
            namespaced: false,
            short_names: Vec::new(),
            categories: Vec::new(),
            storage_version_hash: String::new(),
            verbs: Vec::new(),
            shape: Shape::Untyped,
            selectable: Selectable::default(),
            bare_items: false,
            deprecation: None,
            openapi: None,
        }
    }

    /// Makes the resource namespaced.
    #[must_use]
    pub fn namespaced(mut self) -> Self {
        self.namespaced = true;
        self
    }

    /// Returns the resource as error messages name it.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(&self.group_version.group, &self.plural)
    }

    /// Returns the first bytes of every stored object, up to and including the comma after `apiVersion`.
    pub fn type_prefix(&self) -> Bytes {
        type_prefix(&self.kind)
    }
}

/// Returns the first bytes of a stored object of that kind.
pub(crate) fn type_prefix(kind: &GroupVersionKind) -> Bytes {
    format!(
        "{{\"kind\":{},\"apiVersion\":{},",
        Value::from(kind.kind.as_str()),
        Value::from(kind.api_version())
    )
    .into()
}
