//! Compiles `JSONSchemaProps` into [`Structural`]. The document was decoded by its type, so its fields have the right
//! types.

use std::fmt;

use kubewright_cel::Rule;
use serde_json::{Map, Value};

use super::{
    formats::Format,
    model::{Additional, Checks, Kind, ListType, Structural},
    pattern::Pattern,
};
use kubewright_machinery::limits::DOCUMENT_DEPTH;

/// A schema that cannot be compiled. `Display` is the real server's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError(String);

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CompileError {}

/// Fields that a structural schema cannot have, and their names in messages of the real server.
const UNSUPPORTED: [(&str, &str); 7] = [
    ("id", "id"),
    ("$schema", "schema"),
    ("$ref", "$ref"),
    ("patternProperties", "patternProperties"),
    ("dependencies", "dependencies"),
    ("additionalItems", "additionalItems"),
    ("definitions", "definitions"),
];

impl Structural {
    /// Compiles a `JSONSchemaProps` document.
    ///
    /// # Errors
    ///
    /// Returns an error for a schema that is not structural.
    pub fn compile(schema: &Value) -> Result<Structural, CompileError> {
        compile(schema, 0)
    }
}

fn compile(schema: &Value, depth: usize) -> Result<Structural, CompileError> {
    if depth > DOCUMENT_DEPTH {
        return Err(CompileError("the schema nests too deep".into()));
    }
    let empty = Map::new();
    let props = schema.as_object().unwrap_or(&empty);
    let set = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    };
    for (key, name) in UNSUPPORTED {
        if props.get(key).is_some_and(set) {
            return Err(CompileError(format!(
                "OpenAPIV3Schema '{name}' is not supported"
            )));
        }
    }
    if props.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        return Err(CompileError(
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
                .into(),
        ));
    }
    let text = |key: &str| props.get(key).and_then(Value::as_str).unwrap_or_default();
    let flag = |key: &str| props.get(key).and_then(Value::as_bool).unwrap_or_default();
    let kind = Kind::parse(text("type")).unwrap_or_default();
    let items = match props.get("items") {
        None | Some(Value::Null) => None,
        Some(Value::Array(_)) => {
            return Err(CompileError(
                "OpenAPIV3Schema 'items' must be a schema, but is an array".into(),
            ));
        }
        Some(items) => Some(Box::new(compile(items, depth + 1)?)),
    };
    let additional = match props.get("additionalProperties") {
        None | Some(Value::Null) => Additional::Unset,
        Some(Value::Bool(true)) => Additional::Any,
        Some(Value::Bool(false)) => Additional::None,
        Some(schema) => Additional::Schema(Box::new(compile(schema, depth + 1)?)),
    };
    let mut properties: Vec<(Box<str>, Structural)> = Vec::new();
    for (name, schema) in props
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        properties.push((name.as_str().into(), compile(schema, depth + 1)?));
    }
    properties.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    let list = match text("x-kubernetes-list-type") {
        "" => ListType::Unset,
        "set" => ListType::Set,
        "map" => ListType::Map(strings(props.get("x-kubernetes-list-map-keys"))),
        _ => ListType::Atomic,
    };
    let int_or_string = flag("x-kubernetes-int-or-string");
    let checks = checks(props, kind, int_or_string, depth)?;
    let mut node = Structural {
        kind,
        nullable: flag("nullable"),
        int_or_string,
        any_scalar: kind == Kind::String && !matches!(text("format"), "" | "byte"),
        preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
        embedded: flag("x-kubernetes-embedded-resource"),
        atomic: text("x-kubernetes-map-type") == "atomic",
        list,
        default: props
            .get("default")
            .filter(|v| !v.is_null())
            .cloned()
            .map(Box::new),
        properties: properties.into(),
        additional,
        items,
        checks,
        rules: rules(props.get("x-kubernetes-validations")),
        ..Structural::default()
    };
    summarize(&mut node);
    Ok(node)
}

/// Records facts about everything below, so that most walks can stop early.
fn summarize(node: &mut Structural) {
    let (mut rules, mut defaults, mut unique, mut embedded) = (false, false, false, false);
    let below = node.properties.iter().map(|(_, schema)| schema);
    let below = below
        .chain(node.items.as_deref())
        .chain(node.additional_schema());
    for child in below {
        rules |= child.has_rules;
        defaults |= child.has_defaults || child.default.is_some();
        unique |= child.has_unique_lists;
        embedded |= child.has_embedded;
    }
    node.has_rules = rules || !node.rules.is_empty();
    node.has_defaults = defaults;
    node.has_unique_lists = unique || matches!(node.list, ListType::Set | ListType::Map(_));
    node.has_embedded = embedded || node.embedded;
}

fn checks(
    props: &Map<String, Value>,
    kind: Kind,
    int_or_string: bool,
    depth: usize,
) -> Result<Option<Box<Checks>>, CompileError> {
    let number = |key: &str| props.get(key).and_then(Value::as_f64);
    let integer = |key: &str| props.get(key).and_then(Value::as_i64);
    let flag = |key: &str| props.get(key).and_then(Value::as_bool).unwrap_or_default();
    let text = |key: &str| props.get(key).and_then(Value::as_str).unwrap_or_default();
    let several = |key: &str| -> Result<Box<[Structural]>, CompileError> {
        let schemas = props
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        schemas.map(|schema| compile(schema, depth + 1)).collect()
    };
    let not = match props.get("not") {
        None | Some(Value::Null) => None,
        Some(schema) => Some(Box::new(compile(schema, depth + 1)?)),
    };
    let checks = Checks {
        format: Format::enforced(text("format"), if int_or_string { Kind::Any } else { kind }),
        minimum: number("minimum"),
        exclusive_minimum: flag("exclusiveMinimum"),
        maximum: number("maximum"),
        exclusive_maximum: flag("exclusiveMaximum"),
        multiple_of: number("multipleOf"),
        min_length: integer("minLength"),
        max_length: integer("maxLength"),
        pattern: Some(text("pattern"))
            .filter(|p| !p.is_empty())
            .map(Pattern::new),
        min_items: integer("minItems"),
        max_items: integer("maxItems"),
        unique_items: flag("uniqueItems"),
        min_properties: integer("minProperties"),
        max_properties: integer("maxProperties"),
        required: strings(props.get("required")),
        values: props
            .get("enum")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
            .into(),
        all_of: several("allOf")?,
        any_of: several("anyOf")?,
        one_of: several("oneOf")?,
        not,
    };
    Ok((!checks.is_trivial()).then(|| Box::new(checks)))
}

impl Checks {
    fn is_trivial(&self) -> bool {
        self.format.is_none()
            && self.minimum.is_none()
            && self.maximum.is_none()
            && self.multiple_of.is_none()
            && self.min_length.is_none()
            && self.max_length.is_none()
            && self.pattern.is_none()
            && self.min_items.is_none()
            && self.max_items.is_none()
            && !self.unique_items
            && self.min_properties.is_none()
            && self.max_properties.is_none()
            && self.required.is_empty()
            && self.values.is_empty()
            && self.all_of.is_empty()
            && self.any_of.is_empty()
            && self.one_of.is_empty()
            && self.not.is_none()
    }
}

fn strings(list: Option<&Value>) -> Box<[Box<str>]> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(Into::into).collect()
}

fn rules(list: Option<&Value>) -> Box<[Rule]> {
    let rules = list.and_then(Value::as_array).into_iter().flatten();
    rules.map(Rule::from_json).collect()
}
