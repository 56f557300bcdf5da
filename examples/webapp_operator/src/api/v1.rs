//! `WebApp` v1: its spec and its status.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use kubewright::Schema;
use serde::{Deserialize, Serialize};

/// The desired state of a WebApp.
#[kubewright::defaults]
#[derive(CustomResource, Schema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "apps.example.com",
    version = "v1",
    kind = "WebApp",
    namespaced,
    status = "WebAppStatus",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.readyReplicas"
    ),
    printcolumn(name = "URL", type_ = "string", json_path = ".status.url"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct WebAppSpec {
    /// The container image to run. It serves HTTP on port 8080.
    #[schema(min_length = 1)]
    pub image: String,
    /// The number of replicas.
    #[schema(default = 1, minimum = 0, maximum = 100)]
    pub replicas: i32,
    /// The host name under which the app is reachable from outside. Without it there is no Ingress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 253, pattern = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")]
    pub host: Option<String>,
    /// Environment variables of the app.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(max_properties = 100)]
    #[schema(rule(
        "self.all(name, name.matches('^[A-Za-z_][A-Za-z0-9_]*$'))",
        message = "keys must be names of environment variables"
    ))]
    pub config: BTreeMap<String, String>,
    /// The name of a Secret in the same namespace, with further environment variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// The observed state of a WebApp.
#[derive(Schema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebAppStatus {
    /// The number of replicas that are ready.
    #[serde(default)]
    pub ready_replicas: i32,
    /// The address of the app, if it has a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Current conditions. `Ready` summarises them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(list_map_keys("type"))]
    pub conditions: Vec<Condition>,
}
