//! From a schema to Rust types, equal ones once.
//!
//! Two objects are the same type if their schemas are equal, apart from what belongs to the place where they stand: its
//! description, its default, whether it may be null. A field can say those itself; an element of a list or a map cannot,
//! so there the description is part of the type.
//!
//! Invariant: for every type, the derived schema plus what the type's `extra` says is the schema it came from.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use super::{
    beyond::beyond,
    descriptions::{Descriptions, Place},
    keywords::{OF_THE_PLACE, key, properties, strings, text},
    settle::is_int_or_string,
    words::{field, pascal, singular},
};

/// How the API writes quantities.
const QUANTITY: &str = "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$";

/// All types of a version, by the number that [`Type::Named`] has.
#[derive(Debug, Default)]
pub(super) struct Types {
    pub(super) items: Vec<Item>,
    known: HashMap<String, usize>,
    descriptions: Descriptions,
}

/// A type with a name.
#[derive(Debug)]
pub(super) struct Item {
    /// The words of its place: the names of fields on the way.
    pub(super) path: Vec<String>,
    pub(super) body: Body,
    /// The schema it stands for.
    schema: Map<String, Value>,
}

#[derive(Debug)]
pub(super) enum Body {
    Struct(Struct),
    /// The values, each with the name of its variant.
    Enum(Vec<(String, String)>),
}

#[derive(Debug, Default)]
pub(super) struct Struct {
    pub(super) doc: Option<String>,
    pub(super) fields: Vec<Field>,
    /// Whether fields that it does not name are kept.
    pub(super) open: bool,
    /// What its schema says beyond what is derived.
    pub(super) extra: Map<String, Value>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) json_name: String,
    pub(super) doc: Option<String>,
    pub(super) rust: Type,
    /// The type whose schema is derived.
    pub(super) carrier: Type,
    pub(super) required: bool,
    pub(super) nullable: bool,
    pub(super) extra: Map<String, Value>,
}

/// A type in the place of a field, an element or a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    Bool,
    String,
    I32,
    I64,
    F32,
    F64,
    /// Any JSON.
    Any,
    List(Box<Type>),
    Map(Box<Type>),
    Named(usize),
    /// A type of k8s-openapi, by its path.
    Foreign(&'static str),
}

impl Types {
    /// Types of everything below this schema.
    pub(super) fn of(root: &Map<String, Value>) -> Types {
        let mut types = Types::default();
        types.descriptions.collect(root, Place::Field);
        types
    }

    /// The struct for an object that must have one, be it open or empty.
    pub(super) fn root(&mut self, schema: &Map<String, Value>, path: &[String]) -> usize {
        let id = self.named_struct(schema, path, Place::Field);
        // The root type has no room for what its fields say.
        if let Some(Body::Struct(body)) = self.items.get_mut(id).map(|item| &mut item.body) {
            for key in ["default", "nullable"] {
                if let Some(value) = schema.get(key) {
                    body.extra.insert(key.to_owned(), value.clone());
                }
            }
        }
        id
    }

    /// The schema that is derived for a type.
    fn derived(&self, of: &Type) -> Value {
        match of {
            Type::Bool => json!({"type": "boolean"}),
            Type::String => json!({"type": "string"}),
            Type::I32 => json!({"type": "integer", "format": "int32"}),
            Type::I64 => json!({"type": "integer", "format": "int64"}),
            Type::F32 => json!({"type": "number", "format": "float"}),
            Type::F64 => json!({"type": "number", "format": "double"}),
            Type::Any | Type::Foreign(_) => json!(true),
            Type::List(of) => json!({"type": "array", "items": self.derived(of)}),
            Type::Map(of) => json!({"type": "object", "additionalProperties": self.derived(of)}),
            Type::Named(id) => self
                .items
                .get(*id)
                .map_or(json!(true), |item| Value::Object(item.schema.clone())),
        }
    }

