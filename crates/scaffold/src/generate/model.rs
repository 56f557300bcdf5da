//! [`Model`]: what an operator says of itself, as the tool reads it.
//!
//! The operator's program prints it as JSON. This is the reader's side: definitions stay JSON, since they are written as
//! they came; what is not needed to write files is not read.

use serde::Deserialize;
use serde_json::Value;

use crate::Refusal;

/// The version of the form that is read here.
const VERSION: u64 = 1;

/// An operator, described.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Model {
    /// The version of the form.
    pub model: u64,
    /// The name of the program.
    pub name: String,
    /// The version of the program.
    #[serde(default)]
    pub version: Option<String>,
    /// A definition for each kind, with all its versions.
    #[serde(default)]
    pub definitions: Vec<Value>,
    /// The names of definitions whose objects it converts from version to version.
    #[serde(default)]
    pub conversions: Vec<String>,
    /// The permissions it needs, as they were found.
    #[serde(default)]
    pub rules: Vec<Rule>,
}

/// A permission.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    /// The groups; empty text for the core.
    pub api_groups: Vec<String>,
    /// The resources, subresources included.
    pub resources: Vec<String>,
    /// The names of the objects. Empty: all.
    pub resource_names: Vec<String>,
    /// The URLs that are no resources.
    #[serde(rename = "nonResourceURLs")]
    pub urls: Vec<String>,
    /// What may be done.
    pub verbs: Vec<String>,
    /// The namespace it holds in.
    pub namespace: Option<String>,
    /// The role it is part of.
    pub role: Option<String>,
}

impl Model {
    /// Reads what the operator's program printed.
    pub fn read(text: &str) -> Result<Model, Refusal> {
        let wrong = |e: &dyn std::fmt::Display| {
            Refusal::new(
                format_args!("the operator does not describe itself: {e}"),
                "have main.rs call kubewright::operator::main, and print nothing before it",
            )
        };
        let mut model: Model = serde_json::from_str(text).map_err(|e| wrong(&e))?;
        if model.model != VERSION {
            return Err(Refusal::new(
                format_args!(
                    "the operator describes itself in form {}, and this tool reads form {VERSION}",
                    model.model
                ),
                "use a tool and a kubewright dependency of the same version",
            ));
        }
        for definition in &mut model.definitions {
            whole_numbers(definition);
        }
        Ok(model)
    }

    /// Each version of each kind.
    pub(super) fn kinds(&self) -> impl Iterator<Item = Kind<'_>> {
        self.definitions.iter().flat_map(|definition| {
            let versions = definition["spec"]["versions"].as_array();
            versions.into_iter().flatten().map(move |version| Kind {
                definition,
                version,
            })
        })
    }
}

/// A version of a kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind<'a> {
    pub(super) definition: &'a Value,
    pub(super) version: &'a Value,
}

impl<'a> Kind<'a> {
    pub(super) fn group(&self) -> &'a str {
        text(&self.definition["spec"]["group"])
    }

    pub(super) fn version(&self) -> &'a str {
        text(&self.version["name"])
    }

    pub(super) fn kind(&self) -> &'a str {
        text(&self.definition["spec"]["names"]["kind"])
    }

    pub(super) fn served(&self) -> bool {
        self.version["served"] == true
    }

    pub(super) fn api_version(&self) -> String {
        format!("{}/{}", self.group(), self.version())
    }

    /// The schema of its objects.
    pub(super) fn schema(&self) -> &'a Value {
        &self.version["schema"]["openAPIV3Schema"]
    }
}

/// A text, or nothing.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// `1.0` is written `1`, as Go writes it. Bounds of schemas are floats in Rust.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Number(number) if number.is_f64() => {
            let exact = |n: &f64| n.fract() == 0.0 && n.abs() < 9e15;
            if let Some(whole) = number.as_f64().filter(exact) {
                *value = Value::from(whole as i64);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_form_is_refused_with_what_to_do() {
        let refusal = Model::read(r#"{"model": 2, "name": "a"}"#).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "the operator describes itself in form 2, and this tool reads form 1; use a tool and a kubewright dependency of the same version"
        );
        let refusal = Model::read("hello").unwrap_err().to_string();
        assert!(refusal.starts_with("the operator does not describe itself: "));
    }

    #[test]
    fn whole_numbers_are_written_as_such() {
        let model = Model::read(
            r#"{"model": 1, "name": "a", "definitions": [{"minimum": 1.0, "x": 0.5}]}"#,
        )
        .unwrap();
        assert_eq!(model.definitions[0].to_string(), r#"{"minimum":1,"x":0.5}"#);
    }
}
