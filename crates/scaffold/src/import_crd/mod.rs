//! Rust types from a CustomResourceDefinition.
//!
//! [`import`] reads a definition and writes one module for each of its versions. Nothing of a schema is lost where Rust can
//! say it: `Captain::crd()` of the generated type gives the schema back. Descriptions become documentation, enums become
//! enums, lists keep their types and keys, rules stay, equal objects are one type. What cannot be said is in
//! [`Module::notes`].
//!
//! | module | what it holds |
//! |---|---|
//! | `definition` | the parts of a definition that matter here |
//! | `settle` | a schema without what cannot be expressed |
//! | `types` | the types of a schema, equal ones once |
//! | `descriptions`, `beyond`, `keywords` | what a type says of itself, and what has to be added to a derived schema |
//! | `naming`, `words` | their names |
//! | `render`, `root` | their source |
//!
//! What comes out differs from the definition in this, because the derived root type decides it: `metadata`, `apiVersion` and
//! `kind` are not in the schema, which has a title, and a description always; `spec` is required; `status` may be null and
//! has its subresource.

mod beyond;
mod definition;
mod descriptions;
mod keywords;
mod naming;
mod render;
mod root;
mod settle;
mod types;
pub(crate) mod words;

use kubewright_schema::yaml::parse_yaml;
use serde_json::Value;
use thiserror::Error;

use definition::Definition;

/// The types of one version of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The group: `cert-manager.io`.
    pub group: String,
    /// The version: `v1`.
    pub version: String,
    /// The kind: `Certificate`.
    pub kind: String,
    /// The resource: `certificates`.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether this is the version that is stored.
    pub storage: bool,
    /// The content of a Rust file.
    pub source: String,
    /// What the types do not say, each with its place.
    pub notes: Vec<String>,
}

/// Why a definition was not imported.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ImportError {
    /// The text is not YAML.
    #[error("this is not YAML: {0}; give a file with a CustomResourceDefinition")]
    Yaml(String),
    /// The document lacks what every definition has.
    #[error("this is not a CustomResourceDefinition: {0}")]
    Shape(String),
    /// It is something else.
    #[error("this is a {0:?}, not a CustomResourceDefinition; give a file with one")]
    Kind(String),
    /// It is of another version.
    #[error(
        "CustomResourceDefinitions of {0:?} are not read; convert it to apiextensions.k8s.io/v1"
    )]
    ApiVersion(String),
    /// A name that no kind or version can have.
    #[error("{0:?} cannot be the name of a kind or a version; correct the definition")]
    Name(String),
    /// There is no version.
    #[error("the definition has no versions; add one under spec.versions")]
    NoVersions,
    /// There is no definition.
    #[error("there is no CustomResourceDefinition in this text; give a file with one")]
    Nothing,
}

/// Reads definitions, as YAML or JSON, one or several, and writes their types: a module for each version.
///
/// ```
/// let yaml = "
/// apiVersion: apiextensions.k8s.io/v1
/// kind: CustomResourceDefinition
/// metadata: {name: captains.crew.example.com}
/// spec:
///   group: crew.example.com
///   names: {kind: Captain, plural: captains}
///   scope: Namespaced
///   versions:
///   - name: v1
///     served: true
///     storage: true
///     schema:
///       openAPIV3Schema:
///         type: object
///         properties:
///           spec:
///             type: object
///             required: [ship]
///             properties:
///               ship: {type: string, maxLength: 20, description: The ship's name.}
/// ";
/// let modules = kubewright_scaffold::import_crd::import(yaml).unwrap();
/// assert_eq!(modules[0].kind, "Captain");
/// assert!(modules[0].source.contains("pub ship: String,"));
/// ```
pub fn import(text: &str) -> Result<Vec<Module>, ImportError> {
    let mut modules = Vec::new();
    for document in documents(text)? {
        let definition = Definition::read(document)?;
        for version in &definition.spec.versions {
            modules.push(root::module(&definition.spec, version));
        }
    }
    match modules.is_empty() {
        true => Err(ImportError::Nothing),
        false => Ok(modules),
    }
}

/// The documents of a stream; a list stands for its items. Other kinds between definitions are passed over.
fn documents(text: &str) -> Result<Vec<Value>, ImportError> {
    let mut all = Vec::new();
    for part in text.split("\n---") {
        let part = part.strip_prefix("---").unwrap_or(part);
        let yaml = parse_yaml(part.as_bytes()).map_err(|e| ImportError::Yaml(e.to_string()))?;
        let value = yaml
            .node
            .into_value()
            .map_err(|e| ImportError::Yaml(e.to_string()))?;
        match value {
            Value::Null => {}
            Value::Object(mut list) if list.get("kind") == Some(&Value::from("List")) => {
                if let Some(Value::Array(items)) = list.remove("items") {
                    all.extend(items);
                }
            }
            other => all.push(other),
        }
    }
    let is_definition =
        |value: &Value| value.get("kind") == Some(&Value::from("CustomResourceDefinition"));
    if all.len() > 1 && all.iter().any(is_definition) {
        all.retain(is_definition);
    }
    Ok(all)
}
