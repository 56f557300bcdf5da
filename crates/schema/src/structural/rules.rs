//! `x-kubernetes-validations`: a structural schema as CEL sees it. Rules are compiled and run by `kubewright-cel`.

use std::sync::Arc;

use kubewright_cel::{
    DeclType, Extent, ListType as CelList, Schema, SchemaKind, Validator, escape,
};
use serde_json::Value;

use super::model::{Kind, ListType, Structural};

/// Converts a schema for CEL.
pub fn declared_schema(schema: &Structural) -> Schema {
    let checks = schema.checks.as_deref();
    let (list_type, list_map_keys) = match &schema.list {
        ListType::Unset | ListType::Atomic => (CelList::Atomic, Vec::new()),
        ListType::Set => (CelList::Set, Vec::new()),
        ListType::Map(keys) => (
            CelList::Map,
            keys.iter().map(|key| key.to_string()).collect(),
        ),
    };
    let longest = |values: &[Value]| {
        let lengths = values.iter().filter_map(Value::as_str).map(str::len);
        i64::try_from(lengths.max().unwrap_or(0)).unwrap_or(i64::MAX)
    };
    let declared = Schema {
        kind: match schema.kind {
            Kind::Any => SchemaKind::Any,
            Kind::Object => SchemaKind::Object,
            Kind::Array => SchemaKind::Array,
            Kind::String => SchemaKind::String,
            Kind::Integer => SchemaKind::Integer,
            Kind::Number => SchemaKind::Number,
            Kind::Boolean => SchemaKind::Boolean,
        },
        format: checks
            .and_then(|c| c.format.as_ref())
            .map(|format| format.name().to_owned())
            .unwrap_or_default(),
        nullable: schema.nullable,
        int_or_string: schema.int_or_string,
        preserve_unknown_fields: schema.preserve_unknown,
        embedded_resource: schema.embedded,
        properties: schema
            .properties
            .iter()
            .map(|(name, property)| (name.to_string(), declared_schema(property)))
            .collect(),
        additional_properties: schema
            .additional_schema()
            .map(|additional| Box::new(declared_schema(additional))),
        items: schema
            .items
            .as_deref()
            .map(|items| Box::new(declared_schema(items))),
        list_type,
        list_map_keys,
        max_items: checks.and_then(|c| c.max_items),
        max_length: checks.and_then(|c| c.max_length),
        max_properties: checks.and_then(|c| c.max_properties),
        required: checks
            .into_iter()
            .flat_map(|c| &c.required)
            .map(|name| name.to_string())
            .collect(),
        longest_enum: checks
            .filter(|c| !c.values.is_empty())
            .map(|c| longest(&c.values)),
        has_default: schema.default.is_some(),
        validations: schema.rules.to_vec(),
        ..Schema::default()
    };
    if schema.embedded {
        declared.with_object_meta()
    } else {
        declared
    }
}

/// Compiles the rules of a schema. Returns `None` if it has none.
pub fn compile_rules(schema: &Structural, extent: Extent) -> Option<Validator> {
    let some = schema.has_rules;
    some.then(|| Validator::new(&declared_schema(schema), extent))
        .flatten()
}

/// The type of a property. A name that cannot be written in CEL has a type all the same.
pub fn property_type(
    name: &str,
    property: &Structural,
    parent: Option<&Arc<DeclType>>,
) -> Option<Arc<DeclType>> {
    match escape(name) {
        Some(ident) => parent?.field(&ident).cloned(),
        None => DeclType::of(&declared_schema(property), property.extent()),
    }
}
