//! [`Versions`]: the versions and groups through which the same objects are served.

use async_trait::async_trait;
use kubewright_machinery::{
    Status,
    gvk::{GroupVersionKind, GroupVersionResource},
};
use serde_json::Value;

/// A resource, or a subresource of it, and the kind of its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equivalent {
    /// The group, version and plural name.
    pub resource: GroupVersionResource,
    /// The kind of the objects there.
    pub kind: GroupVersionKind,
}

/// The versions of a kind that is served in several, perhaps in several groups.
#[async_trait]
pub trait Versions: Send + Sync {
    /// Returns every resource that serves the same objects, this one included, and has the subresource. The name of the
    /// subresource is empty for the resources themselves.
    fn equivalents(&self, subresource: &str) -> Vec<Equivalent>;

    /// Converts an object to another version.
    ///
    /// # Errors
    ///
    /// Fails if there is no such version, or the object cannot be converted.
    async fn convert(&self, object: Value, api_version: &str) -> Result<Value, Status>;

    /// Fills in the defaults of the version that the object is in.
    ///
    /// # Errors
    ///
    /// Fails if the defaults make the object too large.
    fn default(&self, object: &mut Value) -> Result<(), Status>;
}
