//! [`Request`]: the object to reconcile.

use std::{fmt, sync::Arc};

use kube::{Resource, ResourceExt};
use kubewright_informer::{Key, StoredObject};

/// The object to reconcile. Cheap to clone.
///
/// ```
/// use kubewright_controller::Request;
///
/// let request = Request::new("shop", "web");
/// assert_eq!((request.namespace(), request.name()), (Some("shop"), "web"));
/// assert_eq!(Request::cluster_scoped("node-1").to_string(), "node-1");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Request {
    key: Key,
    cluster: Option<Arc<str>>,
}

impl Request {
    /// Names an object in a namespace; cluster-scoped if the namespace is empty.
    pub fn new(namespace: &str, name: &str) -> Self {
        Key::new(Some(namespace), name).into()
    }

    /// Names a cluster-scoped object.
    pub fn cluster_scoped(name: &str) -> Self {
        Key::new(None, name).into()
    }

    /// Names the given object.
    pub fn of<K: Resource>(object: &K) -> Self {
        Key::new(object.namespace().as_deref(), &object.name_any()).into()
    }

    /// Names the same object in that cluster.
    #[must_use]
    pub fn in_cluster(mut self, cluster: impl Into<Arc<str>>) -> Self {
        self.cluster = Some(cluster.into());
        self
    }

    /// Returns the namespace, if the object has one.
    pub fn namespace(&self) -> Option<&str> {
        self.key.namespace()
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        self.key.name()
    }

    /// Returns the cluster, where there are several.
    pub fn cluster(&self) -> Option<&str> {
        self.cluster.as_deref()
    }

    /// Returns the namespace and name.
    pub fn key(&self) -> &Key {
        &self.key
    }
}

impl From<Key> for Request {
    fn from(key: Key) -> Self {
        Self { key, cluster: None }
    }
}

impl From<&StoredObject> for Request {
    fn from(object: &StoredObject) -> Self {
        object.key().clone().into()
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cluster {
            Some(cluster) => write!(f, "{cluster}:{}", self.key),
            None => self.key.fmt(f),
        }
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}
