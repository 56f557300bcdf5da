//! Validates metadata of built-in kinds: the general rules, and finalizer names that are either known or qualified.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::{NameCheck, NameForm, names, validate_object_meta, validate_object_meta_update},
};
use serde_json::Value;

use crate::json::Read;

/// The finalizers that need no domain.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Validates a name that only has to fit into a URL path.
pub(crate) fn path_segment(name: &str, form: NameForm) -> Vec<String> {
    names::name_is_path_segment(name, form)
}

/// Validates a whole name that has to fit into a URL path, even if it is a prefix.
pub(crate) fn path_name(name: &str, _: NameForm) -> Vec<String> {
    names::is_path_segment_name(name)
}

/// Validates a DNS subdomain.
pub(crate) fn subdomain(name: &str, form: NameForm) -> Vec<String> {
    names::name_is_dns_subdomain(name, form)
}

/// Validates a DNS label.
pub(crate) fn label(name: &str, form: NameForm) -> Vec<String> {
    names::name_is_dns_label(name, form)
}

/// Validates the metadata of an object.
pub(crate) fn validate(obj: &Value, namespaced: bool, name: NameCheck) -> ErrorList {
    validate_at(&obj["metadata"], namespaced, name, &Path::new("metadata"))
}

/// Validates metadata at a path.
pub(crate) fn validate_at(
    meta: &Value,
    namespaced: bool,
    name: NameCheck,
    path: &Path,
) -> ErrorList {
    let mut errors = validate_object_meta(meta, namespaced.into(), name, path);
    errors.extend(validate_finalizers(meta, path));
    errors
}

/// Validates an update of metadata.
pub(crate) fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let path = Path::new("metadata");
    let mut errors = validate_object_meta_update(&new["metadata"], &old["metadata"], &path);
    errors.extend(validate_finalizers(&new["metadata"], &path));
    errors
}

/// Validates the metadata of an object whose finalizers may have any name.
pub(crate) fn validate_general(obj: &Value, namespaced: bool, name: NameCheck) -> ErrorList {
    let path = Path::new("metadata");
    validate_object_meta(&obj["metadata"], namespaced.into(), name, &path)
}

/// Validates an update of metadata whose finalizers may have any name.
pub(crate) fn validate_general_update(new: &Value, old: &Value) -> ErrorList {
    validate_object_meta_update(&new["metadata"], &old["metadata"], &Path::new("metadata"))
}

/// Validates every update, before the validation of the kind.
pub(crate) fn common(new: &Value, old: &Value, namespaced: bool) -> ErrorList {
    let path = Path::new("metadata");
    let (new, old) = (&new["metadata"], &old["metadata"]);
    let mut errors = validate_object_meta(new, namespaced.into(), path_segment, &path);
    errors.extend(validate_object_meta_update(new, old, &path));
    errors
}

fn validate_finalizers(meta: &Value, path: &Path) -> ErrorList {
    let path = path.child("finalizers");
    let mut errors = ErrorList::new();
    for (i, finalizer) in meta["finalizers"].items().iter().enumerate() {
        validate_finalizer_name(finalizer.text(), &path.index(i), &mut errors);
    }
    errors
}

/// Checks that a finalizer has a domain, or is one of the built-in ones without.
pub(crate) fn validate_finalizer_name(name: &str, path: &Path, errors: &mut ErrorList) {
    if !name.contains('/') && !STANDARD_FINALIZERS.contains(&name) {
        let message = "name is neither a standard finalizer name nor is it fully qualified";
        errors.push(field::invalid_str(path, name, message));
    }
}
