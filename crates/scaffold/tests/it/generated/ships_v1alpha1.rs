//! `Ship` of fleet.example.com/v1alpha1, made by `kubewright import crd`.

#![allow(missing_docs, rustdoc::all, clippy::doc_lazy_continuation, clippy::doc_markdown, clippy::duplicated_attributes, clippy::doc_overindented_list_items, clippy::enum_variant_names, clippy::struct_excessive_bools, clippy::tabs_in_doc_comments)]

use kube::CustomResource;
use kubewright::Schema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[kube(
    group = "fleet.example.com",
    version = "v1alpha1",
    kind = "Ship",
    plural = "ships",
    singular = "ship",
    namespaced,
    no_spec,
    derive = "PartialEq",
    derive = "Default",
    shortname = "sh",
    category = "all",
    category = "fleet",
    storage = false,
    served = false,
    deprecated = "fleet.example.com/v1alpha1 is going away",
)]
pub struct ShipFields {
    pub hull: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masts: Option<i32>,
}
