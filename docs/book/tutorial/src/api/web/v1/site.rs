//! The kind `Site`: its spec and its status.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use kubewright::Schema;
use serde::{Deserialize, Serialize};

/// The desired state of a Site.
#[derive(CustomResource, Schema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "web.example.com",
    version = "v1",
    kind = "Site",
    plural = "sites",
    namespaced,
    status = "SiteStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(name = "Title", type_ = "string", json_path = ".spec.title"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct SiteSpec {
    /// The heading of the page.
    #[schema(min_length = 1, max_length = 40)]
    pub title: String,

    /// The text of the page.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// The observed state of a Site.
#[derive(Schema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SiteStatus {
    /// The size of the page in bytes.
    #[serde(default)]
    pub bytes: i64,

    /// Current conditions. `Ready` summarises them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(list_map_keys("type"))]
    pub conditions: Vec<Condition>,
}
