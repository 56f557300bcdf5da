//! [`subresource_manifest`]: the description of a kind whose type has no `#[kube(...)]`.

use kubewright_machinery::gvk::GroupVersionKind;
use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::{
    crd::{CrdBuilder, CrdError},
    custom_kind::CustomKind,
};

/// Returns the names and the schema of a kind whose objects are those of a subresource of `K`, in the form of a
/// CustomResourceDefinition. Its fields are `apiVersion`, `kind`, `metadata`, and those of a type with `#[derive(Schema)]`.
///
/// It is for API servers of one's own, and is not meant to be installed.
///
/// ```
/// # extern crate kubewright_resource as kubewright;
/// # #[derive(kube::CustomResource, kubewright::Schema, Clone, Debug, serde::Serialize, serde::Deserialize)]
/// # #[kube(group = "crew.example.com", version = "v1", kind = "Captain", namespaced)]
/// # pub struct CaptainSpec { ship: String }
/// use kubewright::{Schema, Validator, subresource_manifest};
/// use kubewright_machinery::gvk::GroupVersionKind;
/// use serde_json::json;
///
/// /// An order to a captain.
/// #[derive(Schema)]
/// struct Order {
///     #[schema(minimum = 1)]
///     days: u32,
/// }
///
/// let kind = GroupVersionKind::new("crew.example.com", "v1", "Order");
/// let manifest = subresource_manifest::<Captain, Order>(&kind)?;
/// let order = json!({"apiVersion": "crew.example.com/v1", "kind": "Order", "metadata": {"name": "ahab"}, "days": 0});
/// let error = Validator::new(&manifest, "v1").create(&order).unwrap_err();
/// assert!(error.message.contains("days: Invalid value: 0"));
/// # Ok::<(), kubewright::CrdError>(())
/// ```
///
/// # Errors
///
/// Fails if the parent is not valid, or if an attribute gives a keyword of the schema a value that it cannot have.
pub fn subresource_manifest<K: CustomKind, T: JsonSchema>(
    kind: &GroupVersionKind,
) -> Result<Value, CrdError> {
    let parent = K::manifest()?;
    let plural = kind.kind.to_lowercase();
    let outline = json!({"spec": {
        "group": kind.group,
        "scope": parent["spec"]["scope"],
        "names": {"kind": kind.kind, "plural": plural, "singular": plural},
        "versions": [{
            "name": kind.version,
            "served": true,
            "storage": true,
            "schema": {"openAPIV3Schema": {}},
        }],
    }});
    let built = || {
        let mut crd = CrdBuilder::new(outline.clone());
        crd.fields::<T>();
        crd
    };
    built().check(&kind.kind)?;
    Ok(built().finish())
}
