//! The v2 document as protobuf, which Go clients request.
//!
//! The messages are those of gnostic's `openapi.v2`. Only the parts that these documents have are written; what a message has
//! no field for (extensions, listed values) is YAML text.

use kubewright_machinery::{json::Read, limits::DOCUMENT_DEPTH};
use std::{borrow::Cow, collections::BTreeMap};

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use kubewright_schema::yaml::to_yaml;

/// A document whose long parts are not parsed yet, so that it is never in memory as a whole.
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

/// Encodes the document, which is given as JSON.
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

/// A message that is being written.
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

    /// Writes a pair of a name and a message.
    fn named(&mut self, field: u32, name: &str, message: &Message) {
        let mut pair = Message::default();
        pair.bytes(1, name.as_bytes());
        pair.message(2, message);
        self.message(field, &pair);
    }

    /// Writes a string unless it is missing or empty.
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

    /// Writes every extension of an object.
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
    for (code, source) in entries(&operation["responses"]) {
        let mut response = Message::default();
        response.text(1, &source["description"]);
        if source.get("schema").is_some() {
            response.message(2, &Message::around(1, &schema(&source["schema"], 0)));
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

fn parameter(source: &Value) -> Message {
    let mut out = Message::default();
    match source["in"].as_str() {
        Some("body") => {
            out.text(1, &source["description"]);
            out.text(2, &source["name"]);
            out.text(3, &source["in"]);
            out.flag(4, &source["required"]);
            out.message(5, &schema(&source["schema"], 0));
            Message::around(1, &out)
        }
        location => {
            out.flag(1, &source["required"]);
            out.text(2, &source["in"]);
            out.text(3, &source["description"]);
            out.text(4, &source["name"]);
            // A query may have an empty value, a path may not: their field numbers differ from here on.
            let (variant, shift) = match location {
                Some("path") => (4, 0),
                _ => (3, 1),
            };
            out.text(5 + shift, &source["type"]);
            out.flag(19 + shift, &source["uniqueItems"]);
            Message::around(2, &Message::around(variant, &out))
        }
    }
}

fn schema(source: &Value, depth: usize) -> Message {
    let mut out = Message::default();
    if depth > DOCUMENT_DEPTH {
        return out;
    }
    out.text(1, &source["$ref"]);
    out.text(2, &source["format"]);
    out.text(3, &source["title"]);
    out.text(4, &source["description"]);
    if let Some(default) = source.get("default") {
        out.message(5, &any(default));
    }
    out.double(6, &source["multipleOf"]);
    out.double(7, &source["maximum"]);
    out.flag(8, &source["exclusiveMaximum"]);
    out.double(9, &source["minimum"]);
    out.flag(10, &source["exclusiveMinimum"]);
    out.integer(11, &source["maxLength"]);
    out.integer(12, &source["minLength"]);
    out.text(13, &source["pattern"]);
    out.integer(14, &source["maxItems"]);
    out.integer(15, &source["minItems"]);
    out.flag(16, &source["uniqueItems"]);
    out.integer(17, &source["maxProperties"]);
    out.integer(18, &source["minProperties"]);
    out.texts(19, &source["required"]);
    for value in source["enum"].items() {
        out.message(20, &any(value));
    }
    match &source["additionalProperties"] {
        Value::Null => {}
        Value::Bool(allowed) => {
            let mut either = Message::default();
            either.number(2 << 3);
            either.number(u64::from(*allowed));
            out.message(21, &either);
        }
        inner => out.message(21, &Message::around(1, &schema(inner, depth + 1))),
    }
    if source["type"].is_string() {
        let mut types = Message::default();
        types.text(1, &source["type"]);
        out.message(22, &types);
    }
    if source.get("items").is_some() {
        let inner = schema(&source["items"], depth + 1);
        out.message(23, &Message::around(1, &inner));
    }
    if source.get("properties").is_some() {
        let mut properties = Message::default();
        for (name, property) in entries(&source["properties"]) {
            properties.named(1, name, &schema(property, depth + 1));
        }
        out.message(25, &properties);
    }
    out.extensions(31, source);
    out
}

/// Writes a value that has no message as YAML text.
fn any(value: &Value) -> Message {
    let mut out = Message::default();
    let yaml = to_yaml(value).unwrap_or_else(|_| value.to_string());
    out.bytes(2, yaml.as_bytes());
    out
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}
