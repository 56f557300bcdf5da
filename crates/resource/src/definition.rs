//! The definition of a kind, as the server takes it.
//!
//! `kube::CustomResource` gives the outline; what it lacks is added here: the fields every object has, the name of lists,
//! what `#[crd(...)]` says, and a schema without what schemars adds.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::{CustomResourceExt, Resource};
use kubewright_machinery::Status;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{judge::Judge, node::Node};

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
pub struct Amended(Value);

impl Amended {
    fn new(outline: Value) -> Self {
        let mut this = Self(outline);
        // schemars calls the whole after its type.
        this.schema().as_object_mut().map(|s| s.remove("title"));
        this
    }

    /// Says what the kind is.
    pub fn describe(&mut self, text: &str) {
        self.schema()["description"] = json!(text);
    }

    /// Adds an annotation to the definition.
    pub fn annotation(&mut self, key: &str, value: &str) {
        self.0["metadata"]["annotations"][key] = json!(value);
    }

    /// Adds a label to the definition.
    pub fn label(&mut self, key: &str, value: &str) {
        self.0["metadata"]["labels"][key] = json!(value);
    }

    /// Names the kind of lists.
    pub fn list_kind(&mut self, kind: &str) {
        self.0["spec"]["names"]["listKind"] = json!(kind);
    }

    /// Changes the schema of the whole object.
    pub fn mark(&mut self, change: impl FnOnce(Node) -> Node) {
        let schema = self.schema();
        *schema = change(Node::from_value(schema.take())).into_value();
    }

    fn schema(&mut self) -> &mut Value {
        &mut self.0["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    }

    fn finish(mut self) -> Value {
        let names = &mut self.0["spec"]["names"];
        if names["listKind"].is_null() {
            let kind = names["kind"].as_str().unwrap_or_default();
            names["listKind"] = json!(format!("{kind}List"));
        }
        let schema = self.schema();
        if schema.is_object() {
            finish_schema(schema);
        }
        whole_numbers(&mut self.0);
        self.0
    }
}

/// What `kube::CustomResource` says of a type that says nothing of itself.
const NO_DESCRIPTION: &str = "Auto-generated derived type for ";

/// What every object has, and nothing that schemars alone knows of.
fn finish_schema(schema: &mut Value) {
    *schema = Node::from_value(schema.take()).into_value();
    let text = schema["description"].as_str();
    if text.is_some_and(|text| text.starts_with(NO_DESCRIPTION)) {
        schema.as_object_mut().map(|s| s.remove("description"));
    }
    let properties = &mut schema["properties"];
    for (name, ty) in [
        ("apiVersion", "string"),
        ("kind", "string"),
        ("metadata", "object"),
    ] {
        properties[name] = json!({"type": ty});
    }
    if let Some(Value::Object(status)) = properties.get_mut("status") {
        status.remove("nullable");
    }
    spell_out(schema);
}

/// A number or a text has both types, in words that any reader of schemas understands. What is not nullable does not say so.
fn spell_out(schema: &mut Value) {
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
