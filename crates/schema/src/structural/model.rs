//! The compiled schema: one node for every position in an object.

use kubewright_cel::{Extent, Rule};
use serde_json::Value;

use super::{formats::Format, pattern::Pattern};

/// The schema of one value.
///
/// ```
/// use kubewright_schema::structural::{Kind, Structural};
/// use serde_json::json;
///
/// let schema = Structural::compile(&json!({"type": "object", "properties": {
///     "size": {"type": "integer", "default": 1},
/// }}))?;
/// let size = schema.property("size").expect("it is listed");
/// assert_eq!(size.kind, Kind::Integer);
/// assert_eq!(size.default.as_deref(), Some(&json!(1)));
/// # Ok::<(), kubewright_schema::structural::CompileError>(())
/// ```
#[derive(Debug, Default)]
pub struct Structural {
    /// `type`
    pub kind: Kind,
    /// `nullable`
    pub nullable: bool,
    /// `x-kubernetes-int-or-string`
    pub int_or_string: bool,
    /// A string with a format that may not be one when it is applied: all formats but `byte`.
    pub any_scalar: bool,
    /// `x-kubernetes-preserve-unknown-fields`
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`
    pub embedded: bool,
    /// `x-kubernetes-map-type: atomic`
    pub atomic: bool,
    /// `x-kubernetes-list-type`
    pub list: ListType,
    /// `default`
    pub default: Option<Box<Value>>,
    /// `properties`, by name.
    pub properties: Box<[(Box<str>, Structural)]>,
    /// `additionalProperties`
    pub additional: Additional,
    /// `items`
    pub items: Option<Box<Structural>>,
    /// The checks of values beyond their type.
    pub checks: Option<Box<Checks>>,
    /// `x-kubernetes-validations`
    pub rules: Box<[Rule]>,
    /// There are rules here or further down.
    pub has_rules: bool,
    /// There are defaults further down.
    pub has_defaults: bool,
    /// There are lists here or further down whose items must differ.
    pub has_unique_lists: bool,
    /// There are embedded objects here or further down.
    pub has_embedded: bool,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
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

/// The relation between the items of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// No list type is given: the list is one value.
    #[default]
    Unset,
    /// The list is one value.
    Atomic,
    /// The items differ.
    Set,
    /// The items differ in these fields.
    Map(Box<[Box<str>]>),
}

/// The schema of fields that are not listed by name.
#[derive(Debug, Default)]
pub enum Additional {
    /// No schema is given.
    #[default]
    Unset,
    /// `true`
    Any,
    /// `false`
    None,
    /// They are of this schema.
    Schema(Box<Structural>),
}

/// The checks of values beyond their type.
#[derive(Debug, Default)]
pub struct Checks {
    /// `format`, where it is one that is enforced.
    pub format: Option<Format>,
    /// `minimum`
    pub minimum: Option<f64>,
    /// `exclusiveMinimum`
    pub exclusive_minimum: bool,
    /// `maximum`
    pub maximum: Option<f64>,
    /// `exclusiveMaximum`
    pub exclusive_maximum: bool,
    /// `multipleOf`
    pub multiple_of: Option<f64>,
    /// `minLength`
    pub min_length: Option<i64>,
    /// `maxLength`
    pub max_length: Option<i64>,
    /// `pattern`
    pub pattern: Option<Pattern>,
    /// `minItems`
    pub min_items: Option<i64>,
    /// `maxItems`
    pub max_items: Option<i64>,
    /// `uniqueItems`
    pub unique_items: bool,
    /// `minProperties`
    pub min_properties: Option<i64>,
    /// `maxProperties`
    pub max_properties: Option<i64>,
    /// `required`
    pub required: Box<[Box<str>]>,
    /// `enum`
    pub values: Box<[Value]>,
    /// `allOf`
    pub all_of: Box<[Structural]>,
    /// `anyOf`
    pub any_of: Box<[Structural]>,
    /// `oneOf`
    pub one_of: Box<[Structural]>,
    /// `not`
    pub not: Option<Box<Structural>>,
}

impl Structural {
    /// The schema of a field that is named in `properties`.
    pub fn property(&self, name: &str) -> Option<&Structural> {
        let found = self
            .properties
            .binary_search_by(|(key, _)| (**key).cmp(name));
        found.ok().map(|i| &self.properties[i].1)
    }

    /// The schema of a field, named or not.
    pub fn field(&self, name: &str) -> Option<&Structural> {
        self.property(name).or(match &self.additional {
            Additional::Schema(schema) => Some(schema),
            _ => None,
        })
    }

    /// Returns whether values of the schema are whole resources, embedded in others.
    pub fn extent(&self) -> Extent {
        match self.embedded {
            true => Extent::Resource,
            false => Extent::Value,
        }
    }

    /// Allows fields that are not listed by name.
    pub(super) fn has_additional(&self) -> bool {
        !matches!(self.additional, Additional::Unset)
    }

    /// The schema of fields without a name.
    pub(super) fn additional_schema(&self) -> Option<&Structural> {
        match &self.additional {
            Additional::Schema(schema) => Some(schema),
            _ => None,
        }
    }
}

impl Kind {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Any => "",
            Kind::Object => "object",
            Kind::Array => "array",
            Kind::String => "string",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Boolean => "boolean",
        }
    }

    /// Reads a schema.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "" => Kind::Any,
            "object" => Kind::Object,
            "array" => Kind::Array,
            "string" => Kind::String,
            "integer" => Kind::Integer,
            "number" => Kind::Number,
            "boolean" => Kind::Boolean,
            _ => return None,
        })
    }
}