    fn field(&mut self, json_name: &str, schema: &Map<String, Value>, path: &[String]) -> Field {
        let (rust, carrier) = self.both(schema, path, Place::Field);
        let mut wanted = schema.clone();
        let nullable = wanted.remove("nullable") == Some(json!(true));
        let doc = text(&wanted, "description");
        let mut extra = beyond(&wanted, &self.derived(&carrier), doc.as_deref());
        if nullable {
            extra.insert("nullable".to_owned(), json!(true));
        } else if is_int_or_string(schema) {
            // kube would make it nullable.
            extra.insert("nullable".to_owned(), Value::Null);
        }
        Field {
            name: field(json_name),
            json_name: json_name.to_owned(),
            doc,
            rust,
            carrier,
            required: false,
            nullable,
            extra,
        }
    }

    /// The type to use, and the type whose schema is derived.
    fn both(&mut self, schema: &Map<String, Value>, path: &[String], place: Place) -> (Type, Type) {
        if is_int_or_string(schema) {
            let quantity = schema.get("pattern") == Some(&json!(QUANTITY));
            let rust = match quantity {
                true => "k8s_openapi::apimachinery::pkg::api::resource::Quantity",
                false => "k8s_openapi::apimachinery::pkg::util::intstr::IntOrString",
            };
            return (Type::Foreign(rust), Type::Any);
        }
        let format = schema.get("format").and_then(Value::as_str);
        let same = |of: Type| (of.clone(), of);
        match schema.get("type").and_then(Value::as_str) {
            Some("boolean") => same(Type::Bool),
            Some("integer") if format == Some("int32") => same(Type::I32),
            Some("integer") => same(Type::I64),
            Some("number") if format == Some("float") => same(Type::F32),
            Some("number") => same(Type::F64),
            Some("string") => match (format, schema.get("enum")) {
                (_, Some(Value::Array(values))) => same(self.enumeration(values, path)),
                (Some("date-time"), _) => (
                    Type::Foreign("k8s_openapi::apimachinery::pkg::apis::meta::v1::Time"),
                    Type::String,
                ),
                (Some("byte"), _) => (Type::Foreign("k8s_openapi::ByteString"), Type::String),
                _ => same(Type::String),
            },
            Some("array") => match schema.get("items") {
                Some(Value::Object(items)) => {
                    let (rust, carrier) = self.both(items, &one_of(path), Place::Element);
                    (Type::List(rust.into()), Type::List(carrier.into()))
                }
                _ => same(Type::List(Type::Any.into())),
            },
            Some("object") => self.object(schema, path, place),
            _ if schema.contains_key("properties") => self.object(schema, path, place),
            _ => same(Type::Any),
        }
    }

    fn object(
        &mut self,
        schema: &Map<String, Value>,
        path: &[String],
        place: Place,
    ) -> (Type, Type) {
        let same = |of: Type| (of.clone(), of);
        if properties(schema).is_none_or(Map::is_empty) {
            match schema.get("additionalProperties") {
                Some(Value::Object(values)) => {
                    let (rust, carrier) = self.both(values, &one_of(path), Place::Element);
                    return (Type::Map(rust.into()), Type::Map(carrier.into()));
                }
                Some(Value::Bool(true)) => return same(Type::Map(Type::Any.into())),
                _ => {}
            }
            if is_open(schema) || schema.contains_key("x-kubernetes-embedded-resource") {
                return same(Type::Any);
            }
        }
        let named = Type::Named(self.named_struct(schema, path, place));
        match is_condition(schema) {
            true => (
                Type::Foreign("k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition"),
                named,
            ),
            false => same(named),
        }
    }

