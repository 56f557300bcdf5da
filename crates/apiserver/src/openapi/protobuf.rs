//! The second version's document as protobuf: the form that Go clients ask for.
//!
//! The messages are those of gnostic's `openapi.v2`. Only the parts that documents here have are written; what a message
//! has no field for (extensions, listed values) travels as YAML text, as the format wants it.

use kubewright_machinery::{json::Read, limits::DOCUMENT_DEPTH};
use std::{borrow::Cow, collections::BTreeMap};

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use kubewright_schema::yaml::to_yaml;

/// A document whose long parts are not parsed yet, so that it is never whole in memory as values.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Unparsed<'a> {
    swagger: Value,
    info: Value,
    #[serde(borrow)]
    paths: BTreeMap<Cow<'a, str>, &'a RawValue>,
    #[serde(borrow)]
    definitions: BTreeMap<Cow<'a, str>, &'a RawValue>,
    parameters: Value,
    security: Value,
    security_definitions: Value,
}

/// The document, given as JSON.
pub(super) fn encode(json: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
    let document: Unparsed<'_> = serde_json::from_slice(json)?;
    let mut out = Message::default();
    out.text(1, &document.swagger);
    out.message(2, &info(&document.info));
    let mut paths = Message::default();
    for (name, item) in &document.paths {
        paths.named(2, name, &path(&serde_json::from_str(item.get())?));
    }
    out.message(8, &paths);
    drop(paths);
    let mut definitions = Message::default();
    for (name, definition) in &document.definitions {
        let definition = serde_json::from_str(definition.get())?;
        definitions.named(1, name, &schema(&definition, 0));
    }
    out.message(9, &definitions);
    drop(definitions);
    let mut parameters = Message::default();
    for (name, shared) in entries(&document.parameters) {
        parameters.named(1, name, &parameter(shared));
    }
    out.message(10, &parameters);
    for requirement in document.security.items() {
        let mut message = Message::default();
        for (name, _) in entries(requirement) {
            message.named(1, name, &Message::default());
        }
        out.message(12, &message);
    }
    let mut schemes = Message::default();
    for (name, scheme) in entries(&document.security_definitions) {
        let mut key = Message::default();
        for (field, at) in [("type", 1), ("name", 2), ("in", 3), ("description", 4)] {
            key.text(at, &scheme[field]);
        }
        schemes.named(1, name, &Message::around(2, &key));
    }
    out.message(13, &schemes);
    Ok(out.0)
}

