//! The schemas of custom resources: that of the resource, with the fields that every object has.
//!
//! A resource has an OpenAPI v3 schema ([`ResourceSpec::openapi`](crate::registry::ResourceSpec::openapi)). Its `apiVersion`,
//! `kind` and `metadata` are replaced by the schemas of every object. OpenAPI v2 expresses less: values that may be null or
//! have unknown fields have no type there, and there are no alternatives.

use kubewright_machinery::limits::DOCUMENT_DEPTH;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Descriptions, model::Definition, schema::Dialect};
use crate::registry::Resource;

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
/// The type whose descriptions of `apiVersion`, `kind` and `metadata` all kinds share.
const ANY_OBJECT: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata";
const ANY_LIST: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadataList";

/// The fields of an embedded object, and their descriptions.
const EMBEDDED: [(&str, &str); 2] = [
    (
        "apiVersion",
        "apiVersion defines the versioned schema of this representation of an object. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
    ),
    (
        "kind",
        "kind is a string value representing the type of this object. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
    ),
];

/// Returns the schema of the kind.
pub(super) fn object(
    resource: &Resource,
    dialect: Dialect,
    descriptions: &dyn Descriptions,
) -> Value {
    let own = resource.spec.openapi.as_deref().map(serde_json::from_str);
    let mut schema = match own {
        Some(Ok(Value::Object(own))) => own,
        _ => declared_nothing(),
    };
    let open = schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
    match dialect {
        // Clients would reject unknown fields, so the schema has none at all.
        Dialect::V2 if open => schema.clear(),
        Dialect::V2 => schema = in_v2(schema, 0),
        Dialect::V3 => tell_int_or_string(&mut schema, 0),
    }
    schema.insert("type".into(), "object".into());
    if !(open && dialect == Dialect::V2) {
        tell_embedded(&mut schema, dialect, descriptions, 0);
        let properties = schema
            .entry("properties")
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(properties) = properties {
            type_fields(properties, ANY_OBJECT, OBJECT_META, dialect, descriptions);
        }
    }
    mark(&mut schema, resource, &resource.spec.kind.kind);
    Value::Object(schema)
}

/// Returns the schema of a list.
pub(super) fn list(
    resource: &Arc<Resource>,
    dialect: Dialect,
    descriptions: &dyn Descriptions,
) -> Value {
    let item = Definition::Custom(resource.clone());
    let mut properties = Map::new();
    properties.insert(
        "items".into(),
        json!({
            "description": format!(
                "List of {}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
                resource.spec.plural
            ),
            "type": "array",
            "items": {"$ref": dialect.reference(&item.name())},
        }),
    );
    type_fields(&mut properties, ANY_LIST, LIST_META, dialect, descriptions);
    let name = &resource.spec.kind.kind;
    let of_list = list_kind(resource);
    let mut schema = Map::new();
    schema.insert(
        "description".into(),
        format!("{of_list} is a list of {name}").into(),
    );
    schema.insert("type".into(), "object".into());
    schema.insert("required".into(), json!(["items"]));
    schema.insert("properties".into(), properties.into());
    mark(&mut schema, resource, &of_list);
    Value::Object(schema)
}

/// Returns the kind of a list.
pub(super) fn list_kind(resource: &Resource) -> String {
    match &resource.custom {
        Some(custom) => custom.list_kind().to_owned(),
        None => format!("{}List", resource.spec.kind.kind),
    }
}

/// Returns the definitions that the schema of a kind refers to.
pub(super) fn mentioned() -> Option<Definition> {
    metadata(OBJECT_META)
}

/// Returns the definitions that the schema of a list refers to, except its items.
pub(super) fn mentioned_by_list() -> Option<Definition> {
    metadata(LIST_META)
}

fn metadata(name: &str) -> Option<Definition> {
    kubewright_catalog::struct_type(name).map(Definition::Struct)
}

/// Returns the schema of a kind without one.
fn declared_nothing() -> Map<String, Value> {
    Map::from_iter([(
        "x-kubernetes-preserve-unknown-fields".to_owned(),
        Value::Bool(true),
    )])
}

