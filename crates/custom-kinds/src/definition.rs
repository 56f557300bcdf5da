//! [`Definition`]: a decoded CustomResourceDefinition.

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
pub struct Names {
    /// The plural name, as in paths.
    pub plural: String,
    /// The singular name.
    pub singular: String,
    /// The kind.
    pub kind: String,
    /// The kind of a list.
    pub list_kind: String,
    /// The short names.
    pub short_names: Vec<String>,
    /// The categories.
    pub categories: Vec<String>,
}

/// A decoded CustomResourceDefinition, with compiled schemas.
///
/// ```
/// use kubewright_custom_kinds::Definition;
/// use serde_json::json;
///
/// let crd = json!({"spec": {
///     "group": "sky.example.com",
///     "scope": "Cluster",
///     "names": {"plural": "comets", "singular": "comet", "kind": "Comet", "listKind": "CometList"},
///     "versions": [{
///         "name": "v1", "served": true, "storage": true,
///         "schema": {"openAPIV3Schema": {"type": "object"}},
///     }],
/// }});
/// let comets = Definition::read(&crd)?;
/// assert_eq!(comets.names().kind, "Comet");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub struct Definition {
    pub(crate) group: String,
    pub(crate) names: Names,
    pub(crate) namespaced: bool,
    pub(crate) versions: Vec<Version>,
    /// The name of the stored version.
    pub(crate) storage: String,
    /// `spec.conversion`
    pub(crate) conversion: Value,
    pub(crate) terminating: bool,
}

/// A version of a CRD.
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) served: bool,
    pub(crate) schema: Arc<Structural>,
    /// The schema as JSON text.
    pub(crate) document: Arc<str>,
    pub(crate) has_status: bool,
    pub(crate) scale: Option<Scale>,
    pub(crate) columns: Vec<Column>,
    /// The selectable fields, as dotted paths.
    pub(crate) selectable: Vec<String>,
    pub(crate) deprecation: Option<String>,
    /// `x-kubernetes-validations`
    pub(crate) rules: Arc<LazyRules>,
    /// A mark that changes with the schema.
    pub(crate) mark: u64,
}

/// The validation rules of a schema, compiled once.
#[derive(Default)]
pub(crate) struct LazyRules(OnceLock<Option<Validator>>);

impl LazyRules {
    /// Returns whether there is nothing left to compile.
    pub(crate) fn is_compiled(&self, schema: &Structural) -> bool {
        !schema.has_rules || self.0.get().is_some()
    }

    pub(crate) fn get(&self, schema: &Structural) -> Option<&Validator> {
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
pub(crate) struct Scale {
    pub(crate) spec_replicas: String,
    pub(crate) status_replicas: String,
    pub(crate) selector: Option<String>,
}

/// A column of `kubectl get`.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) ty: String,
    pub(crate) format: String,
    pub(crate) description: String,
    pub(crate) priority: i64,
    pub(crate) json_path: String,
}

fn text(value: &Value, key: &str) -> String {
    value[key].text().to_owned()
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    value[key].texts().map(str::to_owned).collect()
}

impl Names {
    /// Decodes `spec.names` or `status.acceptedNames` of a CRD.
    pub fn read(names: &Value) -> Self {
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

impl Definition {
    /// Decodes a CRD, with its accepted names if it has a status, and with the names of its spec otherwise.
    ///
    /// # Errors
    ///
    /// Fails if the schema of a version is not structural.
    pub fn read(crd: &Value) -> Result<Self, CompileError> {
        let spec = &crd["spec"];
        let group = text(spec, "group");
        let names = match &crd["status"]["acceptedNames"] {
            Value::Null => Names::read(&spec["names"]),
            accepted => Names::read(accepted),
        };
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
            terminating: is_terminating(crd),
            group,
            names,
            versions,
        })
    }

    /// Returns the names of the kind.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Returns `spec.conversion`.
    pub fn conversion(&self) -> &Value {
        &self.conversion
    }

    /// Compiles the validation rules of every version. Otherwise, they are compiled when the first object of a version is
    /// validated.
    pub fn compile_rules(&self) {
        for version in &self.versions {
            version.rules.get(&version.schema);
        }
    }
}

/// Returns whether the CRD is being deleted, so that no objects may be created.
fn is_terminating(crd: &Value) -> bool {
    let conditions = crd["status"]["conditions"].as_array();
    let is =
        |condition: &Value| condition["type"] == "Terminating" && condition["status"] == "True";
    conditions.is_some_and(|conditions| conditions.iter().any(is))
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

/// Returns the warning for a deprecated version: that of the CRD, or a default one that recommends another version.
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
