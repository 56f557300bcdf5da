//! Moves ownership when an object changes.

use super::conflict::{Conflict, Conflicts};
use super::endpoint::{ConvertError, Endpoint};
use super::entry::{Entry, ManagedFields};
use crate::fieldset::{FieldSet, Path};
use crate::schema::Schema;
use crate::typed::{self, Comparison};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A change whose ownership cannot be computed.
pub(super) enum Failure {
    Conflicts(Conflicts),
    Other(String),
}

/// The comparisons of one change, by version.
struct Changes<'a, S> {
    old: &'a Value,
    new: &'a Value,
    endpoint: &'a Endpoint<'a, S>,
    here: Comparison,
    elsewhere: BTreeMap<String, Option<Comparison>>,
}

/// The fields that identify an object or belong to the server, which have no owner.
static NOBODYS: LazyLock<FieldSet> = LazyLock::new(|| {
    let top: [&[&str]; 3] = [&["apiVersion"], &["kind"], &["metadata"]];
    let metadata = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    let top = top
        .into_iter()
        .map(|path| Path::of_fields(path.iter().copied()));
    top.chain(metadata.map(|name| Path::of_fields(["metadata", name])))
        .collect()
});

/// A set without the fields that cannot be owned.
pub(super) fn strip(set: &FieldSet) -> FieldSet {
    set.difference(&NOBODYS)
}

/// The effect of reconciling on entries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reconciled {
    /// Nothing changed: the entries fit the schema, and each owns something.
    AsTheyWere,
    /// Something changed.
    Changed,
}

/// Adjusts entries to the current schema, and drops those of versions that no longer exist.
pub(super) fn reconcile<S: Schema>(
    live: &Value,
    endpoint: &Endpoint<'_, S>,
    managed: &mut ManagedFields,
) -> Result<Reconciled, String> {
    let mut reconciled = Reconciled::AsTheyWere;
    let mut schemas: BTreeMap<String, Option<S>> = BTreeMap::new();
    let mut failure = None;
    managed.entries.retain_mut(|entry| {
        let schema = if entry.api_version == endpoint.api_version {
            Some(endpoint.schema)
        } else {
            *schemas.entry(entry.api_version.clone()).or_insert_with(|| {
                match endpoint.convert(live, &entry.api_version) {
                    Ok(converted) => Some(converted.schema),
                    Err(ConvertError::NoSuchVersion) => None,
                    Err(ConvertError::Failed(why)) => {
                        failure.get_or_insert(why);
                        None
                    }
                }
            })
        };
        let Some(schema) = schema else {
            reconciled = Reconciled::Changed;
            return false;
        };
        if let Some(fields) = typed::reconcile(schema, &entry.fields) {
            entry.fields = fields;
            reconciled = Reconciled::Changed;
        }
        if entry.fields.is_empty() {
            reconciled = Reconciled::Changed;
        }
        true
    });
    failure.map_or(Ok(reconciled), Err)
}

/// Removes changed and removed fields from every entry but `own`, and drops entries that no longer own anything.
///
/// Returns the changes of the object in the endpoint's version. Without `force`, changing a field that another entry
/// owns is a
/// conflict.
pub(super) fn release<S: Schema>(
    old: &Value,
    new: &Value,
    endpoint: &Endpoint<'_, S>,
    managed: &mut ManagedFields,
    own: Option<usize>,
    force: bool,
) -> Result<Comparison, Failure> {
    let here = typed::compare(endpoint.schema, old, new)
        .map_err(|e| Failure::Other(format!("failed to compare objects: {e}")))?
        .filtered(endpoint.versions.filter(endpoint.api_version));
    let mut changes = Changes {
        old,
        new,
        endpoint,
        here,
        elsewhere: BTreeMap::new(),
    };
    let mut conflicts = Vec::new();
    let mut kept = Vec::with_capacity(managed.entries.len());
    for (index, mut entry) in std::mem::take(&mut managed.entries).into_iter().enumerate() {
        if own != Some(index) {
            let Some(comparison) = changes.at(&entry.api_version)? else {
                continue;
            };
            let changed = comparison.modified.union(&comparison.added);
            if !force {
                collect_conflicts(&entry, &changed, &mut conflicts);
            }
            let gone = changed.union(&comparison.removed);
            if !gone.is_empty() {
                entry.fields = entry.fields.difference(&gone);
            }
        }
        if !entry.fields.is_empty() {
            kept.push(entry);
        }
    }
    managed.entries = kept;
    if conflicts.is_empty() {
        Ok(changes.here)
    } else {
        Err(Failure::Conflicts(Conflicts::sorted(conflicts)))
    }
}

fn collect_conflicts(entry: &Entry, changed: &FieldSet, conflicts: &mut Vec<Conflict>) {
    entry.fields.intersection(changed).for_each(|path| {
        conflicts.push(Conflict::new(entry, Path(path.to_vec())));
    });
}

impl<S: Schema> Changes<'_, S> {
    /// The comparison in a version; none if the version is gone.
    fn at(&mut self, api_version: &str) -> Result<Option<&Comparison>, Failure> {
        if api_version == self.endpoint.api_version {
            return Ok(Some(&self.here));
        }
        if !self.elsewhere.contains_key(api_version) {
            let comparison = self.compare_at(api_version).map_err(Failure::Other)?;
            self.elsewhere.insert(api_version.to_owned(), comparison);
        }
        Ok(self.elsewhere.get(api_version).and_then(Option::as_ref))
    }

    fn compare_at(&self, api_version: &str) -> Result<Option<Comparison>, String> {
        let old = match self.endpoint.convert(self.old, api_version) {
            Ok(converted) => converted,
            Err(ConvertError::NoSuchVersion) => return Ok(None),
            Err(e) => return Err(format!("failed to convert old object: {e}")),
        };
        let new = match self.endpoint.convert(self.new, api_version) {
            Ok(converted) => converted,
            Err(ConvertError::NoSuchVersion) => return Ok(None),
            Err(e) => return Err(format!("failed to convert new object: {e}")),
        };
        let comparison = typed::compare(new.schema, &old.object, &new.object)
            .map_err(|e| format!("failed to compare objects: {e}"))?;
        Ok(Some(
            comparison.filtered(self.endpoint.versions.filter(api_version)),
        ))
    }
}
