//! Builds the CustomResourceDefinition of a kind.
//!
//! `kube::CustomResource` gives the outline. [`CrdBuilder`] adds the rest: the schemas of spec and status as derived,
//! the fields every object has, the name of the list kind, and the options of `#[crd(...)]`.

mod error;
mod numbers;
mod sources;

use std::collections::BTreeMap;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, json};

pub use error::CrdError;

use crate::node::{ALTERNATIVES, AT, MADE, Node, PROTOBUF};

/// A CustomResourceDefinition under construction.
#[derive(Debug)]
pub struct CrdBuilder {
    manifest: Value,
    metadata: Option<Value>,
}

impl CrdBuilder {
    pub(crate) fn new(outline: Value) -> Self {
        let mut this = Self {
            manifest: outline,
            metadata: None,
        };
        // schemars adds the name of the Rust type as title.
        this.schema().as_object_mut().map(|s| s.remove("title"));
        this
    }

    /// Starts without an outline, to check the schema alone.
    pub(crate) fn draft() -> Self {
        Self::new(json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": {}}}]}}))
    }

    /// Checks that every keyword of the schema has a value of its type.
    pub(crate) fn check(self, kind: &str) -> Result<(), CrdError> {
        let manifest = self.finish();
        error::check(
            kind,
            &manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"],
        )
    }

    /// Returns the positions in the source of rules, defaults and attributes, by their path in the schema.
    pub(crate) fn sources(mut self) -> BTreeMap<String, String> {
        sources::of(self.schema())
    }

    /// Returns the numbers of fields in protobuf, by their path in the schema.
    pub(crate) fn protobuf_numbers(mut self) -> BTreeMap<String, u16> {
        numbers::of(self.schema())
    }

    /// Sets the schema of the spec to that of a type; kube's own lacks the keywords that kube does not know.
    pub fn spec<T: JsonSchema>(&mut self) {
        self.schema()["properties"]["spec"] = schema_of::<T>();
    }

    /// Sets the schema of the status to that of a type.
    pub fn status<T: JsonSchema>(&mut self) {
        self.schema()["properties"]["status"] = schema_of::<T>();
    }

    /// Sets the schema of the whole object to that of a type, for kinds without a spec.
    pub fn fields<T: JsonSchema>(&mut self) {
        let outline = self.schema().take();
        let mut schema = schema_of::<T>();
        for rule in outline["x-kubernetes-validations"]
            .as_array()
            .into_iter()
            .flatten()
        {
            schema = built(Node::from_value(schema).rule(rule.clone()));
        }
        if outline["description"].is_string() {
            schema["description"] = outline["description"].clone();
        }
        *self.schema() = schema;
    }

    /// Sets the schema of the metadata, of which the server evaluates only `name` and `generateName`.
    pub fn metadata(&mut self, schema: Value) {
        self.metadata = Some(schema);
    }

    /// Adds or removes the status subresource. A kind with a status has one by default.
    pub fn status_subresource(&mut self, enabled: bool) {
        let version = &mut self.manifest["spec"]["versions"][0];
        match (enabled, version["subresources"].as_object_mut()) {
            (true, _) => version["subresources"]["status"] = json!({}),
            (false, Some(subresources)) => drop(subresources.remove("status")),
            (false, None) => {}
        }
        if let Some(version) = version.as_object_mut()
            && (version["subresources"] == json!({}) || version["subresources"].is_null())
        {
            version.remove("subresources");
        }
    }

    /// Sets the description of the kind.
    pub fn describe(&mut self, text: &str) {
        self.schema()["description"] = json!(text);
    }

    /// Adds an annotation to the CRD.
    pub fn annotation(&mut self, key: &str, value: &str) {
        self.manifest["metadata"]["annotations"][key] = json!(value);
    }

    /// Adds a label to the CRD.
    pub fn label(&mut self, key: &str, value: &str) {
        self.manifest["metadata"]["labels"][key] = json!(value);
    }

    /// Sets the name of the list kind.
    pub fn list_kind(&mut self, kind: &str) {
        self.manifest["spec"]["names"]["listKind"] = json!(kind);
    }

    /// Changes the schema of the whole object.
    pub fn map_schema(&mut self, change: impl FnOnce(Node) -> Node) {
        let schema = self.schema();
        *schema = built(change(Node::from_value(schema.take())));
    }

    fn schema(&mut self) -> &mut Value {
        &mut self.manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    }

    pub(crate) fn finish(mut self) -> Value {
        let names = &mut self.manifest["spec"]["names"];
        if names["listKind"].is_null() {
            let kind = names["kind"].as_str().unwrap_or_default();
            names["listKind"] = json!(format!("{kind}List"));
        }
        let metadata = self.metadata.take();
        let schema = self.schema();
        if schema.is_object() {
            finish_schema(schema, metadata);
        }
        whole_numbers(&mut self.manifest);
        self.manifest
    }
}

/// The start of the description that `kube::CustomResource` gives to types without documentation.
const NO_DESCRIPTION: &str = "Auto-generated derived type for ";

/// Adds the fields every object has, and removes keywords that only schemars and this crate know.
fn finish_schema(schema: &mut Value, metadata: Option<Value>) {
    *schema = Node::from_value(schema.take()).into_value();
    let text = schema["description"].as_str();
    if text.is_some_and(|text| text.starts_with(NO_DESCRIPTION)) {
        schema.as_object_mut().map(|s| s.remove("description"));
    }
    let properties = &mut schema["properties"];
    for name in ["apiVersion", "kind"] {
        properties[name] = json!({"type": "string"});
    }
    properties["metadata"] = metadata.unwrap_or_else(|| json!({"type": "object"}));
    if let Some(Value::Object(status)) = properties.get_mut("status") {
        status.remove("nullable");
    }
    resolve_markers(schema);
}

/// Returns the schema of a type.
fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    built(Node::of::<T>(&mut settings.into_generator()))
}

