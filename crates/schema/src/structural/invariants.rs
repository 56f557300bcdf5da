//! Validates that a schema is structural: every field has a type, and conditions only restrict fields that are
//! specified outside of them.

use kubewright_cel::regex::weight;
use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::{Value, json};

use super::{complete, pattern::Pattern};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// The maximum weight of all patterns of a schema together, see [`weight`]. Compiling them takes less than a second.
const MAX_PATTERNS_WEIGHT: usize = 4_000_000;

/// Returns the reasons why a `JSONSchemaProps` document is not structural, in the order of the real server.
///
/// A schema whose patterns are too large together is rejected before any of them is compiled.
///
/// ```
/// use kubewright_machinery::field::Path;
/// use kubewright_schema::structural::check_structural;
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"spec": {"description": "no type"}}});
/// let errors = check_structural(&schema, &Path::new("schema"));
/// assert_eq!(errors[0].field, "schema.properties[spec].type");
/// ```
pub fn check_structural(schema: &Value, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    if patterns_weight(schema) > MAX_PATTERNS_WEIGHT {
        let message = "must not have regular expressions that are too large together";
        errors.push(field::forbidden(path, message));
        return errors;
    }
    invariants(schema, Level::Root, path, &mut errors);
    complete::check(schema, path, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

/// The weight of all patterns in a schema.
fn patterns_weight(schema: &Value) -> usize {
    match schema {
        Value::Object(fields) => fields.iter().fold(0, |sum, (key, field)| {
            let own = match field {
                Value::String(pattern) if key == "pattern" => weight(pattern),
                other => patterns_weight(other),
            };
            sum.saturating_add(own)
        }),
        Value::Array(items) => items.iter().fold(0, |sum, item| {
            usize::saturating_add(sum, patterns_weight(item))
        }),
        _ => 0,
    }
}

/// The fields of an object by name.
pub(super) fn entries(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(k, v)| (k.as_str(), v))
}

/// A schema, where there is one.
pub(super) fn schema_at<'a>(schema: &'a Value, key: &str) -> Option<&'a Value> {
    schema.get(key).filter(|v| v.is_object())
}

/// The schemas of a list.
pub(super) fn schemas<'a>(schema: &'a Value, key: &str) -> &'a [Value] {
    schema[key]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn text<'a>(schema: &'a Value, key: &str) -> &'a str {
    schema[key].as_str().unwrap_or_default()
}

fn flag(schema: &Value, key: &str) -> bool {
    schema[key].as_bool().unwrap_or_default()
}

/// As good as absent.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::String(s) => s.is_empty(),
        Value::Array(a) => a.is_empty(),
        Value::Object(o) => o.is_empty(),
        Value::Number(_) => false,
    }
}

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

fn invariants(s: &Value, level: Level, path: &Path, errors: &mut ErrorList) {
    let ty = text(s, "type");
    let items = schema_at(s, "items");
    if ty == "array" && items.is_none() {
        errors.push(field::required(&path.child("items"), "must be specified"));
    }
    if let Some(items) = items {
        invariants(items, Level::Item, &path.child("items"), errors);
    }
    for (name, property) in entries(&s["properties"]) {
        invariants(
            property,
            Level::Field,
            &path.child("properties").key(name),
            errors,
        );
    }
    let additional = &s["additionalProperties"];
    if !additional.is_null() {
        let path = path.child("additionalProperties");
        if level == Level::Root {
            errors.push(field::forbidden(&path, "must not be used at the root"));
        }
        if additional.is_object() {
            invariants(additional, Level::Field, &path, errors);
        }
    }
    check_extensions(s, path, errors);
    conditions(
        s,
        is_int_or_string(schemas(s, "anyOf")),
        first_all_of_is_int_or_string(s),
        path,
        errors,
    );
    check_type(s, ty, level, path, errors);
    check_metadata(s, level, path, errors);
    if flag(s, EMBEDDED) && !flag(s, PRESERVE) && is_zero(&s["properties"]) {
        let message = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(field::required(&path.child("properties"), message));
    }
}

fn check_extensions(s: &Value, path: &Path, errors: &mut ErrorList) {
    if !flag(s, INT_OR_STRING) {
        return;
    }
    for key in [PRESERVE, EMBEDDED] {
        if flag(s, key) {
            let message = "must be false if x-kubernetes-int-or-string is true";
            errors.push(field::invalid(&path.child(key), &json!(true), message));
        }
    }
}

fn check_type(s: &Value, ty: &str, level: Level, path: &Path, errors: &mut ErrorList) {
    let at = path.child("type");
    let embedded = flag(s, EMBEDDED);
    if embedded && ty != "object" {
        let message = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(if ty.is_empty() {
            field::required(&at, message)
        } else {
            field::invalid_str(&at, ty, message)
        });
    } else if ty.is_empty() && !flag(s, INT_OR_STRING) && !flag(s, PRESERVE) {
        let message = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(field::required(&at, message));
    }
    if embedded && !s["additionalProperties"].is_null() {
        let message = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(field::forbidden(
            &path.child("additionalProperties"),
            message,
        ));
    }
    if level == Level::Root && !ty.is_empty() && ty != "object" {
        errors.push(field::invalid_str(&at, ty, "must be object at the root"));
    }
}

