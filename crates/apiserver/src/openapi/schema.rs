//! Schemas as documents write them.
//!
//! Fields have the order of kube-apiserver. Both versions of OpenAPI share the type; they differ in the form of references,
//! and v2 has no defaults and puts descriptions beside references.

use serde::{Serialize, Serializer};
use serde_json::{Value, value::RawValue};

/// The version of OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Swagger 2.0
    V2,
    /// OpenAPI 3.0
    V3,
}

/// A schema.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Schema<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) description: &'a str,
    #[serde(rename = "$ref", skip_serializing_if = "String::is_empty")]
    pub(super) reference: String,
    #[serde(rename = "type", skip_serializing_if = "str::is_empty")]
    pub(super) ty: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) default: Option<&'static RawValue>,
    #[serde(rename = "enum", skip_serializing_if = "<[_]>::is_empty")]
    pub(super) values: &'static [&'static str],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) required: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) items: Option<Box<Schema<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) all_of: Option<[Reference; 1]>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) one_of: &'static [Alternative],
    #[serde(skip_serializing_if = "Properties::is_empty")]
    pub(super) properties: Properties<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) additional_properties: Option<Box<Schema<'a>>>,
    #[serde(
        rename = "x-kubernetes-group-version-kind",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub(super) kinds: Vec<Kind<'a>>,
    #[serde(
        rename = "x-kubernetes-list-map-keys",
        skip_serializing_if = "<[_]>::is_empty"
    )]
    pub(super) list_map_keys: &'static [&'static str],
    #[serde(
        rename = "x-kubernetes-list-type",
        skip_serializing_if = "str::is_empty"
    )]
    pub(super) list_type: &'static str,
    #[serde(
        rename = "x-kubernetes-map-type",
        skip_serializing_if = "str::is_empty"
    )]
    pub(super) map_type: &'static str,
    #[serde(
        rename = "x-kubernetes-patch-merge-key",
        skip_serializing_if = "str::is_empty"
    )]
    pub(super) patch_merge_key: &'static str,
    #[serde(
        rename = "x-kubernetes-patch-strategy",
        skip_serializing_if = "str::is_empty"
    )]
    pub(super) patch_strategy: &'static str,
    #[serde(
        rename = "x-kubernetes-unions",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) unions: Option<&'static RawValue>,
}

/// A schema of the catalog, or the schema of a resource.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum AnySchema<'a> {
    Known(Box<Schema<'a>>),
    Custom(Value),
}

/// Schemas by field name.
#[derive(Default)]
pub(super) struct Properties<'a>(Vec<(&'static str, Schema<'a>)>);

/// A reference.
#[derive(Serialize)]
pub(super) struct Reference {
    #[serde(rename = "$ref")]
    pub(super) reference: String,
}

/// One of several types.
#[derive(Serialize)]
pub(super) struct Alternative {
    #[serde(rename = "type")]
    pub(super) ty: &'static str,
}

/// A kind, with its keys sorted.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Kind<'a> {
    pub(super) group: &'a str,
    pub(super) kind: &'a str,
    pub(super) version: &'a str,
}

impl Dialect {
    /// Returns a reference to a definition.
    pub(super) fn reference(self, name: &str) -> String {
        match self {
            Self::V2 => format!("#/definitions/{name}"),
            Self::V3 => format!("#/components/schemas/{name}"),
        }
    }
}

impl<'a> Properties<'a> {
    /// Serialized by name.
    pub(super) fn sorted(mut all: Vec<(&'static str, Schema<'a>)>) -> Self {
        all.sort_by_key(|(name, _)| *name);
        Self(all)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, schema)| (name, schema)))
    }
}

impl Schema<'_> {
    /// Wraps a reference that has siblings: in v3 a reference must not have any.
    pub(super) fn around_reference(mut self, dialect: Dialect) -> Self {
        let alone = self.description.is_empty()
            && self.default.is_none()
            && self.map_type.is_empty()
            && self.patch_strategy.is_empty();
        if dialect == Dialect::V3 && !self.reference.is_empty() && !alone {
            self.all_of = Some([Reference {
                reference: std::mem::take(&mut self.reference),
            }]);
        }
        self
    }
}
