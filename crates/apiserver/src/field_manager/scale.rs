//! Managed fields of a `scale`: the owners of the replicas of its parent.

use kubewright_machinery::{Status, status};
use kubewright_merge::{
    fieldset::{FieldSet, PathElement},
    managed::{Entry, ManagedFields},
};
use serde_json::Value;

const SCALE_VERSION: &str = "autoscaling/v1";

/// The path of the replicas in every version of the parent; `None` for a version without a scale.
///
/// ```
/// use kubewright_apiserver::{ReplicasPaths, ScaleOwners};
/// use serde_json::json;
///
/// let mut paths = ReplicasPaths::usual("sky.example.com/v1");
/// paths.add("sky.example.com/v2", Some(".spec.size"));
///
/// let parent = json!({"metadata": {"managedFields": [{
///     "manager": "kubectl", "operation": "Update", "apiVersion": "sky.example.com/v2",
///     "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:size": {}}},
/// }]}});
/// let owners = ScaleOwners::of(&parent, "sky.example.com/v1", paths).unwrap();
/// assert_eq!(owners.on_scale()[0]["manager"], "kubectl");
/// assert_eq!(owners.on_scale()[0]["apiVersion"], "autoscaling/v1");
/// ```
#[derive(Clone, Debug, Default)]
pub struct ReplicasPaths(Vec<(String, Option<Vec<PathElement>>)>);

/// The managers of a parent that own its replicas.
///
/// See [`ReplicasPaths`] for an example.
pub struct ScaleOwners {
    parent: ManagedFields,
    api_version: String,
    paths: ReplicasPaths,
}

/// Returns the path of the replicas of a scale.
fn replicas() -> Vec<PathElement> {
    vec![PathElement::field("spec"), PathElement::field("replicas")]
}

fn only(path: &[PathElement]) -> FieldSet {
    let mut set = FieldSet::default();
    set.insert(path);
    set
}

impl ReplicasPaths {
    /// Returns the path `spec.replicas` for one version.
    pub fn usual(api_version: &str) -> Self {
        Self(vec![(api_version.to_owned(), Some(replicas()))])
    }

    /// Adds a version. The path is dotted; a leading dot is ignored.
    pub fn add(&mut self, api_version: &str, path: Option<&str>) {
        let split = |path: &str| {
            let path = path.strip_prefix('.').unwrap_or(path);
            path.split('.').map(PathElement::field).collect()
        };
        self.0.push((api_version.to_owned(), path.map(split)));
    }

    /// Returns `None` for an unknown version.
    fn of(&self, api_version: &str) -> Option<Option<&[PathElement]>> {
        let found = self.0.iter().find(|(version, _)| version == api_version)?;
        Some(found.1.as_deref())
    }
}

fn same_manager(a: &Entry, b: &Entry) -> bool {
    a.manager == b.manager
        && a.operation == b.operation
        && a.subresource == b.subresource
        && (a.operation == kubewright_merge::managed::Operation::Apply
            || a.api_version == b.api_version)
}

impl ScaleOwners {
    /// Reads the managers of a parent that is served in that version.
    ///
    /// # Errors
    ///
    /// Fails with 500 if the managed fields of the parent cannot be decoded.
    pub fn of(parent: &Value, api_version: &str, paths: ReplicasPaths) -> Result<Self, Status> {
        Ok(Self {
            parent: managers(&parent["metadata"]["managedFields"])?,
            api_version: api_version.to_owned(),
            paths,
        })
    }

    /// Returns the `managedFields` of the scale.
    pub fn on_scale(&self) -> Value {
        let owners = self.parent.entries.iter().filter(|entry| {
            let path = self.paths.of(&entry.api_version).flatten();
            path.is_some_and(|path| entry.fields.contains(path))
        });
        let entries = owners.map(|entry| Entry {
            api_version: SCALE_VERSION.to_owned(),
            fields: only(&replicas()),
            ..entry.clone()
        });
        ManagedFields {
            entries: entries.collect(),
        }
        .encode()
    }

    /// Returns the `managedFields` of the parent after the scale was written.
    ///
    /// # Errors
    ///
    /// Fails with 500 if the managed fields of the scale cannot be decoded.
    pub fn on_parent(&self, scale: &Value) -> Result<Value, Status> {
        let mut writers = managers(scale)?.entries;
        let mut entries = Vec::new();
        for entry in &self.parent.entries {
            let Some(path) = self.paths.of(&entry.api_version) else {
                continue;
            };
            let Some(path) = path.filter(|path| entry.fields.contains(path)) else {
                entries.push(entry.clone());
                continue;
            };
            match writers
                .iter()
                .position(|writer| same_manager(writer, entry))
            {
                // It still owns them.
                Some(i) => {
                    writers.remove(i);
                    entries.push(entry.clone());
                }
                // Somebody else took them.
                None => {
                    let rest = entry.fields.difference(&only(path));
                    if !rest.is_empty() {
                        entries.push(Entry {
                            fields: rest,
                            ..entry.clone()
                        });
                    }
                }
            }
        }
        let own = self
            .paths
            .of(&self.api_version)
            .flatten()
            .unwrap_or_default();
        entries.extend(
            writers
                .into_iter()
                .filter(|w| !w.fields.is_empty())
                .map(|writer| Entry {
                    api_version: self.api_version.clone(),
                    fields: only(own),
                    // kube-apiserver loses the time on the way to the parent.
                    time: None,
                    ..writer
                }),
        );
        Ok(ManagedFields { entries }.encode())
    }
}

/// Decodes managed fields.
fn managers(entries: &Value) -> Result<ManagedFields, Status> {
    ManagedFields::decode(entries).map_err(|e| status::unknown(e.to_string()))
}