/// Checks that a schema restricts nothing of type and metadata but names.
fn check_metadata(s: &Value, level: Level, path: &Path, errors: &mut ErrorList) {
    let is_object = level == Level::Root || flag(s, EMBEDDED);
    let properties = path.child("properties");
    for name in ["kind", "apiVersion"] {
        if let Some(property) = s["properties"].get(name).filter(|_| is_object)
            && text(property, "type") != "string"
        {
            let at = properties.key(name).child("type");
            errors.push(field::invalid_str(
                &at,
                text(property, "type"),
                "must be string",
            ));
        }
    }
    let Some(metadata) = s["properties"].get("metadata") else {
        return;
    };
    let path = properties.key("metadata");
    if is_object && text(metadata, "type") != "object" {
        let at = path.child("type");
        errors.push(field::invalid_str(
            &at,
            text(metadata, "type"),
            "must be object",
        ));
    }
    if level != Level::Root {
        return;
    }
    let restricts_more = entries(metadata).any(|(key, value)| match key {
        "type" | "default" => false,
        "properties" => entries(value).any(|(name, _)| !matches!(name, "name" | "generateName")),
        _ => !is_zero(value),
    });
    if restricts_more {
        let message = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(field::forbidden(&path, message));
    }
}

/// `anyOf` an integer or a string, the one place where a type may be in a condition.
fn is_int_or_string(any_of: &[Value]) -> bool {
    let of_type = |schema: &Value, ty: &str| {
        entries(schema).all(|(key, value)| key == "type" || is_zero(value))
            && text(schema, "type") == ty
    };
    matches!(any_of, [a, b] if of_type(a, "integer") && of_type(b, "string"))
}

fn first_all_of_is_int_or_string(s: &Value) -> bool {
    schemas(s, "allOf")
        .first()
        .is_some_and(|first| is_int_or_string(schemas(first, "anyOf")))
}

fn conditions(
    s: &Value,
    skip_any_of: bool,
    skip_in_all_of: bool,
    path: &Path,
    errors: &mut ErrorList,
) {
    for (i, schema) in schemas(s, "anyOf")
        .iter()
        .enumerate()
        .filter(|_| !skip_any_of)
    {
        nested(schema, false, &path.child("anyOf").index(i), errors);
    }
    for (i, schema) in schemas(s, "allOf").iter().enumerate() {
        nested(
            schema,
            skip_in_all_of && i == 0,
            &path.child("allOf").index(i),
            errors,
        );
    }
    for (i, schema) in schemas(s, "oneOf").iter().enumerate() {
        nested(schema, false, &path.child("oneOf").index(i), errors);
    }
    if let Some(not) = schema_at(s, "not") {
        nested(not, false, &path.child("not"), errors);
    }
    let pattern = text(s, "pattern");
    if !pattern.is_empty()
        && let Err(e) = Pattern::check(pattern)
    {
        let message = format!("must be a valid regular expression, but isn't: {e}");
        errors.push(field::invalid_str(&path.child("pattern"), pattern, message));
    }
}

/// A schema inside a condition restricts values and nothing else.
fn nested(s: &Value, skip_any_of: bool, path: &Path, errors: &mut ErrorList) {
    conditions(s, skip_any_of, false, path, errors);
    if let Some(items) = schema_at(s, "items") {
        nested(items, false, &path.child("items"), errors);
    }
    for (name, property) in entries(&s["properties"]) {
        nested(property, false, &path.child("properties").key(name), errors);
    }
    let mut forbid = |key: &str, message: &str| {
        errors.push(field::forbidden(&path.child(key), message));
    };
    if !text(s, "type").is_empty() {
        forbid("type", "must be empty to be structural");
    }
    if s["additionalProperties"].is_object() || flag(s, "additionalProperties") {
        forbid("additionalProperties", "must be undefined to be structural");
    }
    if !s["default"].is_null() {
        forbid("default", "must be undefined to be structural");
    }
    for key in ["title", "description"] {
        if !text(s, key).is_empty() {
            forbid(key, "must be empty to be structural");
        }
    }
    for key in ["nullable", PRESERVE, EMBEDDED, INT_OR_STRING] {
        if flag(s, key) {
            forbid(key, "must be false to be structural");
        }
    }
    if !is_zero(&s["x-kubernetes-list-map-keys"]) {
        forbid(
            "x-kubernetes-list-map-keys",
            "must be empty to be structural",
        );
    }
    for key in ["x-kubernetes-list-type", "x-kubernetes-map-type"] {
        if !s[key].is_null() {
            forbid(key, "must be undefined to be structural");
        }
    }
    if !is_zero(&s["x-kubernetes-validations"]) {
        forbid("x-kubernetes-validations", "must be empty to be structural");
    }
    if s["properties"].get("metadata").is_some() {
        let at = path.child("properties").key("metadata");
        errors.push(field::forbidden(
            &at,
            "must not be specified in a nested context",
        ));
    }
}