/// Returns a schema that is marked as built here, so that it is not normalized again.
fn built(node: Node) -> Value {
    node.into_schema().to_value()
}

/// Replaces the markers used while building: positions and numbers of protobuf are dropped, hidden alternatives get their real keyword, int-or-string gets its two types, and
/// `nullable: false` is dropped.
fn resolve_markers(schema: &mut Value) {
    if let Some(fields) = schema.as_object_mut() {
        fields.remove(MADE);
        fields.remove(AT);
        fields.remove(PROTOBUF);
        let rules = fields.get_mut("x-kubernetes-validations");
        for rule in rules.and_then(Value::as_array_mut).into_iter().flatten() {
            rule.as_object_mut().map(|rule| rule.remove(AT));
        }
        for (key, hidden) in ALTERNATIVES {
            if let Some(branches) = fields.remove(hidden) {
                fields.insert(key.to_owned(), branches);
            }
        }
    }
    if schema.get("nullable") == Some(&Value::Bool(false)) {
        schema.as_object_mut().map(|s| s.remove("nullable"));
    }
    if schema["x-kubernetes-int-or-string"] == true && schema.get("anyOf").is_none() {
        schema["anyOf"] = json!([{"type": "integer"}, {"type": "string"}]);
    }
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(|p| p.values_mut()) {
        resolve_markers(property);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(key).filter(|inner| inner.is_object()) {
            resolve_markers(inner);
        }
    }
}

/// Writes `1.0` as `1`, as Go does. Bounds of schemas are floats in Rust.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Number(number) if number.is_f64() => {
            let exact = |n: &f64| n.fract() == 0.0 && n.abs() < 9e15;
            if let Some(whole) = number.as_f64().filter(exact) {
                *value = json!(whole as i64);
            }
        }
        _ => {}
    }
}
