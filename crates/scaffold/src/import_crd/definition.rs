//! The parts of a CustomResourceDefinition that an import needs.
//!
//! The CRD is not validated here, which is the server's job. Only names are checked, since they become file names and
//! identifiers.

use std::collections::BTreeMap;

use kubewright_machinery::validation::names::{is_dns1035_label, is_dns1123_subdomain};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::ImportError;

/// Kinds whose Rust type would hide a type that generated code refers to, or would not compile.
const NOT_KINDS: [&str; 4] = ["Option", "Self", "String", "Vec"];

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
        definition.check_names()?;
        if definition.spec.versions.is_empty() {
            return Err(ImportError::NoVersions);
        }
        Ok(definition)
    }

    /// Checks the names that become file names and identifiers.
    fn check_names(&self) -> Result<(), ImportError> {
        let wrong = |name: &String| Err(ImportError::Name(name.clone()));
        let names = &self.spec.names;
        for kind in [Some(&names.kind), names.list_kind.as_ref()]
            .into_iter()
            .flatten()
        {
            let first = kind.chars().next().is_some_and(|c| c.is_ascii_uppercase());
            let letters = kind.chars().all(|c| c.is_ascii_alphanumeric());
            if !first || !letters || NOT_KINDS.contains(&kind.as_str()) {
                return wrong(kind);
            }
        }
        if !is_dns1035_label(&names.plural).is_empty() {
            return wrong(&names.plural);
        }
        if !is_dns1123_subdomain(&self.spec.group).is_empty() {
            return wrong(&self.spec.group);
        }
        for Version { name, .. } in &self.spec.versions {
            if !is_dns1035_label(name).is_empty() || name.contains('-') {
                return wrong(name);
            }
        }
        Ok(())
    }
}
