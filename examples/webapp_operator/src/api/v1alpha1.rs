//! `WebApp` v1alpha1: the number of replicas was called `size`, and the host was part of `ingress`.

use std::collections::BTreeMap;

use kube::CustomResource;
use kubewright::Schema;
use serde::{Deserialize, Serialize};

pub use super::v1::WebAppStatus;

/// The desired state of a WebApp.
#[kubewright::defaults]
#[derive(CustomResource, Schema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "apps.example.com",
    version = "v1alpha1",
    kind = "WebApp",
    namespaced,
    status = "WebAppStatus",
    storage = false,
    deprecated = "apps.example.com/v1alpha1 WebApp is deprecated; use apps.example.com/v1 WebApp"
)]
#[serde(rename_all = "camelCase")]
pub struct WebAppSpec {
    /// The container image to run.
    #[schema(min_length = 1)]
    pub image: String,
    /// The number of replicas.
    #[schema(default = 1, minimum = 0, maximum = 100)]
    pub size: i32,
    /// Access from outside. Without it there is no Ingress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress: Option<Ingress>,
    /// Environment variables of the app.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, String>,
    /// The name of a Secret in the same namespace, with further environment variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// Access from outside.
#[derive(Schema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ingress {
    /// The host name.
    pub host: String,
}
