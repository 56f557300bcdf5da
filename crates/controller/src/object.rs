//! [`Object`]: the bound for "a Kubernetes type".

use std::fmt;

use kube::{Resource, core::object::HasStatus};
use serde::{Serialize, de::DeserializeOwned};

/// A Kubernetes type: those of `k8s_openapi` and all that derive `CustomResource`. Never implemented by hand.
///
/// ```
/// use k8s_openapi::api::core::v1::{Node, Pod};
/// use kubewright_controller::Object;
///
/// fn plural<K: Object>() -> String {
///     K::plural(&()).into_owned()
/// }
/// assert_eq!((plural::<Pod>(), plural::<Node>()), ("pods".into(), "nodes".into()));
/// ```
pub trait Object:
    Resource<DynamicType = (), Scope: 'static>
    + Clone
    + fmt::Debug
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<K> Object for K where
    K: Resource<DynamicType = (), Scope: 'static>
        + Clone
        + fmt::Debug
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// A Kubernetes type with a status that its controller writes. Custom resources with `status = "..."` are such types.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kubewright_controller::StatusObject;
/// use kube::core::object::HasStatus;
///
/// fn has_status<K: StatusObject>(object: &K) -> bool {
///     object.status().is_some()
/// }
///
/// # #[derive(kube::CustomResource, schemars::JsonSchema, Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
/// # #[kube(group = "example.com", version = "v1", kind = "Shop", namespaced, status = "ShopStatus")]
/// # struct ShopSpec {}
/// # #[derive(schemars::JsonSchema, Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
/// # struct ShopStatus {}
/// assert!(!has_status(&Shop::new("web", ShopSpec {})));
/// ```
pub trait StatusObject:
    Object + HasStatus<Status: Clone + Default + Serialize + Send + Sync>
{
}

impl<K> StatusObject for K where
    K: Object + HasStatus<Status: Clone + Default + Serialize + Send + Sync>
{
}
