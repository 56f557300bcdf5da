//! A CustomResourceDefinition, decoded.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, OnceLock},
};

use kubewright_cel::{Extent, Validator};
use kubewright_machinery::{json::Read, version::compare_kube_versions};
use kubewright_schema::structural::{CompileError, Structural, compile_rules};
use serde_json::Value;

/// The names of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) plural: String,
    pub(super) singular: String,
    pub(super) kind: String,
    pub(super) list_kind: String,
    pub(super) short_names: Vec<String>,
    pub(super) categories: Vec<String>,
}

/// A decoded CustomResourceDefinition.
pub(super) struct Crd {
    pub(super) group: String,
    pub(super) names: Names,
    pub(super) namespaced: bool,
    pub(super) versions: Vec<Version>,
    /// The name of the stored version.
    pub(super) storage: String,
    /// `spec.conversion`
    pub(super) conversion: Value,
    pub(super) terminating: bool,
}

/// A version of a CRD.
pub(super) struct Version {
    pub(super) name: String,
    pub(super) served: bool,
    pub(super) schema: Arc<Structural>,
    /// The schema as JSON text.
    pub(super) document: Arc<str>,
    pub(super) has_status: bool,
    pub(super) scale: Option<Scale>,
    pub(super) columns: Vec<Column>,
    /// The selectable fields, as dotted paths.
    pub(super) selectable: Vec<String>,
    pub(super) deprecation: Option<String>,
    /// `x-kubernetes-validations`
    pub(super) rules: Arc<LazyRules>,
    /// A mark that changes with the schema.
    pub(super) mark: u64,
}

/// The validation rules of a schema, compiled once.
#[derive(Default)]
pub(super) struct LazyRules(OnceLock<Option<Validator>>);

impl LazyRules {
    pub(super) fn get(&self, schema: &Structural) -> Option<&Validator> {
        if !schema.has_rules {
            return None;
        }
        self.0
            .get_or_init(|| compile_rules(schema, Extent::Resource))
            .as_ref()
    }
}

/// The paths of a scale. They start with a dot.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    pub(super) spec_replicas: String,
    pub(super) status_replicas: String,
    pub(super) selector: Option<String>,
}

/// A column of `kubectl get`.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) ty: String,
    pub(super) format: String,
    pub(super) description: String,
    pub(super) priority: i64,
    pub(super) json_path: String,
}

fn text(value: &Value, key: &str) -> String {
    value[key].text().to_owned()
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    value[key].texts().map(str::to_owned).collect()
}

impl Names {
    pub(super) fn read(names: &Value) -> Self {
        Self {
            plural: text(names, "plural"),
            singular: text(names, "singular"),
            kind: text(names, "kind"),
            list_kind: text(names, "listKind"),
            short_names: texts(names, "shortNames"),
            categories: texts(names, "categories"),
        }
    }
}

impl Crd {
    /// Decodes a stored CRD with its accepted names.
    pub(super) fn read(crd: &Value) -> Result<Self, CompileError> {
        let spec = &crd["spec"];
        let group = text(spec, "group");
        let names = Names::read(&crd["status"]["acceptedNames"]);
        let all = spec["versions"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let mut versions = Vec::with_capacity(all.len());
        for version in all {
            let mut read = Version::read(version)?;
            read.deprecation = deprecation(&group, &names.kind, version, all);
            versions.push(read);
        }
        let storage = all.iter().find(|v| v["storage"].flag());
        Ok(Self {
            namespaced: spec["scope"] == "Namespaced",
            storage: storage.map(|v| text(v, "name")).unwrap_or_default(),
            conversion: spec["conversion"].clone(),
            terminating: super::conditions::is_true(crd, "Terminating"),
            group,
            names,
            versions,
        })
    }
}

impl Version {
    fn read(version: &Value) -> Result<Self, CompileError> {
        let schema = &version["schema"]["openAPIV3Schema"];
        let document: Arc<str> = schema.to_string().into();
        let name = text(version, "name");
        let mut hasher = DefaultHasher::new();
        (&name, &document).hash(&mut hasher);
        let subresources = &version["subresources"];
        let scale = &subresources["scale"];
        let columns = version["additionalPrinterColumns"].as_array();
        let selectable = version["selectableFields"].as_array();
        Ok(Self {
            served: version["served"].flag(),
            schema: Arc::new(Structural::compile(schema)?),
            has_status: !subresources["status"].is_null(),
            scale: (!scale.is_null()).then(|| Scale {
                spec_replicas: text(scale, "specReplicasPath"),
                status_replicas: text(scale, "statusReplicasPath"),
                selector: Some(text(scale, "labelSelectorPath")).filter(|p| !p.is_empty()),
            }),
            columns: columns.into_iter().flatten().map(Column::read).collect(),
            selectable: selectable
                .into_iter()
                .flatten()
                .map(|field| text(field, "jsonPath").trim_start_matches('.').to_owned())
                .collect(),
            deprecation: None,
            rules: Arc::default(),
            mark: hasher.finish() | 1,
            name,
            document,
        })
    }
}

impl Column {
    fn read(column: &Value) -> Self {
        Self {
            name: text(column, "name"),
            ty: text(column, "type"),
            format: text(column, "format"),
            description: text(column, "description"),
            priority: column["priority"].as_i64().unwrap_or_default(),
            json_path: text(column, "jsonPath"),
        }
    }
}

/// Returns the warning about a deprecated version: that of its author, or a hint at another version.
fn deprecation(group: &str, kind: &str, version: &Value, all: &[Value]) -> Option<String> {
    if !version["deprecated"].flag() {
        return None;
    }
    if let Some(warning) = version["deprecationWarning"].as_str() {
        return Some(warning.to_owned());
    }
    let own = text(version, "name");
    let newer = all
        .iter()
        .filter(|v| v["served"].flag() && !v["deprecated"].flag());
    let newer = newer
        .map(|v| text(v, "name"))
        .filter(|name| compare_kube_versions(&own, name).is_lt())
        .max_by(|a, b| compare_kube_versions(a, b));
    let advice = newer.map_or(String::new(), |name| format!("; use {group}/{name} {kind}"));
    Some(format!("{group}/{own} {kind} is deprecated{advice}"))
}
