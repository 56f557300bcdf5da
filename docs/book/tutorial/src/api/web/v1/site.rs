//! `Site`: what users write, and what the operator answers.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use kubewright::Schema;
use serde::{Deserialize, Serialize};

/// What is wanted of a Site.
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

    /// What the page says.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// What is the case.
#[derive(Schema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SiteStatus {
    /// How long the page is, in bytes.
    #[serde(default)]
    pub bytes: i64,

    /// What the operator has to say. `Ready` is the one to look at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(list_map_keys("type"))]
    pub conditions: Vec<Condition>,
}
