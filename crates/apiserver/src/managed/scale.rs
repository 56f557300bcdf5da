//! Who manages the replicas, seen on a scale: the owners of the parent's `spec.replicas`, and nobody else.

use kubewright_merge::{
    fieldset::{FieldSet, PathElement},
    managed::{Entry, ManagedFields},
};
use serde_json::Value;

const SCALE_VERSION: &str = "autoscaling/v1";

/// The managers of a parent, as far as its scale is concerned.
pub struct ScaleOwners {
    parent: ManagedFields,
    api_version: String,
}

fn replicas() -> [PathElement; 2] {
    [PathElement::field("spec"), PathElement::field("replicas")]
}

fn only_replicas() -> FieldSet {
    let mut set = FieldSet::default();
    set.insert(&replicas());
    set
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
    pub fn of(parent: &Value, api_version: &str) -> Self {
        let parent =
            ManagedFields::decode(&parent["metadata"]["managedFields"]).unwrap_or_default();
        Self {
            parent,
            api_version: api_version.to_owned(),
        }
    }

    /// `managedFields` of the scale.
    pub fn on_scale(&self) -> Value {
        let owners = self.parent.entries.iter().filter(|entry| {
            entry.api_version == self.api_version && entry.fields.contains(&replicas())
        });
        let entries = owners.map(|entry| Entry {
            api_version: SCALE_VERSION.to_owned(),
            fields: only_replicas(),
            ..entry.clone()
        });
        ManagedFields {
            entries: entries.collect(),
        }
        .encode()
    }

    /// `managedFields` of the parent after the scale was written.
    pub fn on_parent(&self, scale: &Value) -> Value {
        let mut writers = ManagedFields::decode(scale).unwrap_or_default().entries;
        let mut entries = Vec::new();
        for entry in &self.parent.entries {
            if entry.api_version != self.api_version {
                continue;
            }
            if !entry.fields.contains(&replicas()) {
                entries.push(entry.clone());
                continue;
            }
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
                    let rest = entry.fields.difference(&only_replicas());
                    if !rest.is_empty() {
                        entries.push(Entry {
                            fields: rest,
                            ..entry.clone()
                        });
                    }
                }
            }
        }
        entries.extend(
            writers
                .into_iter()
                .filter(|w| !w.fields.is_empty())
                .map(|writer| Entry {
                    api_version: self.api_version.clone(),
                    fields: only_replicas(),
                    // The real server loses the time on the way to the parent.
                    time: None,
                    ..writer
                }),
        );
        ManagedFields { entries }.encode()
    }
}
