//! The facts as the Go program prints them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// Everything.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Facts {
    pub(crate) release: String,
    pub(crate) groups: Vec<Group>,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) types: Vec<Struct>,
    pub(crate) forms: Vec<Form>,
    pub(crate) time_zones: Vec<String>,
    pub(crate) policy: Policy,
    pub(crate) go_types: Vec<GoType>,
    pub(crate) option_versions: Vec<GroupVersion>,
    /// By OpenAPI name, then by JSON name; the empty name is the type itself.
    pub(crate) descriptions: BTreeMap<String, BTreeMap<String, String>>,
}

/// The RBAC policy of a new cluster.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Policy {
    pub(crate) cluster_roles: Vec<Value>,
    pub(crate) cluster_role_bindings: Vec<Value>,
    pub(crate) roles: Vec<Value>,
    pub(crate) role_bindings: Vec<Value>,
}

/// A type as Go names it.
#[derive(Deserialize)]
pub(crate) struct GoType {
    pub(crate) name: String,
    /// The type that it is declared as; empty for a struct.
    #[serde(default)]
    pub(crate) underlying: String,
    #[serde(default)]
    pub(crate) fields: Vec<GoField>,
}

/// A field of a struct, in declaration order. The JSON name of an embedded struct is empty.
#[derive(Deserialize)]
pub(crate) struct GoField {
    pub(crate) name: String,
    pub(crate) json: String,
    pub(crate) r#type: String,
}

/// A group and a version of it.
#[derive(Deserialize)]
pub(crate) struct GroupVersion {
    pub(crate) group: String,
    pub(crate) version: String,
}

/// The type of a kind.
#[derive(Deserialize)]
pub(crate) struct Kind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) r#type: String,
}

/// An API group, in the order of `/apis`.
#[derive(Deserialize)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) versions: Vec<Version>,
}

/// A version of a group, preferred first.
#[derive(Deserialize)]
pub(crate) struct Version {
    pub(crate) version: String,
    pub(crate) resources: Vec<Resource>,
}

/// A row of discovery. The name of a subresource holds a slash.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Resource {
    pub(crate) name: String,
    pub(crate) singular_name: String,
    pub(crate) kind: String,
    pub(crate) namespaced: bool,
    pub(crate) verbs: Vec<String>,
    #[serde(default)]
    pub(crate) short_names: Vec<String>,
    #[serde(default)]
    pub(crate) categories: Vec<String>,
    #[serde(default)]
    pub(crate) storage_version_hash: String,
    pub(crate) group: Option<String>,
    pub(crate) version: Option<String>,
    /// The OpenAPI name of the type; empty where unknown.
    pub(crate) r#type: String,
}

/// A struct type.
#[derive(Deserialize)]
pub(crate) struct Struct {
    pub(crate) module: String,
    pub(crate) name: String,
    pub(crate) openapi: String,
    pub(crate) atomic: bool,
    /// As JSON.
    #[serde(default)]
    pub(crate) unions: String,
    pub(crate) fields: Vec<Field>,
}

/// A field of a struct.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Field {
    pub(crate) json: String,
    pub(crate) r#type: Type,
    pub(crate) omit: String,
    pub(crate) proto: u16,
    #[serde(default)]
    pub(crate) embedded: Vec<u16>,
    #[serde(default)]
    pub(crate) list_type: String,
    #[serde(default)]
    pub(crate) list_keys: Vec<String>,
    #[serde(default)]
    pub(crate) map_type: String,
    #[serde(default)]
    pub(crate) patch: String,
    #[serde(default)]
    pub(crate) patch_key: String,
    pub(crate) default: Option<Value>,
    #[serde(default)]
    pub(crate) required: bool,
    #[serde(default)]
    pub(crate) values: Vec<String>,
}

/// An unversioned struct.
#[derive(Deserialize)]
pub(crate) struct Form {
    pub(crate) name: String,
    pub(crate) fields: Vec<FormField>,
}

/// A field of an unversioned struct.
#[derive(Deserialize)]
pub(crate) struct FormField {
    /// The Go name; empty for embedded metadata.
    pub(crate) name: String,
    /// The JSON name in the versioned form.
    pub(crate) json: String,
    pub(crate) form: Type,
}

/// The type of a value: a variant of the catalog's `Type`, or of the built-ins' `Form`.
#[derive(Deserialize)]
pub(crate) struct Type {
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) name: String,
    pub(crate) of: Option<Box<Type>>,
}
