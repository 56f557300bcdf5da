//! `Ship` of fleet.example.com/v1, made by `kubewright import crd`.

#![allow(missing_docs, rustdoc::all, clippy::doc_lazy_continuation, clippy::doc_markdown, clippy::duplicated_attributes, clippy::doc_overindented_list_items, clippy::enum_variant_names, clippy::struct_excessive_bools, clippy::tabs_in_doc_comments)]

use kube::CustomResource;
use kubewright::Schema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct Grain {}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct Wine {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub casks: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[schema(min_properties = 1, one_of = [{"required": ["grain"]}, {"required": ["wine"]}], map_type = "atomic")]
pub struct Cargo {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grain: Option<Grain>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wine: Option<Wine>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct Log {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keeper: Option<String>,
    /// Fields that the schema does not name.
    #[serde(flatten)]
    pub rest: std::collections::BTreeMap<String, serde_json::Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct Owner {
    #[serde(rename = "countryISO", skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2, min_length = 2)]
    pub country_iso: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub town: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Schema)]
pub enum Rig {
    #[serde(rename = "sloop")]
    Sloop,
    Brig,
    #[serde(rename = "full-rigged")]
    FullRigged,
    #[serde(rename = "")]
    Empty,
    #[serde(rename = "3-masted")]
    V3Masted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Schema)]
pub enum Watch {
    #[serde(rename = "port")]
    Port,
    #[serde(rename = "starboard")]
    Starboard,
}

/// One of the crew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Schema)]
pub struct Sailor {
    /// Where a sailor comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<Owner>,
    pub name: String,
    #[schema(required, default = "port")]
    pub watch: Watch,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct SpecString {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
}

/// What is wanted.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, Schema)]
#[kube(
    group = "fleet.example.com",
    version = "v1",
    kind = "Ship",
    plural = "ships",
    singular = "ship",
    namespaced,
    status = "ShipStatus",
    derive = "PartialEq",
    doc = "A ship of the fleet.",
    shortname = "sh",
    category = "all",
    category = "fleet",
    printcolumn(name = "Port", type_ = "string", json_path = ".spec.port", description = "Where it is at home.", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    selectable = ".spec.port",
    scale(spec_replicas_path = ".spec.masts", status_replicas_path = ".status.masts", label_selector_path = ".status.selector"),
)]
#[crd(
    rule("self.metadata.name != 'titanic'", message = "not \"that\" one", reason = "FieldValueForbidden", field_path = ".metadata.name"),
)]
#[serde(rename_all = "camelCase")]
#[schema(rule("self.masts <= 7 || has(self.cargo)", message_expression = "'masts: ' + string(self.masts)"), rule("!oldSelf.hasValue() || self.port == oldSelf.value().port", reason = "FieldValueInvalid", field_path = ".port", optional_old_self))]
pub struct ShipSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = true)]
    pub afloat: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown_fields)]
    pub anything: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub built: Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>,
    #[serde(rename = "ca.crt", skip_serializing_if = "Option::is_none")]
    pub ca_crt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cargo: Option<Cargo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 9000000000i64)]
    pub displacement: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.5)]
    pub draught: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable)]
    pub ensign: Option<String>,
    /// Must be there, and may be null.
    #[schema(required, nullable)]
    pub flag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(list_type = "atomic")]
    pub grid: Option<Vec<Vec<i64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(values(max_length = 63), map_type = "atomic")]
    pub labels: Option<std::collections::BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(enum = [1, 2, 3])]
    pub level: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_properties = 8)]
    pub limits: Option<std::collections::BTreeMap<String, k8s_openapi::apimachinery::pkg::util::intstr::IntOrString>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<k8s_openapi::apimachinery::pkg::util::intstr::IntOrString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<Log>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = 3, maximum = 9, minimum = 1)]
    pub masts: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<k8s_openapi::apimachinery::pkg::api::resource::Quantity>,
    /// # Not a title
    ///  indented
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(description = "# Not a title\r\n indented ")]
    pub odd: Option<String>,
    /// Where the owner lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    #[serde(rename = "podCIDRs", skip_serializing_if = "Option::is_none")]
    pub pod_cidrs: Option<Vec<String>>,
    /// Where it is at home.
    ///
    /// Several lines, "quotes" and a \ backslash.
    #[schema(max_length = 63, min_length = 1, pattern = "^[a-z]([-a-z0-9]*[a-z0-9])?$")]
    pub port: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(items(min_length = 1), min_items = 1, list_type = "set")]
    pub ports: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(type = "object", preserve_unknown_fields)]
    pub raw: Option<serde_json::Value>,
    pub rig: Rig,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 100, list_map_keys("name", "watch"))]
    pub sailors: Option<Vec<Sailor>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seal: Option<k8s_openapi::ByteString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "double")]
    pub speed: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = {"a": "b"})]
    pub string: Option<SpecString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(embedded_resource, preserve_unknown_fields)]
    pub template: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(exclusive_minimum, minimum = 0, multiple_of = 5, format = null)]
    pub tonnage: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Schema)]
pub enum Status {
    True,
    False,
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    pub last_transition_time: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time,
    #[schema(max_length = 32768)]
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0)]
    pub observed_generation: Option<i64>,
    #[schema(max_length = 1024, min_length = 1)]
    pub reason: String,
    pub status: Status,
    #[schema(max_length = 316)]
    pub r#type: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct ShipStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(as = "Vec<Condition>", list_map_keys("type"))]
    pub conditions: Option<Vec<k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masts: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<Rig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
}
