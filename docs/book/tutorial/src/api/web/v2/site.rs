//! The kind `Site`: its spec and its status.

use kube::CustomResource;
use kubewright::Schema;
use serde::{Deserialize, Serialize};

pub use crate::api::web::v1::SiteStatus;

/// The desired state of a Site.
#[derive(CustomResource, Schema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "web.example.com",
    version = "v2",
    kind = "Site",
    plural = "sites",
    namespaced,
    storage = false,
    status = "SiteStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(name = "Heading", type_ = "string", json_path = ".spec.heading")
)]
#[serde(rename_all = "camelCase")]
pub struct SiteSpec {
    /// The heading of the page.
    #[schema(min_length = 1, max_length = 40)]
    pub heading: String,

    /// The text of the page.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}
