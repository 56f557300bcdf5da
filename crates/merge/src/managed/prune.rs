//! Removes fields that a manager applied before and no longer applies.
//!
//! A field is removed if the manager owned it, does not name it now, and no other manager owns it. What the manager never
//! owned stays, even inside of something it drops.

use super::endpoint::{ConvertError, Endpoint};
use super::entry::ManagedFields;
use crate::fieldset::FieldSet;
use crate::schema::Schema;
use crate::typed::{remove_items, to_named_field_set};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The fields that a manager owned by its last apply.
pub(super) struct Last {
    pub(super) fields: FieldSet,
    pub(super) api_version: String,
}

/// An object in some version.
#[derive(Clone)]
struct Versioned<S> {
    object: Value,
    schema: S,
    api_version: String,
}

/// The merged object without what the manager dropped. `managed` already has what the manager claims now.
pub(super) fn prune<S: Schema>(
    merged: Value,
    managed: &ManagedFields,
    own: usize,
    last: Option<&Last>,
    endpoint: &Endpoint<'_, S>,
) -> Result<Value, String> {
    let Some(last) = last.filter(|last| !last.fields.is_empty()) else {
        return Ok(merged);
    };
    let claimed = managed.entries.get(own).map(|entry| &entry.fields);
    let nothing_dropped = last.api_version == endpoint.api_version
        && claimed.is_some_and(|claimed| last.fields.is_subset(claimed));
    if nothing_dropped {
        return Ok(merged);
    }
    let here = Versioned {
        object: merged,
        schema: endpoint.schema,
        api_version: endpoint.api_version.to_owned(),
    };
    let merged = match here.at(&last.api_version, endpoint) {
        Ok(merged) => merged,
        Err(ConvertError::NoSuchVersion) => return Ok(here.object.clone()),
        Err(e) => {
            return Err(format!(
                "failed to convert merged object to last applied version: {e}"
            ));
        }
    };
    let dropped = last.fields.ensure_named_fields(merged.schema);
    let fields = merged.fields()?;
    let pruned = merged.without(&dropped);
    let pruned = add_back_owned(&merged, &fields, pruned, managed, endpoint)
        .map_err(|e| format!("failed add back owned items: {e}"))?;
    let pruned = add_back_dangling(&merged, &fields, &pruned, &dropped, endpoint)
        .map_err(|e| format!("failed add back dangling items: {e}"))?;
    match pruned.at(endpoint.api_version, endpoint) {
        Ok(pruned) => Ok(pruned.into_owned().object),
        Err(e) => Err(e.to_string()),
    }
}

/// Restores fields that others own, in the version in which they are owned.
fn add_back_owned<S: Schema>(
    merged: &Versioned<S>,
    fields: &FieldSet,
    mut pruned: Versioned<S>,
    managed: &ManagedFields,
    endpoint: &Endpoint<'_, S>,
) -> Result<Versioned<S>, String> {
    let mut owned: BTreeMap<&str, FieldSet> = BTreeMap::new();
    for entry in &managed.entries {
        let set = owned.entry(&entry.api_version).or_default();
        *set = set.union(&entry.fields);
    }
    // First in the version of the pruned object: conversion may need fields that were pruned.
    let first = owned.remove_entry(merged.api_version.as_str());
    let mut merged = Cow::Borrowed(merged);
    let mut fields = Cow::Borrowed(fields);
    for (api_version, owned) in first.into_iter().chain(owned) {
        let failed = |what: &str, e: ConvertError| match e {
            ConvertError::NoSuchVersion => Ok(()),
            e => Err(format!(
                "failed to convert {what} object at version {api_version}: {e}"
            )),
        };
        if merged.api_version != api_version {
            let there = match merged.at(api_version, endpoint) {
                Ok(there) => there.into_owned(),
                Err(e) => {
                    failed("merged", e)?;
                    continue;
                }
            };
            fields = Cow::Owned(there.fields()?);
            merged = Cow::Owned(there);
        }
        let keep = match pruned.at(api_version, endpoint) {
            Ok(there) => there
                .fields()?
                .union(&owned.ensure_named_fields(merged.schema)),
            Err(e) => {
                failed("pruned", e)?;
                continue;
            }
        };
        pruned = merged.without(&fields.difference(&keep));
    }
    Ok(pruned)
}

/// Puts back what the manager never owned.
fn add_back_dangling<S: Schema>(
    merged: &Versioned<S>,
    fields: &FieldSet,
    pruned: &Versioned<S>,
    dropped: &FieldSet,
    endpoint: &Endpoint<'_, S>,
) -> Result<Versioned<S>, String> {
    let pruned = match pruned.at(&merged.api_version, endpoint) {
        Ok(pruned) => pruned,
        Err(ConvertError::NoSuchVersion) => return Ok(merged.clone()),
        Err(e) => {
            return Err(format!(
                "failed to convert pruned object to last applied version: {e}"
            ));
        }
    };
    let gone = fields.difference(&pruned.fields()?).intersection(dropped);
    Ok(merged.without(&gone))
}

impl<S: Schema> Versioned<S> {
    fn at(
        &self,
        api_version: &str,
        endpoint: &Endpoint<'_, S>,
    ) -> Result<Cow<'_, Self>, ConvertError> {
        if self.api_version == api_version {
            return Ok(Cow::Borrowed(self));
        }
        let converted = endpoint.convert(&self.object, api_version)?;
        Ok(Cow::Owned(Versioned {
            object: converted.object,
            schema: converted.schema,
            api_version: api_version.to_owned(),
        }))
    }

    fn without(&self, set: &FieldSet) -> Self {
        let object = remove_items(self.schema, &self.object, set);
        Versioned {
            object,
            schema: self.schema,
            api_version: self.api_version.clone(),
        }
    }

    fn fields(&self) -> Result<FieldSet, String> {
        to_named_field_set(self.schema, &self.object)
            .map_err(|e| format!("failed to create field set: {e}"))
    }
}
