//! Names of kinds, resources and objects.

use std::fmt;

/// A group and a version: `apps/v1`, or `v1` for the core group.
///
/// ```
/// use kubewright_machinery::gvk::GroupVersion;
///
/// let apps = GroupVersion::parse("apps/v1").expect("there is one slash");
/// assert_eq!(apps, GroupVersion::new("apps", "v1"));
/// assert_eq!(apps.with_kind("Deployment").to_string(), "apps/v1, Kind=Deployment");
/// assert_eq!(GroupVersion::new("", "v1").to_string(), "v1");
/// assert_eq!(GroupVersion::parse("a/b/c"), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersion {
    /// The group; empty for the core group.
    pub group: String,
    /// `v1`
    pub version: String,
}

/// The type of an object, printed as `apps/v1, Kind=Deployment` or `/v1, Kind=Pod`.
///
/// ```
/// use kubewright_machinery::gvk::{GroupKind, GroupVersionKind};
///
/// let deployment = GroupVersionKind::new("apps", "v1", "Deployment");
/// assert_eq!(deployment.api_version(), "apps/v1");
/// assert_eq!(deployment.group_kind(), GroupKind::new("apps", "Deployment"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    /// The group; empty for the core group.
    pub group: String,
    /// `v1`
    pub version: String,
    /// `Deployment`
    pub kind: String,
}

/// The name of a collection, printed as `apps/v1, Resource=deployments` or `/v1, Resource=pods`.
///
/// ```
/// use kubewright_machinery::gvk::{GroupResource, GroupVersionResource};
///
/// let deployments = GroupVersionResource::new("apps", "v1", "deployments");
/// assert_eq!(deployments.to_string(), "apps/v1, Resource=deployments");
/// assert_eq!(deployments.group_resource(), GroupResource::new("apps", "deployments"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionResource {
    /// The group; empty for the core group.
    pub group: String,
    /// `v1`
    pub version: String,
    /// `deployments`
    pub resource: String,
}

/// A resource without its version, as error messages name it: `deployments.apps`.
///
/// ```
/// use kubewright_machinery::gvk::GroupResource;
///
/// assert_eq!(GroupResource::new("apps", "deployments").to_string(), "deployments.apps");
/// assert_eq!(GroupResource::new("", "pods").to_string(), "pods");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    /// The group; empty for the core group.
    pub group: String,
    /// `deployments`
    pub resource: String,
}

/// A kind without its version: `Deployment.apps`.
///
/// ```
/// use kubewright_machinery::gvk::GroupKind;
///
/// assert_eq!(GroupKind::new("apps", "Deployment").to_string(), "Deployment.apps");
/// assert_eq!(GroupKind::new("", "Pod").to_string(), "Pod");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKind {
    /// The group; empty for the core group.
    pub group: String,
    /// `Deployment`
    pub kind: String,
}

/// The name of an object within its collection.
///
/// ```
/// use kubewright_machinery::gvk::ObjectKey;
///
/// assert_eq!(ObjectKey::namespaced("shop", "web").to_string(), "shop/web");
/// let node = ObjectKey::cluster("node-1");
/// assert_eq!((node.namespace.as_deref(), node.to_string().as_str()), (None, "node-1"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
}

impl GroupVersion {
    /// Creates the name from its parts.
    pub fn new(group: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
        }
    }

    /// Parses an `apiVersion`: `v1` or `apps/v1`. Returns `None` if there is more than one slash.
    pub fn parse(api_version: &str) -> Option<Self> {
        match api_version.split_once('/') {
            None => Some(Self::new("", api_version)),
            Some((_, version)) if version.contains('/') => None,
            Some((group, version)) => Some(Self::new(group, version)),
        }
    }

    /// Returns the kind of this name in the group and version.
    pub fn with_kind(&self, kind: impl Into<String>) -> GroupVersionKind {
        GroupVersionKind {
            group: self.group.clone(),
            version: self.version.clone(),
            kind: kind.into(),
        }
    }

    /// Returns the resource of this name in the group and version.
    pub fn with_resource(&self, resource: impl Into<String>) -> GroupVersionResource {
        GroupVersionResource {
            group: self.group.clone(),
            version: self.version.clone(),
            resource: resource.into(),
        }
    }
}

impl fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.version)
        } else {
            write!(f, "{}/{}", self.group, self.version)
        }
    }
}

impl GroupVersionKind {
    /// Creates the name from its parts.
    pub fn new(
        group: impl Into<String>,
        version: impl Into<String>,
        kind: impl Into<String>,
    ) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        }
    }

    /// The group and the version.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(&self.group, &self.version)
    }

    /// The group and the kind.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(&self.group, &self.kind)
    }

    /// The `apiVersion` of such an object.
    pub fn api_version(&self) -> String {
        self.group_version().to_string()
    }
}

impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

impl GroupVersionResource {
    /// Creates the name from its parts.
    pub fn new(
        group: impl Into<String>,
        version: impl Into<String>,
        resource: impl Into<String>,
    ) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            resource: resource.into(),
        }
    }

    /// The group and the version.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(&self.group, &self.version)
    }

    /// The group and the resource.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(&self.group, &self.resource)
    }
}

impl fmt::Display for GroupVersionResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{}, Resource={}",
            self.group, self.version, self.resource
        )
    }
}

impl GroupResource {
    /// Creates the name from its parts.
    pub fn new(group: impl Into<String>, resource: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            resource: resource.into(),
        }
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.resource)
        } else {
            write!(f, "{}.{}", self.resource, self.group)
        }
    }
}

impl GroupKind {
    /// Creates the name from its parts.
    pub fn new(group: impl Into<String>, kind: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            kind: kind.into(),
        }
    }
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.kind)
        } else {
            write!(f, "{}.{}", self.kind, self.group)
        }
    }
}

impl ObjectKey {
    /// Creates the key of a namespaced object.
    pub fn namespaced(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: Some(namespace.into()),
            name: name.into(),
        }
    }

    /// Creates the key of a cluster-scoped object.
    pub fn cluster(name: impl Into<String>) -> Self {
        Self {
            namespace: None,
            name: name.into(),
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(ns) => write!(f, "{ns}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}
