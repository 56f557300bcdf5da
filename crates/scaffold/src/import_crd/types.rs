//! Converts schemas to Rust types, without duplicates.
//!
//! Two objects become the same type if their schemas are equal except for the keywords of their position: description,
//! default, nullability. A field can have those itself; an element of a list or a map cannot,
//! so there the description is part of the type.
//!
//! Invariant: for every type, the derived schema plus its attributes is the schema it was created from.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use super::{
    descriptions::{Descriptions, Place, is_plain},
    groups,
    keywords::{OF_THE_PLACE, is_int_or_string, key, properties, strings, text},
    schema_attrs,
    words::{field, pascal, singular},
};

/// The pattern of quantities.
const QUANTITY: &str = "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$";

/// The types of k8s-openapi that are used, and the schemas that the derive gives them.
pub(super) const TIME: &str = "k8s_openapi::apimachinery::pkg::apis::meta::v1::Time";
const BYTES: &str = "k8s_openapi::ByteString";
const NUMBER_OR_TEXT: &str = "k8s_openapi::apimachinery::pkg::util::intstr::IntOrString";
const AMOUNT: &str = "k8s_openapi::apimachinery::pkg::api::resource::Quantity";
pub(super) const CONDITION: &str = "k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition";

/// All types of some versions, indexed by the number in [`Type::Named`].
#[derive(Debug, Default)]
pub(super) struct Types {
    pub(super) items: Vec<Item>,
    known: HashMap<String, usize>,
    descriptions: Descriptions,
}

/// A named type.
#[derive(Debug)]
pub(super) struct Item {
    /// The words of its path: the names of fields.
    pub(super) path: Vec<String>,
    pub(super) body: Body,
    /// The schema it was created from.
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
    /// Set if unknown fields are kept.
    pub(super) open: bool,
    /// The content of `#[schema(...)]`.
    pub(super) schema_attrs: Vec<String>,
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
    /// The content of `#[schema(...)]`.
    pub(super) schema_attrs: Vec<String>,
}

/// The type of a field, an element or a value.
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
    /// A nullable element.
    Maybe(Box<Type>),
    List(Box<Type>),
    Map(Box<Type>),
    Named(usize),
    /// A type of k8s-openapi, by its path.
    Foreign(&'static str),
}

impl Types {
    /// Collects the descriptions of a schema. Must be called for all schemas before the first type is created.
    pub(super) fn collect(&mut self, root: &Map<String, Value>) {
        self.descriptions.collect(root, Place::Field);
    }

    /// Creates the struct for an object that needs its own type, even if it is open or empty.
    pub(super) fn root(&mut self, schema: &Map<String, Value>, path: &[String]) -> usize {
        let id = self.make_struct(schema, path, text(schema, "description"));
        // The root type has no field to carry it.
        if let Some(Body::Struct(body)) = self.items.get_mut(id).map(|item| &mut item.body) {
            let raw = ["default", "nullable"].into_iter();
            let raw: Vec<(String, Value)> = raw
                .filter_map(|key| Some((key.to_owned(), schema.get(key)?.clone())))
                .collect();
            schema_attrs::extend(&mut body.schema_attrs, &raw);
        }
        id
    }

