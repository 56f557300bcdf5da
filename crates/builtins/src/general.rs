//! The defaults of every kind.
//!
//! The functions here are the defaults of [`KindRules`](crate::KindRules) and the building blocks kinds share: keeping
//! `status` apart from `spec`, counting generations.

use kubewright_machinery::field::ErrorList;
use serde_json::Value;

use crate::{
    json::{Read, Write, same},
    meta,
};

/// Leaves the object as it is.
pub fn nothing(_: &mut Value) {}

/// Leaves the object as it is on update.
pub fn nothing_on_update(_: &mut Value, _: &Value) {}

/// Returns true.
pub fn always(_: &Value) -> bool {
    true
}

/// Returns no warnings.
pub fn no_warnings(_: &Value) -> Vec<String> {
    Vec::new()
}

/// Returns no warnings.
pub fn no_update_warnings(_: &Value, _: &Value) -> Vec<String> {
    Vec::new()
}

/// Validates metadata with a name that fits into a path.
pub fn validate_create(obj: &Value) -> ErrorList {
    let namespaced = !obj["metadata"]["namespace"].text().is_empty();
    meta::validate(obj, namespaced, meta::path_segment)
}

/// Validates metadata and its immutable fields on update.
pub fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let namespaced = !old["metadata"]["namespace"].text().is_empty();
    meta::common(new, old, namespaced)
}

/// Keeps the old `spec`, because a status update changes only `status` and metadata.
pub fn keep_all_but_status(new: &mut Value, old: &Value) {
    copy(new, old, "spec");
}

/// Keeps the old `spec` and metadata.
pub fn keep_metadata_and_spec(new: &mut Value, old: &Value) {
    copy(new, old, "spec");
    reset_metadata_for_status(new, old);
}

/// Removes the status of a new object.
pub fn drop_status(obj: &mut Value) {
    obj.forget("status");
}

/// Sets the generation of a new object to 1.
pub fn start_generation(obj: &mut Value) {
    obj.field("metadata").put("generation", 1);
}

/// Removes the status of a new object and sets its generation to 1.
pub fn drop_status_and_start_generation(obj: &mut Value) {
    drop_status(obj);
    start_generation(obj);
}

/// Keeps the old status.
pub fn keep_status(new: &mut Value, old: &Value) {
    copy(new, old, "status");
}

/// Increments the generation if the spec changes.
pub fn count_spec_changes(new: &mut Value, old: &Value) {
    if !same(&new["spec"], &old["spec"]) {
        next_generation(new, old);
    }
}

/// Keeps the old status, and increments the generation if the spec changes.
pub fn keep_status_and_count_spec_changes(new: &mut Value, old: &Value) {
    keep_status(new, old);
    count_spec_changes(new, old);
}

/// Increments the generation.
pub(crate) fn next_generation(new: &mut Value, old: &Value) {
    let next = old["metadata"]["generation"].int().saturating_add(1);
    new.field("metadata").put("generation", next);
}

/// Sets `new.field` to `old.field`, or removes it if the old one has none.
pub(crate) fn copy(new: &mut Value, old: &Value, field: &str) {
    match old.get(field) {
        Some(v) => new.put(field, v.clone()),
        None => new.forget(field),
    };
}

/// Restores the metadata that a status write may not change.
pub(crate) fn reset_metadata_for_status(new: &mut Value, old: &Value) {
    const KEPT: [&str; 7] = [
        "deletionTimestamp",
        "generation",
        "selfLink",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
    ];
    for field in KEPT {
        copy(new.field("metadata"), &old["metadata"], field);
    }
}