/// Adds the kind and the selectable fields.
fn mark(schema: &mut Map<String, Value>, resource: &Resource, name: &str) {
    let kind = &resource.spec.kind;
    schema.insert(
        "x-kubernetes-group-version-kind".into(),
        json!([{"group": kind.group, "kind": name, "version": kind.version}]),
    );
    let labels = resource.spec.selectable.labels();
    let fields: Vec<Value> = labels.map(|label| json!({"fieldPath": label})).collect();
    if resource.custom.is_some() && !fields.is_empty() {
        schema.insert("x-kubernetes-selectable-fields".into(), fields.into());
    }
}

fn type_fields(
    properties: &mut Map<String, Value>,
    described_by: &str,
    metadata: &str,
    dialect: Dialect,
    descriptions: &dyn Descriptions,
) {
    let describe = |field| descriptions.describe(described_by, field);
    for name in ["apiVersion", "kind"] {
        let mut schema = json!({"type": "string"});
        if let Some(text) = describe(name) {
            schema["description"] = text.into();
        }
        properties.insert(name.into(), schema);
    }
    let reference = dialect.reference(metadata);
    let mut schema = match (dialect, describe("metadata")) {
        (Dialect::V3, Some(_)) => json!({"allOf": [{"$ref": reference}]}),
        _ => json!({"$ref": reference}),
    };
    if let Some(text) = describe("metadata") {
        schema["description"] = text.into();
    }
    properties.insert("metadata".into(), schema);
}

/// Adds the alternatives of an int-or-string if the schema has only the extension.
fn tell_int_or_string(schema: &mut Map<String, Value>, depth: usize) {
    if depth > DOCUMENT_DEPTH {
        return;
    }
    let marked = schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true));
    if marked && !schema.contains_key("anyOf") && !schema.contains_key("allOf") {
        let either = json!([{"type": "integer"}, {"type": "string"}]);
        schema.insert("anyOf".into(), either);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(Value::Object(inner)) = schema.get_mut(key) {
            tell_int_or_string(inner, depth + 1);
        }
    }
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(|all| all.values_mut()) {
        if let Value::Object(inner) = property {
            tell_int_or_string(inner, depth + 1);
        }
    }
}

/// Adds the fields of every object to an embedded object.
fn tell_embedded(
    schema: &mut Map<String, Value>,
    dialect: Dialect,
    descriptions: &dyn Descriptions,
    depth: usize,
) {
    if depth > DOCUMENT_DEPTH {
        return;
    }
    for key in ["items", "additionalProperties"] {
        if let Some(Value::Object(inner)) = schema.get_mut(key) {
            tell_embedded(inner, dialect, descriptions, depth + 1);
        }
    }
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(|all| all.values_mut()) {
        if let Value::Object(inner) = property {
            tell_embedded(inner, dialect, descriptions, depth + 1);
        }
    }
    let is = |key: &str| schema.get(key) == Some(&Value::Bool(true));
    let open = is("x-kubernetes-preserve-unknown-fields") && dialect == Dialect::V2;
    if open || !is("x-kubernetes-embedded-resource") {
        return;
    }
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        type_fields(properties, ANY_OBJECT, OBJECT_META, dialect, descriptions);
        for (name, text) in EMBEDDED {
            properties.insert(name.into(), json!({"type": "string", "description": text}));
        }
    }
    let required = schema.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(required) = required {
        for name in ["kind", "apiVersion"] {
            if !required.iter().any(|r| r == name) {
                required.push(name.into());
            }
        }
    }
}

/// Removes what OpenAPI v2 cannot express.
fn in_v2(mut schema: Map<String, Value>, depth: usize) -> Map<String, Value> {
    let is = |key: &str| schema.get(key) == Some(&Value::Bool(true));
    let nullable = is("nullable");
    let open = is("x-kubernetes-preserve-unknown-fields");
    let int_or_string = is("x-kubernetes-int-or-string");
    for key in ["allOf", "anyOf", "oneOf", "not", "nullable", "default"] {
        schema.remove(key);
    }
    if nullable || open || int_or_string || depth > DOCUMENT_DEPTH {
        for key in ["type", "items", "properties", "additionalProperties"] {
            schema.remove(key);
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(Value::Object(inner)) = schema.get_mut(key) {
            *inner = in_v2(std::mem::take(inner), depth + 1);
        }
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut() {
            if let Value::Object(inner) = property {
                *inner = in_v2(std::mem::take(inner), depth + 1);
            }
        }
    }
    schema
}
