//! The definition of a kind, as the server takes it.
//!
//! `kube::CustomResource` gives the outline; what it lacks is added here: the fields every object has, the name of lists,
//! what `#[crd(...)]` says, and a schema without what schemars adds.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::{CustomResourceExt, Resource};
use kubewright_machinery::Status;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    judge::Judge,
    node::{ALTERNATIVES, MADE, Node},
};

/// A kind that is made of a Rust type: implemented by `#[derive(Schema)]` beside `kube::CustomResource`, and by
/// [`custom_kind!`](crate::custom_kind).
pub trait CustomKind:
    Resource<DynamicType = ()> + CustomResourceExt + Serialize + Sized + 'static
{
    /// Adds what `#[crd(...)]` says.
    #[doc(hidden)]
    fn amend(_definition: &mut Amended) {}

    /// What judges objects of the kind: its schema and rules, compiled once.
    fn judge() -> &'static Judge;

    /// The definition, to be written to the server.
    fn definition() -> CustomResourceDefinition {
        // The outline was one, and nothing was added that is not part of one.
        serde_json::from_value(Self::manifest()).unwrap_or_else(|_| Self::crd())
    }

    /// The definition as JSON, with whole numbers written as such: what is written to files.
    fn manifest() -> Value {
        let outline = serde_json::to_value(Self::crd()).unwrap_or_default();
        let mut amended = Amended::new(outline);
        Self::amend(&mut amended);
        amended.finish()
    }

    /// Whether the server would take this object, as a new one or in place of `old`, and what it would say if not.
    ///
    /// The status is judged by [`validate_status`](Self::validate_status), as the server does where the status has an
    /// endpoint of its own. An object without a namespace is taken to be meant for `default`.
    // The error is the server's own answer, with all its details.
    #[allow(clippy::result_large_err)]
    fn validate(&self, old: Option<&Self>) -> Result<(), Status> {
        let object = to_value(self)?;
        match old {
            None => Self::judge().create(&object).map(drop),
            Some(old) => Self::judge().update(&object, &to_value(old)?).map(drop),
        }
    }

    /// Whether the server would take the status of this object in place of that of `old`.
    #[allow(clippy::result_large_err)]
    fn validate_status(&self, old: &Self) -> Result<(), Status> {
        let (object, old) = (to_value(self)?, to_value(old)?);
        Self::judge().update_status(&object, &old).map(drop)
    }
}

/// Implements [`CustomKind`] for types of `kube::CustomResource` whose schema comes from `kube::KubeSchema` or schemars.
#[macro_export]
macro_rules! custom_kind {
    ($($kind:ty),+ $(,)?) => {$(
        impl $crate::CustomKind for $kind {
            fn judge() -> &'static $crate::Judge {
                static JUDGE: ::std::sync::OnceLock<$crate::Judge> = ::std::sync::OnceLock::new();
                JUDGE.get_or_init($crate::Judge::of::<Self>)
            }
        }
    )+};
}

/// A definition while things are added to it.
#[derive(Debug)]
pub struct Amended {
    manifest: Value,
    metadata: Option<Value>,
}

impl Amended {
    fn new(outline: Value) -> Self {
        let mut this = Self {
            manifest: outline,
            metadata: None,
        };
        // schemars calls the whole after its type.
        this.schema().as_object_mut().map(|s| s.remove("title"));
        this
    }

    /// Takes the schema of the spec from its type, as kube's way leaves out what kube does not know.
    pub fn spec<T: JsonSchema>(&mut self) {
        self.schema()["properties"]["spec"] = schema_of::<T>();
    }

    /// Takes the schema of the status from its type.
    pub fn status<T: JsonSchema>(&mut self) {
        self.schema()["properties"]["status"] = schema_of::<T>();
    }

    /// Takes the fields beside the metadata, and what is said of them, from a type.
    pub fn fields<T: JsonSchema>(&mut self) {
        let outline = self.schema().take();
        let mut schema = schema_of::<T>();
        for rule in outline["x-kubernetes-validations"]
            .as_array()
            .into_iter()
            .flatten()
        {
            schema = made(Node::from_value(schema).rule(rule.clone()));
        }
        if outline["description"].is_string() {
            schema["description"] = outline["description"].clone();
        }
        *self.schema() = schema;
    }

    /// Says what the schema of the metadata is. The server knows of the name alone.
    pub fn metadata(&mut self, schema: Value) {
        self.metadata = Some(schema);
    }

    /// Whether the status has an endpoint of its own. It has one if there is a status.
    pub fn status_subresource(&mut self, wanted: bool) {
        let version = &mut self.manifest["spec"]["versions"][0];
        match (wanted, version["subresources"].as_object_mut()) {
            (true, _) => version["subresources"]["status"] = json!({}),
            (false, Some(subresources)) => drop(subresources.remove("status")),
            (false, None) => {}
        }
        if let Some(version) = version.as_object_mut()
            && version["subresources"] == json!({})
        {
            version.remove("subresources");
        }
    }

    /// Says what the kind is.
    pub fn describe(&mut self, text: &str) {
        self.schema()["description"] = json!(text);
    }

    /// Adds an annotation to the definition.
    pub fn annotation(&mut self, key: &str, value: &str) {
        self.manifest["metadata"]["annotations"][key] = json!(value);
    }

    /// Adds a label to the definition.
    pub fn label(&mut self, key: &str, value: &str) {
        self.manifest["metadata"]["labels"][key] = json!(value);
    }

    /// Names the kind of lists.
    pub fn list_kind(&mut self, kind: &str) {
        self.manifest["spec"]["names"]["listKind"] = json!(kind);
    }

    /// Changes the schema of the whole object.
    pub fn mark(&mut self, change: impl FnOnce(Node) -> Node) {
        let schema = self.schema();
        *schema = made(change(Node::from_value(schema.take())));
    }

    fn schema(&mut self) -> &mut Value {
        &mut self.manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    }

    fn finish(mut self) -> Value {
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

/// What `kube::CustomResource` says of a type that says nothing of itself.
const NO_DESCRIPTION: &str = "Auto-generated derived type for ";

/// What every object has, and nothing that schemars alone knows of.
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
    spell_out(schema);
}

/// The schema of a type.
fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    made(Node::of::<T>(&mut settings.into_generator()))
}

/// A schema that is not to be read anew.
fn made(node: Node) -> Value {
    node.into_schema().to_value()
}

/// A number or a text has both types, in words that any reader of schemas understands. What is not nullable does not say so,
/// alternatives stand in their place, and nothing is left that is said for the making only.
fn spell_out(schema: &mut Value) {
    if let Some(fields) = schema.as_object_mut() {
        fields.remove(MADE);
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
        spell_out(property);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(key).filter(|inner| inner.is_object()) {
            spell_out(inner);
        }
    }
}

/// `1.0` is written `1`.
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

#[allow(clippy::result_large_err)]
fn to_value<T: Serialize>(object: &T) -> Result<Value, Status> {
    serde_json::to_value(object).map_err(kubewright_machinery::status::internal)
}