    fn named_struct(
        &mut self,
        schema: &Map<String, Value>,
        path: &[String],
        place: Place,
    ) -> usize {
        let key = key(schema);
        let doc = self.descriptions.chosen(&key, schema, place);
        let key = format!("{key} {doc:?}");
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let open = is_open(schema) || schema.contains_key("additionalProperties");
        let required: BTreeSet<&str> = strings(schema.get("required")).collect();
        let mut fields: Vec<Field> = Vec::new();
        for (name, property) in properties(schema).into_iter().flatten() {
            let empty = Map::new();
            let property = property.as_object().unwrap_or(&empty);
            let mut made = self.field(name, property, &[path, std::slice::from_ref(name)].concat());
            made.required = required.contains(name.as_str());
            while fields.iter().any(|other| other.name == made.name) {
                made.name.push('_');
            }
            fields.push(made);
        }
        let mut wanted = schema.clone();
        for key in OF_THE_PLACE.into_iter().chain(["properties"]) {
            wanted.remove(key);
        }
        let mut derived = json!({"type": "object"});
        let names: Vec<&String> = fields
            .iter()
            .filter(|field| field.required)
            .map(|field| &field.json_name)
            .collect();
        if !names.is_empty() {
            derived["required"] = json!(names);
        }
        match (open, fields.is_empty()) {
            (true, false) => derived["x-kubernetes-preserve-unknown-fields"] = json!(true),
            (true, true) => derived["additionalProperties"] = json!(true),
            _ => {}
        }
        let extra = beyond(&wanted, &derived, None);
        let mut whole = schema.clone();
        for key in OF_THE_PLACE {
            whole.remove(key);
        }
        if let Some(doc) = &doc {
            whole.insert("description".to_owned(), json!(doc));
        }
        let body = Body::Struct(Struct {
            doc,
            fields,
            open,
            extra,
        });
        self.add(key, path, body, whole)
    }

    fn enumeration(&mut self, values: &[Value], path: &[String]) -> Type {
        let distinct: BTreeSet<&str> = values.iter().filter_map(Value::as_str).collect();
        if values.is_empty() || distinct.len() != values.len() {
            return Type::String;
        }
        let key = format!("enum {}", json!(values));
        if let Some(id) = self.known.get(&key) {
            return Type::Named(*id);
        }
        let mut variants: Vec<(String, String)> = Vec::new();
        for (n, value) in values.iter().filter_map(Value::as_str).enumerate() {
            let mut name = match pascal(value) {
                _ if value.is_empty() => "Empty".to_owned(),
                name if name.is_empty() => format!("Value{}", n + 1),
                name if name.starts_with(|c: char| c.is_ascii_digit()) => format!("V{name}"),
                name if name == "Self" => "Itself".to_owned(),
                name => name,
            };
            while variants.iter().any(|(_, other)| *other == name) {
                name.push_str("Too");
            }
            variants.push((value.to_owned(), name));
        }
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("string"));
        schema.insert("enum".to_owned(), json!(values));
        Type::Named(self.add(key, path, Body::Enum(variants), schema))
    }

    fn add(
        &mut self,
        key: String,
        path: &[String],
        body: Body,
        schema: Map<String, Value>,
    ) -> usize {
        let id = self.items.len();
        self.items.push(Item {
            path: path.to_vec(),
            body,
            schema,
        });
        self.known.insert(key, id);
        id
    }
}

fn one_of(path: &[String]) -> Vec<String> {
    let mut path = path.to_vec();
    if let Some(last) = path.last_mut() {
        *last = singular(last);
    }
    path
}

fn is_open(schema: &Map<String, Value>) -> bool {
    schema.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(true))
}

/// Whether this is the usual condition of a status.
fn is_condition(schema: &Map<String, Value>) -> bool {
    const FIELDS: [&str; 6] = [
        "lastTransitionTime",
        "message",
        "observedGeneration",
        "reason",
        "status",
        "type",
    ];
    let required: BTreeSet<&str> = strings(schema.get("required")).collect();
    let needed = FIELDS.iter().filter(|name| **name != "observedGeneration");
    properties(schema).is_some_and(|has| has.keys().eq(FIELDS.iter()))
        && needed.clone().all(|name| required.contains(name))
}
