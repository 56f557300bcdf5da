//! `Ship` of fleet.example.com/v1, made by `kubewright import crd`.

#![allow(missing_docs, rustdoc::all, clippy::doc_lazy_continuation, clippy::doc_markdown, clippy::duplicated_attributes, clippy::doc_overindented_list_items, clippy::enum_variant_names, clippy::struct_excessive_bools, clippy::tabs_in_doc_comments)]

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Grain {}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    pub casks: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1, "oneOf" = [{"required": ["grain"]}, {"required": ["wine"]}], "x-kubernetes-map-type" = "atomic"))]
pub struct Cargo {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Grain")]
    pub grain: Option<Grain>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Wine")]
    pub wine: Option<Wine>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Log {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub keeper: Option<String>,
    /// Fields that the schema does not name.
    #[serde(flatten)]
    pub rest: std::collections::BTreeMap<String, serde_json::Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Owner {
    #[serde(rename = "countryISO", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("maxLength" = 2, "minLength" = 2))]
    pub country_iso: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub town: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Watch {
    #[serde(rename = "port")]
    Port,
    #[serde(rename = "starboard")]
    Starboard,
}

/// One of the crew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sailor {
    /// Where a sailor comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Owner")]
    pub home: Option<Owner>,
    pub name: String,
    #[schemars(extend("default" = "port"))]
    pub watch: Watch,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpecString {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub a: Option<String>,
}

/// What is wanted.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
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
    validation = ::kube::core::Rule::new("self.metadata.name != 'titanic'").message("not \"that\" one").reason(::kube::core::Reason::FieldValueForbidden).field_path(".metadata.name"),
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{"messageExpression": "'masts: ' + string(self.masts)", "rule": "self.masts <= 7 || has(self.cargo)"}, {"fieldPath": ".port", "optionalOldSelf": true, "reason": "FieldValueInvalid", "rule": "!oldSelf.hasValue() || self.port == oldSelf.value().port"}]))]
pub struct ShipSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool", extend("default" = true))]
    pub afloat: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "serde_json::Value", extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub anything: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub built: Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>,
    #[serde(rename = "ca.crt", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub ca_crt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Cargo")]
    pub cargo: Option<Cargo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64", extend("maximum" = 9000000000i64))]
    pub displacement: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", extend("format" = null, "minimum" = 0.5))]
    pub draught: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("nullable" = true))]
    pub ensign: Option<String>,
    /// Must be there, and may be null.
    #[schemars(with = "String", extend("nullable" = true))]
    pub flag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Vec<i64>>", extend("x-kubernetes-list-type" = "atomic"))]
    pub grid: Option<Vec<Vec<i64>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "std::collections::BTreeMap<String, String>", extend("additionalProperties" = {"maxLength": 63, "type": "string"}, "x-kubernetes-map-type" = "atomic"))]
    pub labels: Option<std::collections::BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32", extend("enum" = [1, 2, 3]))]
    pub level: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>", extend("additionalProperties" = {"x-kubernetes-int-or-string": true}, "maxProperties" = 8))]
    pub limits: Option<std::collections::BTreeMap<String, k8s_openapi::apimachinery::pkg::util::intstr::IntOrString>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "serde_json::Value", extend("nullable" = null, "x-kubernetes-int-or-string" = true))]
    pub load: Option<k8s_openapi::apimachinery::pkg::util::intstr::IntOrString>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Log")]
    pub log: Option<Log>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32", extend("default" = 3, "maximum" = 9, "minimum" = 1))]
    pub masts: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "serde_json::Value", extend("nullable" = null, "pattern" = "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$", "x-kubernetes-int-or-string" = true))]
    pub memory: Option<k8s_openapi::apimachinery::pkg::api::resource::Quantity>,
    /// # Not a title
    ///  indented 
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("description" = "# Not a title\r\n indented ", "title" = null))]
    pub odd: Option<String>,
    /// Where the owner lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Owner")]
    pub owner: Option<Owner>,
    #[serde(rename = "podCIDRs", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub pod_cidrs: Option<Vec<String>>,
    /// Where it is at home.
    ///
    /// Several lines, "quotes" and a \ backslash.
    #[schemars(extend("maxLength" = 63, "minLength" = 1, "pattern" = "^[a-z]([-a-z0-9]*[a-z0-9])?$"))]
    pub port: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>", extend("items" = {"minLength": 1, "type": "string"}, "minItems" = 1, "x-kubernetes-list-type" = "set"))]
    pub ports: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "serde_json::Value", extend("type" = "object", "x-kubernetes-preserve-unknown-fields" = true))]
    pub raw: Option<serde_json::Value>,
    pub rig: Rig,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Sailor>", extend("maxItems" = 100, "x-kubernetes-list-map-keys" = ["name", "watch"], "x-kubernetes-list-type" = "map"))]
    pub sailors: Option<Vec<Sailor>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "byte"))]
    pub seal: Option<k8s_openapi::ByteString>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub self_: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub speed: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SpecString", extend("default" = {"a": "b"}))]
    pub string: Option<SpecString>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "serde_json::Value", extend("type" = "object", "x-kubernetes-embedded-resource" = true, "x-kubernetes-preserve-unknown-fields" = true))]
    pub template: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64", extend("exclusiveMinimum" = true, "format" = null, "minimum" = 0, "multipleOf" = 5))]
    pub tonnage: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub r#type: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Status {
    True,
    False,
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub last_transition_time: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time,
    #[schemars(extend("maxLength" = 32768))]
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64", extend("minimum" = 0))]
    pub observed_generation: Option<i64>,
    #[schemars(extend("maxLength" = 1024, "minLength" = 1))]
    pub reason: String,
    pub status: Status,
    #[schemars(extend("maxLength" = 316))]
    pub r#type: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShipStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Condition>", extend("x-kubernetes-list-map-keys" = ["type"], "x-kubernetes-list-type" = "map"))]
    pub conditions: Option<Vec<k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    pub masts: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Rig")]
    pub observed: Option<Rig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub selector: Option<String>,
}
