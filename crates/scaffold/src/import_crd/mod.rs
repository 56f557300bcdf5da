//! Rust types from a CustomResourceDefinition.
//!
//! [`import`] reads definitions and writes one module for each of their versions; [`import_together`] also has them share
//! equal types. Nothing of a schema is lost: `Captain::manifest()` of the generated type gives it back. Descriptions become
//! documentation, enums become enums, validation becomes `#[schema(...)]`, equal objects are one type. What could not be kept
//! is in [`Module::notes`].
//!
//! | module | what it holds |
//! |---|---|
//! | `definition` | the parts of a definition that matter here |
//! | `root` | the outline of a version: spec, status, and what is said of the whole |
//! | `types` | the types of schemas, equal ones once |
//! | `marks`, `groups`, `literal` | what `#[schema(...)]` must add to a derived schema |
//! | `descriptions`, `keywords` | what a type says of itself, and how schemas are read |
//! | `naming`, `words` | the names of types |
//! | `render`, `attributes`, `module` | their source |
//!
//! What `Captain::manifest()` of the generated type gives differs from the definition in this: `apiVersion`, `kind` and `metadata` are
//! always in the schema, the first two without a description; an integer or a string is always spelled out as such; the
//! conversion between versions is said by [`Versions`](kubewright_resource::Versions), not by a type.

mod attributes;
mod definition;
mod descriptions;
mod groups;
mod keywords;
mod literal;
mod marks;
mod module;
mod naming;
mod render;
mod root;
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
    let definitions = definitions(text)?;
    let versions = definitions.iter().flat_map(module::versions);
    Ok(versions
        .flat_map(|version| module::modules(&[version]).modules)
        .collect())
}

/// Modules that share types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Together {
    /// The modules, as [`import`] makes them.
    pub modules: Vec<Module>,
    /// The content of a module `shared` beside them: the types that several of them use. Empty if there are none.
    pub shared: String,
}

/// Reads definitions as [`import`] does. Types that are equal in several versions or kinds are written once, in a module
/// `shared` that the others name as `super::shared`. `chosen` says which versions are wanted, of a kind and by name.
pub fn import_together(
    text: &str,
    chosen: impl Fn(&str, &str) -> bool,
) -> Result<Together, ImportError> {
    let definitions = definitions(text)?;
    let versions: Vec<_> = definitions
        .iter()
        .flat_map(module::versions)
        .filter(|(definition, version)| chosen(&definition.spec.names.kind, &version.name))
        .collect();
    Ok(module::modules(&versions))
}

fn definitions(text: &str) -> Result<Vec<Definition>, ImportError> {
    let definitions: Result<Vec<_>, _> =
        documents(text)?.into_iter().map(Definition::read).collect();
    match definitions?.as_slice() {
        [] => Err(ImportError::Nothing),
        some => Ok(some.to_vec()),
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
