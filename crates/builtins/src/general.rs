//! The general case: what every kind does unless it says otherwise.
//!
//! The functions here are the defaults of [`KindRules`](crate::KindRules) and the building blocks kinds share: keeping
//! `status` apart from `spec`, counting generations.

use kubewright_machinery::field::ErrorList;
use serde_json::Value;

use crate::{
    json::{Read, Write, same},
    meta,
};

/// Does nothing.
pub fn nothing(_: &mut Value) {}

/// Does nothing on update.
pub fn nothing_on_update(_: &mut Value, _: &Value) {}

/// No warnings.
pub fn no_warnings(_: &Value) -> Vec<String> {
    Vec::new()
}

/// No warnings.
pub fn no_update_warnings(_: &Value, _: &Value) -> Vec<String> {
    Vec::new()
}

/// Metadata with a name that fits into a path.
pub fn validate_create(obj: &Value) -> ErrorList {
    let namespaced = !obj["metadata"]["namespace"].text().is_empty();
    meta::validate(obj, namespaced, meta::path_segment)
}

/// Metadata that is fine, and that may not change.
pub fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let namespaced = !old["metadata"]["namespace"].text().is_empty();
    meta::common(new, old, namespaced)
}

/// A status update changes `status` and metadata only: `spec` is the old one.
pub fn keep_all_but_status(new: &mut Value, old: &Value) {
    copy(new, old, "spec");
}

/// A status update that leaves metadata alone too.
pub fn keep_metadata_and_spec(new: &mut Value, old: &Value) {
    copy(new, old, "spec");
    reset_metadata_for_status(new, old);
}

/// A new object has no status.
pub fn drop_status(obj: &mut Value) {
    obj.forget("status");
}

/// A new object is of the first generation.
pub fn start_generation(obj: &mut Value) {
    obj.field("metadata").put("generation", 1);
}

/// A new object has no status and is of the first generation.
pub fn drop_status_and_start_generation(obj: &mut Value) {
    drop_status(obj);
    start_generation(obj);
}

/// An update of the main endpoint keeps the status.
pub fn keep_status(new: &mut Value, old: &Value) {
    copy(new, old, "status");
}

/// An update that changes the spec makes the next generation.
pub fn count_spec_changes(new: &mut Value, old: &Value) {
    if !same(&new["spec"], &old["spec"]) {
        next_generation(new, old);
    }
}

/// An update keeps the status, and makes the next generation if it changes the spec.
pub fn keep_status_and_count_spec_changes(new: &mut Value, old: &Value) {
    keep_status(new, old);
    count_spec_changes(new, old);
}

/// The generation after the old one.
pub(crate) fn next_generation(new: &mut Value, old: &Value) {
    let next = old["metadata"]["generation"].int().saturating_add(1);
    new.field("metadata").put("generation", next);
}

/// `new.field = old.field`, absent included.
pub(crate) fn copy(new: &mut Value, old: &Value, field: &str) {
    match old.get(field) {
        Some(v) => new.put(field, v.clone()),
        None => new.forget(field),
    };
}

/// The metadata that a status write may not change is the old one.
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
