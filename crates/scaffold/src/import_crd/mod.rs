//! Imports CustomResourceDefinitions as Rust types.
//!
//! [`import_crds`] returns one module for each version of a CRD; [`import_crds_together`] also lets them share equal types. Nothing of a
//! schema is lost: `Captain::manifest()` of the generated type gives it back. Descriptions become documentation, enums become
//! enums, validation becomes `#[schema(...)]`, and equal objects become one type. [`Module::notes`] lists what could not be
//! kept.
//!
//! | module | contents |
//! |---|---|
//! | `definition` | the parts of a CRD that matter here |
//! | `root` | the outline of a version: spec, status, and the schema of the whole object |
//! | `types` | the types of schemas, without duplicates |
//! | `schema_attrs`, `groups`, `literal` | the `#[schema(...)]` that a derived schema needs |
//! | `descriptions`, `keywords` | descriptions of types; access to schemas |
//! | `naming`, `words` | the names of types |
//! | `render`, `attributes`, `module` | the Rust source |
//!
//! `Captain::manifest()` of the generated type differs from the CRD as follows: `apiVersion`, `kind` and `metadata` are always in
//! the schema, the first two without a description; an int-or-string always has its two types; the conversion between versions
//! belongs to [`Versions`](kubewright_resource::Versions), not to a type.

mod attributes;
mod definition;
mod descriptions;
mod groups;
mod keywords;
mod literal;
mod module;
mod naming;
mod render;
mod root;
mod schema_attrs;
mod types;
pub(crate) mod words;

use serde_json::Value;
use thiserror::Error;

use crate::manifests::parse_manifests;
use definition::Definition;

/// The types of one version of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The group, such as `cert-manager.io`.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The kind, such as `Certificate`.
    pub kind: String,
    /// The plural name of the resource, such as `certificates`.
    pub plural: String,
    /// Set if the kind is namespaced.
    pub namespaced: bool,
    /// Set if this is the storage version.
    pub storage: bool,
    /// The content of a Rust file.
    pub source: String,
    /// The parts of the schema that the types could not keep, with their paths.
    pub notes: Vec<String>,
}

/// A CustomResourceDefinition that cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ImportError {
    /// The text is not YAML.
    #[error("this is not YAML: {0}; give a file with a CustomResourceDefinition")]
    Yaml(String),
    /// The document lacks a field that every CRD has.
    #[error("this is not a CustomResourceDefinition: {0}")]
    Shape(String),
    /// The document is of another kind.
    #[error("this is a {0:?}, not a CustomResourceDefinition; give a file with one")]
    Kind(String),
    /// The document has another apiVersion.
    #[error(
        "CustomResourceDefinitions of {0:?} are not read; convert it to apiextensions.k8s.io/v1"
    )]
    ApiVersion(String),
    /// A kind, plural, group or version has a name that is not valid, or not usable in Rust.
    #[error("{0:?} cannot be the name of a kind, plural, group or version; correct the definition")]
    Name(String),
    /// The CRD has no versions.
    #[error("the definition has no versions; add one under spec.versions")]
    NoVersions,
    /// The text has no CRD.
    #[error("there is no CustomResourceDefinition in this text; give a file with one")]
    Nothing,
}

/// Imports one or several CustomResourceDefinitions, as YAML or JSON. Returns a module for each version.
///
/// # Errors
///
/// Fails if the text is not YAML or has no CRD, or if a CRD lacks required fields.
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
/// let modules = kubewright_scaffold::import_crds(yaml).unwrap();
/// assert_eq!(modules[0].kind, "Captain");
/// assert!(modules[0].source.contains("pub ship: String,"));
/// ```
pub fn import_crds(text: &str) -> Result<Vec<Module>, ImportError> {
    let definitions = definitions(text)?;
    let versions = definitions.iter().flat_map(module::versions);
    Ok(versions
        .flat_map(|version| module::modules(&[version]).modules)
        .collect())
}

/// Modules that share types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedModules {
    /// The modules, as returned by [`import_crds`].
    pub modules: Vec<Module>,
    /// The content of a module `shared` next to them, with the types that several of them use. Empty if there are none.
    pub shared: String,
}

/// Imports CRDs as [`import_crds`] does, but writes types that are equal in several versions or kinds only once, in a module `shared`
/// that the others refer to as `super::shared`. `chosen` selects versions by kind and name.
///
/// # Errors
///
/// Fails as [`import_crds`] does.
///
/// ```
/// # let crd = |kind: &str| format!(
/// #     "apiVersion: apiextensions.k8s.io/v1
/// # kind: CustomResourceDefinition
/// # spec:
/// #   group: crew.example.com
/// #   names: {{kind: {kind}, plural: {}s}}
/// #   scope: Namespaced
/// #   versions:
/// #   - name: v1
/// #     schema:
/// #       openAPIV3Schema:
/// #         type: object
/// #         properties:
/// #           spec:
/// #             type: object
/// #             properties:
/// #               berth: {{type: object, properties: {{deck: {{type: integer}}, side: {{type: string}}}}}}",
/// #     kind.to_lowercase(),
/// # );
/// // Captain and Mate both have a `berth` with the same fields.
/// let both = format!("{}\n---\n{}", crd("Captain"), crd("Mate"));
/// let imported = kubewright_scaffold::import_crds_together(&both, |_kind, version| version == "v1")?;
/// assert_eq!(imported.modules.len(), 2);
/// assert!(imported.shared.contains("pub deck: "));
/// # Ok::<(), kubewright_scaffold::ImportError>(())
/// ```
pub fn import_crds_together(
    text: &str,
    chosen: impl Fn(&str, &str) -> bool,
) -> Result<SharedModules, ImportError> {
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

/// Reads the CRDs of a YAML stream. Other kinds between CRDs are skipped.
fn documents(text: &str) -> Result<Vec<Value>, ImportError> {
    let mut all = parse_manifests(text).map_err(|e| ImportError::Yaml(e.to_string()))?;
    let is_definition =
        |value: &Value| value.get("kind") == Some(&Value::from("CustomResourceDefinition"));
    if all.len() > 1 && all.iter().any(is_definition) {
        all.retain(is_definition);
    }
    Ok(all)
}
