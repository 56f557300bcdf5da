//! [`Versions`]: the versions and groups through which the same objects are served.

use kubewright_derive::boxed_async;
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
///
/// ```
/// use kubewright_apiserver::{boxed_async, registry::{Equivalent, Versions}};
/// use kubewright_machinery::{Status, gvk::{GroupVersionKind, GroupVersionResource}};
/// use serde_json::{Value, json};
///
/// /// Stars of `v1` and `v2`, which have the same fields.
/// struct Stars;
///
/// #[boxed_async]
/// impl Versions for Stars {
///     fn equivalents(&self, subresource: &str) -> Vec<Equivalent> {
///         let equivalent = |version: &str| Equivalent {
///             resource: GroupVersionResource::new("sky.example.com", version, "stars"),
///             kind: GroupVersionKind::new("sky.example.com", version, "Star"),
///         };
///         match subresource {
///             "" => vec![equivalent("v1"), equivalent("v2")],
///             _ => Vec::new(),
///         }
///     }
///
///     async fn convert(&self, mut object: Value, api_version: &str) -> Result<Value, Status> {
///         object["apiVersion"] = api_version.into();
///         Ok(object)
///     }
///
///     fn default(&self, _: &mut Value) -> Result<(), Status> {
///         Ok(())
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let star = json!({"apiVersion": "sky.example.com/v1", "kind": "Star"});
/// let star = Stars.convert(star, "sky.example.com/v2").await.unwrap();
/// assert_eq!(star["apiVersion"], "sky.example.com/v2");
/// # });
/// ```
#[boxed_async]
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
