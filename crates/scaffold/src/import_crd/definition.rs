//! The parts of a CustomResourceDefinition that an import needs.
//!
//! The CRD is not validated here, which is the server's job. Only what would give invalid Rust is rejected.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::ImportError;

/// A CustomResourceDefinition, reduced to the parts that an import needs.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Definition {
    #[serde(rename = "apiVersion", default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    pub(super) metadata: Metadata,
    pub(super) spec: Spec,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Metadata {
    pub(super) annotations: Option<BTreeMap<String, String>>,
    pub(super) labels: Option<BTreeMap<String, String>>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Spec {
    pub(super) group: String,
    pub(super) names: Names,
    #[serde(default)]
    pub(super) scope: String,
    #[serde(default)]
    pub(super) versions: Vec<Version>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Names {
    pub(super) kind: String,
    pub(super) plural: String,
    pub(super) singular: Option<String>,
    pub(super) list_kind: Option<String>,
    #[serde(default)]
    pub(super) short_names: Vec<String>,
    #[serde(default)]
    pub(super) categories: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Version {
    pub(super) name: String,
    #[serde(default)]
    pub(super) served: bool,
    #[serde(default)]
    pub(super) storage: bool,
    #[serde(default)]
    pub(super) deprecated: bool,
    pub(super) deprecation_warning: Option<String>,
    pub(super) schema: Option<Schema>,
    #[serde(default)]
    pub(super) subresources: Subresources,
    #[serde(default)]
    pub(super) additional_printer_columns: Vec<Column>,
    #[serde(default)]
    pub(super) selectable_fields: Vec<SelectableField>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Schema {
    #[serde(rename = "openAPIV3Schema", default)]
    pub(super) root: Map<String, Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Subresources {
    pub(super) status: Option<Value>,
    pub(super) scale: Option<Scale>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Scale {
    pub(super) spec_replicas_path: String,
    pub(super) status_replicas_path: String,
    pub(super) label_selector_path: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Column {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) json_path: String,
    pub(super) description: Option<String>,
    pub(super) format: Option<String>,
    pub(super) priority: Option<i32>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SelectableField {
    pub(super) json_path: String,
}

impl Definition {
    /// Reads one document.
    pub(super) fn read(document: Value) -> Result<Definition, ImportError> {
        let definition: Definition =
            serde_json::from_value(document).map_err(|e| ImportError::Shape(e.to_string()))?;
        if definition.kind != "CustomResourceDefinition" {
            return Err(ImportError::Kind(definition.kind));
        }
        if definition.api_version != "apiextensions.k8s.io/v1" {
            return Err(ImportError::ApiVersion(definition.api_version));
        }
        let names = &definition.spec.names;
        for kind in [Some(&names.kind), names.list_kind.as_ref()]
            .into_iter()
            .flatten()
        {
            let first = kind.chars().next().is_some_and(|c| c.is_ascii_uppercase());
            if !first || !kind.chars().all(|c| c.is_ascii_alphanumeric()) {
                return Err(ImportError::Name(kind.clone()));
            }
        }
        for version in &definition.spec.versions {
            let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
            let first = version.name.chars().next();
            if !first.is_some_and(|c| c.is_ascii_lowercase()) || !version.name.chars().all(lower) {
                return Err(ImportError::Name(version.name.clone()));
            }
        }
        if definition.spec.versions.is_empty() {
            return Err(ImportError::NoVersions);
        }
        Ok(definition)
    }
}