    /// Returns the types that a type refers to, including itself.
    pub(super) fn below(&self, id: usize, seen: &mut BTreeSet<usize>) {
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            if let Some(Body::Struct(body)) = self.items.get(id).map(|item| &item.body) {
                for field in &body.fields {
                    open.extend(field.rust.named());
                    open.extend(field.carrier.named());
                }
            }
        }
    }

    /// Returns the schema that the derive gives a type.
    fn derived(&self, of: &Type) -> Value {
        match of {
            Type::Bool => json!({"type": "boolean"}),
            Type::String => json!({"type": "string"}),
            Type::I32 => json!({"type": "integer", "format": "int32"}),
            Type::I64 => json!({"type": "integer", "format": "int64"}),
            Type::F32 | Type::F64 => json!({"type": "number"}),
            Type::Any => json!({}),
            Type::Foreign(TIME) => json!({"type": "string", "format": "date-time"}),
            Type::Foreign(BYTES) => json!({"type": "string", "format": "byte"}),
            Type::Foreign(NUMBER_OR_TEXT) => json!({"x-kubernetes-int-or-string": true}),
            Type::Foreign(AMOUNT) => {
                json!({"x-kubernetes-int-or-string": true, "pattern": QUANTITY})
            }
            Type::Foreign(_) => json!({}),
            Type::Maybe(of) => {
                let mut derived = self.derived(of);
                derived["nullable"] = json!(true);
                derived
            }
            Type::List(of) => json!({"type": "array", "items": self.derived(of)}),
            Type::Map(of) => {
                let values = self.derived(of);
                let values = if values == json!({}) {
                    json!(true)
                } else {
                    values
                };
                json!({"type": "object", "additionalProperties": values})
            }
            Type::Named(id) => self
                .items
                .get(*id)
                .map_or(json!({}), |item| Value::Object(item.schema.clone())),
        }
    }

    fn field(
        &mut self,
        json_name: &str,
        schema: &Map<String, Value>,
        path: &[String],
        required: bool,
    ) -> Field {
        let (rust, carrier) = self.both(schema, path, Place::Field);
        let doc = text(schema, "description");
        let mut derived = into_object(self.derived(&carrier));
        if let Some(doc) = doc.as_ref().filter(|doc| is_plain(doc)) {
            derived.insert("description".to_owned(), json!(doc));
        }
        let nullable = schema.get("nullable") == Some(&json!(true));
        let mut schema_attrs = schema_attrs::schema_attrs(schema, &derived);
        if required && (nullable || schema.contains_key("default")) {
            schema_attrs.insert(0, "required".to_owned());
        }
        Field {
            name: field(json_name),
            json_name: json_name.to_owned(),
            doc,
            rust,
            carrier,
            required,
            nullable,
            schema_attrs,
        }
    }

    /// Returns the type to use, and the type whose schema is derived.
    fn both(&mut self, schema: &Map<String, Value>, path: &[String], place: Place) -> (Type, Type) {
        if is_int_or_string(schema) {
            let quantity = schema.get("pattern") == Some(&json!(QUANTITY));
            let rust = if quantity { AMOUNT } else { NUMBER_OR_TEXT };
            return (Type::Foreign(rust), Type::Foreign(rust));
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
                (Some("date-time"), _) => same(Type::Foreign(TIME)),
                (Some("byte"), _) => same(Type::Foreign(BYTES)),
                _ => same(Type::String),
            },
            Some("array") => match schema.get("items") {
                Some(Value::Object(items)) => {
                    let (rust, carrier) = self.element(items, path);
                    (Type::List(rust.into()), Type::List(carrier.into()))
                }
                _ => same(Type::List(Type::Any.into())),
            },
            Some("object") => self.object(schema, path, place),
            _ if schema.contains_key("properties") => self.object(schema, path, place),
            _ => same(Type::Any),
        }
    }

    /// Returns the type of the elements of a list or a map.
    fn element(&mut self, schema: &Map<String, Value>, path: &[String]) -> (Type, Type) {
        let (rust, carrier) = self.both(schema, &one_of(path), Place::Element);
        match schema.get("nullable") == Some(&json!(true)) && carrier != Type::Any {
            true => (Type::Maybe(rust.into()), Type::Maybe(carrier.into())),
            false => (rust, carrier),
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
                    let (rust, carrier) = self.element(values, path);
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
            true => (Type::Foreign(CONDITION), named),
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
        let id = self.make_struct(schema, path, doc);
        self.known.insert(key, id);
        id
    }

    fn make_struct(
        &mut self,
        schema: &Map<String, Value>,
        path: &[String],
        doc: Option<String>,
    ) -> usize {
        // The server keeps the fields that every object has.
        let open = is_open(schema)
            || schema.contains_key("additionalProperties")
            || schema.contains_key("x-kubernetes-embedded-resource");
        let required: BTreeSet<&str> = strings(schema.get("required")).collect();
        let mut fields: Vec<Field> = Vec::new();
        for (name, property) in properties(schema).into_iter().flatten() {
            let empty = Map::new();
            let property = property.as_object().unwrap_or(&empty);
            let path = [path, std::slice::from_ref(name)].concat();
            let mut made = self.field(name, property, &path, required.contains(name.as_str()));
            while fields.iter().any(|other| other.name == made.name) {
                made.name.push('_');
            }
            fields.push(made);
        }
        let mut whole = schema.clone();
        for key in OF_THE_PLACE {
            whole.remove(key);
        }
        if let Some(doc) = &doc {
            whole.insert("description".to_owned(), json!(doc));
        }
        let mut wanted = whole.clone();
        wanted.remove("properties");
        let mut derived = into_object(json!({"type": "object"}));
        if let Some(doc) = doc.as_ref().filter(|doc| is_plain(doc)) {
            derived.insert("description".to_owned(), json!(doc));
        }
        let names: Vec<&String> = fields
            .iter()
            .filter(|field| field.required)
            .map(|field| &field.json_name)
            .collect();
        if !names.is_empty() {
            derived.insert("required".to_owned(), json!(names));
        }
        if open {
            derived.insert(
                "x-kubernetes-preserve-unknown-fields".to_owned(),
                json!(true),
            );
        }
        let optional = |name: &str| {
            let field = fields.iter().find(|field| field.json_name == name);
            field.is_some_and(|field| !field.required)
        };
        let rules = wanted.get_mut("x-kubernetes-validations");
        let groups = match rules.and_then(Value::as_array_mut) {
            // Rules without an attribute form are written as a whole.
            Some(rules) if rules.iter().all(|rule| schema_attrs::rule(rule).is_some()) => {
                groups::take(rules, optional)
            }
            _ => Vec::new(),
        };
        if wanted.get("x-kubernetes-validations") == Some(&json!([])) && !groups.is_empty() {
            wanted.remove("x-kubernetes-validations");
        }
        let mut schema_attrs = schema_attrs::schema_attrs(&wanted, &derived);
        schema_attrs.extend(groups);
        let body = Body::Struct(Struct {
            schema_attrs,
            doc,
            fields,
            open,
        });
        self.add(path, body, whole)
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
        let id = self.add(path, Body::Enum(variants), schema);
        self.known.insert(key, id);
        Type::Named(id)
    }

    fn add(&mut self, path: &[String], body: Body, schema: Map<String, Value>) -> usize {
        let id = self.items.len();
        self.items.push(Item {
            path: path.to_vec(),
            body,
            schema,
        });
        id
    }
}

impl Type {
    /// Returns the named type inside, if there is one.
    fn named(&self) -> Option<usize> {
        match self {
            Type::Named(id) => Some(*id),
            Type::Maybe(of) | Type::List(of) | Type::Map(of) => of.named(),
            _ => None,
        }
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

/// Reports whether this is the schema of a standard status condition.
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

pub(super) fn into_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
