//! The schema of the data: the part of a structural schema that CEL needs.
//!
//! A [`Schema`] is used twice: [`DeclType::of`](crate::DeclType::of) derives the type that rules are checked against,
//! and
//! values borrow it at run time to know that a string is a time or that a list is a set. Callers convert their own
//! schemas,
//! or read the JSON of an OpenAPI v3 schema with [`Schema::from_json`].
//!
//! Schemas of embedded resources always have `apiVersion`, `kind` and `metadata` with `name` and `generateName`;
//! [`Schema::with_object_meta`] adds them to the schema of a whole resource.

use kubewright_machinery::limits::DOCUMENT_DEPTH;
use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::decl::Extent;
use crate::rules::Rule;

/// The schema of a value.
///
/// ```
/// use kubewright_cel::{Schema, SchemaKind};
/// use serde_json::json;
///
/// let schema = Schema::from_json(&json!({"type": "array", "items": {"type": "string"}}));
/// assert_eq!(schema.kind, SchemaKind::Array);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// The `type`.
    pub kind: SchemaKind,
    /// The `format`, empty if there is none.
    pub format: String,
    /// `true` if the value may be null.
    pub nullable: bool,
    /// `x-kubernetes-int-or-string`
    pub int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`
    pub preserve_unknown_fields: bool,
    /// `x-kubernetes-embedded-resource`
    pub embedded_resource: bool,
    /// The properties of an object; empty if it has none.
    pub properties: BTreeMap<String, Schema>,
    /// The schema of all other properties of an object.
    pub additional_properties: Option<Box<Schema>>,
    /// The schema of the items of an array.
    pub items: Option<Box<Schema>>,
    /// `x-kubernetes-list-type`
    pub list_type: ListType,
    /// `x-kubernetes-list-map-keys`
    pub list_map_keys: Vec<String>,
    /// `maxItems`
    pub max_items: Option<i64>,
    /// `maxLength`
    pub max_length: Option<i64>,
    /// `maxProperties`
    pub max_properties: Option<i64>,
    /// `required`
    pub required: Vec<String>,
    /// The length in bytes of the longest string of `enum`; none if there is no `enum`.
    pub longest_enum: Option<i64>,
    /// `true` if there is a `default`.
    pub has_default: bool,
    /// `x-kubernetes-validations`
    pub validations: Vec<Rule>,
    /// `allOf`, which may hold further rules.
    pub all_of: Vec<Schema>,
}

/// The `type` of a schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SchemaKind {
    /// No type is given.
    #[default]
    Any,
    /// `object`
    Object,
    /// `array`
    Array,
    /// `string`
    String,
    /// `integer`
    Integer,
    /// `number`
    Number,
    /// `boolean`
    Boolean,
}

/// The way lists are compared and added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListType {
    /// Items are compared by position.
    #[default]
    Atomic,
    /// Lists are sets of scalars.
    Set,
    /// Lists are maps by the values of `list_map_keys`.
    Map,
}

impl Schema {
    /// Creates a schema with a `type` and nothing else.
    pub fn of_kind(kind: SchemaKind) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    /// Reads the JSON of an OpenAPI v3 schema. Levels deeper than [`DOCUMENT_DEPTH`] are left out.
    pub fn from_json(json: &Json) -> Self {
        Self::read(json, DOCUMENT_DEPTH)
    }

    /// Adds the properties that every resource has.
    #[must_use]
    pub fn with_object_meta(mut self) -> Self {
        let string = || Self::of_kind(SchemaKind::String);
        let has = |schema: &Self, name: &str, kind| {
            schema.properties.get(name).is_some_and(|p| p.kind == kind)
        };
        let complete = has(&self, "kind", SchemaKind::String)
            && has(&self, "apiVersion", SchemaKind::String)
            && has(&self, "metadata", SchemaKind::Object)
            && self.properties.get("metadata").is_some_and(|meta| {
                has(meta, "name", SchemaKind::String)
                    && has(meta, "generateName", SchemaKind::String)
            });
        if !complete {
            let mut meta = Self::of_kind(SchemaKind::Object);
            meta.properties.insert("name".into(), string());
            meta.properties.insert("generateName".into(), string());
            self.properties.insert("kind".into(), string());
            self.properties.insert("apiVersion".into(), string());
            self.properties.insert("metadata".into(), meta);
        }
        self
    }

    fn read(json: &Json, depth: usize) -> Self {
        let Some(depth) = depth.checked_sub(1) else {
            return Self::default();
        };
        let flag = |name: &str| json.get(name).and_then(Json::as_bool).unwrap_or(false);
        let text = |name: &str| json.get(name).and_then(Json::as_str).unwrap_or("");
        let number = |name: &str| json.get(name).and_then(Json::as_i64);
        let strings = |name: &str| -> Vec<String> {
            let items = json.get(name).and_then(Json::as_array);
            let items = items.into_iter().flatten();
            items
                .filter_map(|s| s.as_str().map(str::to_owned))
                .collect()
        };
        let list = |name: &str| {
            json.get(name)
                .and_then(Json::as_array)
                .into_iter()
                .flatten()
        };
        let properties = json.get("properties").and_then(Json::as_object);
        let schema = Self {
            kind: SchemaKind::from_name(text("type")),
            format: text("format").to_owned(),
            nullable: flag("nullable"),
            int_or_string: flag("x-kubernetes-int-or-string"),
            preserve_unknown_fields: flag("x-kubernetes-preserve-unknown-fields"),
            embedded_resource: flag("x-kubernetes-embedded-resource"),
            properties: properties
                .into_iter()
                .flatten()
                .map(|(name, schema)| (name.clone(), Self::read(schema, depth)))
                .collect(),
            additional_properties: json
                .get("additionalProperties")
                .filter(|schema| schema.is_object())
                .map(|schema| Box::new(Self::read(schema, depth))),
            items: json
                .get("items")
                .filter(|schema| schema.is_object())
                .map(|schema| Box::new(Self::read(schema, depth))),
            list_type: match text("x-kubernetes-list-type") {
                "set" => ListType::Set,
                "map" => ListType::Map,
                _ => ListType::Atomic,
            },
            list_map_keys: strings("x-kubernetes-list-map-keys"),
            max_items: number("maxItems"),
            max_length: number("maxLength"),
            max_properties: number("maxProperties"),
            required: strings("required"),
            longest_enum: json
                .get("enum")
                .and_then(Json::as_array)
                .filter(|values| !values.is_empty())
                .map(|values| {
                    let lengths = values.iter().filter_map(Json::as_str).map(str::len);
                    lengths.max().unwrap_or(0) as i64
                }),
            validations: list("x-kubernetes-validations")
                .map(Rule::from_json)
                .collect(),
            all_of: list("allOf")
                .map(|schema| Self::read(schema, depth))
                .collect(),
            has_default: json.get("default").is_some_and(|value| !value.is_null()),
        };
        if schema.embedded_resource {
            schema.with_object_meta()
        } else {
            schema
        }
    }

    /// Returns whether values of the schema are resources, embedded in others.
    pub(crate) fn extent(&self) -> Extent {
        match self.embedded_resource {
            true => Extent::Resource,
            false => Extent::Value,
        }
    }
}

impl SchemaKind {
    /// The kind called `name` in a schema's `type`.
    pub fn from_name(name: &str) -> Self {
        match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => Self::Any,
        }
    }

    /// The name in a schema's `type`, empty for [`SchemaKind::Any`].
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}
