//! How things merge, on types, and whether they must be there.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::ByteString;
use kube::CustomResource;
use kubewright::Schema;
use serde::{Deserialize, Serialize};

use super::lists::{Port, Ref};

/// How things merge, on types, and whether they must be there.
#[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
#[kube(
    group = "golden.example.com",
    version = "v1",
    kind = "Merges",
    plural = "merges",
    singular = "merges",
    namespaced
)]
#[crd(external_docs(url = "https://example.com/merges", description = "All about merging"))]
pub(crate) struct MergesSpec {
    #[schema(struct_type = "granular")]
    r#ref: Option<Ref>,
    must: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required)]
    needed: String,
    #[serde(default)]
    free: String,
    rows: Option<RowSet>,
    keyed: Option<Keyed>,
    whole: Option<AtomicMap>,
    seal: Option<ByteString>,
}

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RowSet(BTreeSet<String>);

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
#[schema(list_map_keys("name"))]
pub(crate) struct Keyed(Vec<Port>);

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
#[schema(map_type = "atomic")]
pub(crate) struct AtomicMap(BTreeMap<String, String>);