/// A message as it is written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn around(field: u32, inner: &Message) -> Self {
        let mut out = Self::default();
        out.message(field, inner);
        out
    }

    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.number(u64::from(field) << 3 | 2);
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn message(&mut self, field: u32, message: &Message) {
        self.bytes(field, &message.0);
    }

    /// A pair of a name and a message.
    fn named(&mut self, field: u32, name: &str, message: &Message) {
        let mut pair = Message::default();
        pair.bytes(1, name.as_bytes());
        pair.message(2, message);
        self.message(field, &pair);
    }

    /// A string, unless it is empty or there is none.
    fn text(&mut self, field: u32, value: &Value) {
        if let Some(text) = value.as_str().filter(|text| !text.is_empty()) {
            self.bytes(field, text.as_bytes());
        }
    }

    fn texts(&mut self, field: u32, value: &Value) {
        for text in value.items().iter().filter_map(Value::as_str) {
            self.bytes(field, text.as_bytes());
        }
    }

    fn flag(&mut self, field: u32, value: &Value) {
        if value == &Value::Bool(true) {
            self.number(u64::from(field) << 3);
            self.number(1);
        }
    }

    fn double(&mut self, field: u32, value: &Value) {
        if let Some(number) = value.as_f64().filter(|number| *number != 0.0) {
            self.number(u64::from(field) << 3 | 1);
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn integer(&mut self, field: u32, value: &Value) {
        if let Some(number) = value.as_u64().filter(|number| *number != 0) {
            self.number(u64::from(field) << 3);
            self.number(number);
        }
    }

    /// Every extension of an object.
    fn extensions(&mut self, field: u32, object: &Value) {
        for (name, value) in entries(object) {
            if name.starts_with("x-") {
                self.named(field, name, &any(value));
            }
        }
    }
}

fn info(info: &Value) -> Message {
    let mut out = Message::default();
    out.text(1, &info["title"]);
    out.text(2, &info["version"]);
    out
}

fn path(item: &Value) -> Message {
    let mut out = Message::default();
    let methods = ["get", "put", "post", "delete", "options", "head", "patch"];
    for (method, field) in methods.into_iter().zip(2..) {
        if item.get(method).is_some() {
            out.message(field, &operation(&item[method]));
        }
    }
    for listed in item["parameters"].items() {
        out.message(9, &parameter_or_reference(listed));
    }
    out
}

fn operation(operation: &Value) -> Message {
    let mut out = Message::default();
    out.texts(1, &operation["tags"]);
    out.text(3, &operation["description"]);
    out.text(5, &operation["operationId"]);
    out.texts(6, &operation["produces"]);
    out.texts(7, &operation["consumes"]);
    for listed in operation["parameters"].items() {
        out.message(8, &parameter_or_reference(listed));
    }
    let mut responses = Message::default();
    for (code, told) in entries(&operation["responses"]) {
        let mut response = Message::default();
        response.text(1, &told["description"]);
        if told.get("schema").is_some() {
            response.message(2, &Message::around(1, &schema(&told["schema"], 0)));
        }
        responses.named(1, code, &Message::around(1, &response));
    }
    out.message(9, &responses);
    out.texts(10, &operation["schemes"]);
    out.extensions(13, operation);
    out
}

fn parameter_or_reference(listed: &Value) -> Message {
    if listed.get("$ref").is_none() {
        return Message::around(1, &parameter(listed));
    }
    let mut reference = Message::default();
    reference.text(1, &listed["$ref"]);
    Message::around(2, &reference)
}

fn parameter(told: &Value) -> Message {
    let mut out = Message::default();
    match told["in"].as_str() {
        Some("body") => {
            out.text(1, &told["description"]);
            out.text(2, &told["name"]);
            out.text(3, &told["in"]);
            out.flag(4, &told["required"]);
            out.message(5, &schema(&told["schema"], 0));
            Message::around(1, &out)
        }
        location => {
            out.flag(1, &told["required"]);
            out.text(2, &told["in"]);
            out.text(3, &told["description"]);
            out.text(4, &told["name"]);
            // A query may leave a value empty, a path may not: their numbers differ from here on.
            let (variant, shift) = match location {
                Some("path") => (4, 0),
                _ => (3, 1),
            };
            out.text(5 + shift, &told["type"]);
            out.flag(19 + shift, &told["uniqueItems"]);
            Message::around(2, &Message::around(variant, &out))
        }
    }
}

fn schema(told: &Value, depth: usize) -> Message {
    let mut out = Message::default();
    if depth > DOCUMENT_DEPTH {
        return out;
    }
    out.text(1, &told["$ref"]);
    out.text(2, &told["format"]);
    out.text(3, &told["title"]);
    out.text(4, &told["description"]);
    if let Some(default) = told.get("default") {
        out.message(5, &any(default));
    }
    out.double(6, &told["multipleOf"]);
    out.double(7, &told["maximum"]);
    out.flag(8, &told["exclusiveMaximum"]);
    out.double(9, &told["minimum"]);
    out.flag(10, &told["exclusiveMinimum"]);
    out.integer(11, &told["maxLength"]);
    out.integer(12, &told["minLength"]);
    out.text(13, &told["pattern"]);
    out.integer(14, &told["maxItems"]);
    out.integer(15, &told["minItems"]);
    out.flag(16, &told["uniqueItems"]);
    out.integer(17, &told["maxProperties"]);
    out.integer(18, &told["minProperties"]);
    out.texts(19, &told["required"]);
    for value in told["enum"].items() {
        out.message(20, &any(value));
    }
    match &told["additionalProperties"] {
        Value::Null => {}
        Value::Bool(allowed) => {
            let mut either = Message::default();
            either.number(2 << 3);
            either.number(u64::from(*allowed));
            out.message(21, &either);
        }
        inner => out.message(21, &Message::around(1, &schema(inner, depth + 1))),
    }
    if told["type"].is_string() {
        let mut types = Message::default();
        types.text(1, &told["type"]);
        out.message(22, &types);
    }
    if told.get("items").is_some() {
        let inner = schema(&told["items"], depth + 1);
        out.message(23, &Message::around(1, &inner));
    }
    if told.get("properties").is_some() {
        let mut properties = Message::default();
        for (name, property) in entries(&told["properties"]) {
            properties.named(1, name, &schema(property, depth + 1));
        }
        out.message(25, &properties);
    }
    out.extensions(31, told);
    out
}

/// A value that has no message: as YAML text.
fn any(value: &Value) -> Message {
    let mut out = Message::default();
    let yaml = to_yaml(value).unwrap_or_else(|_| value.to_string());
    out.bytes(2, yaml.as_bytes());
    out
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}
