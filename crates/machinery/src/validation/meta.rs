//! An object's metadata as a whole.

use serde_json::Value;

use super::{
    NameCheck, NameForm, Scope,
    metadata_fields::{
        validate_annotations, validate_finalizers, validate_labels, validate_managed_fields,
        validate_no_new_finalizers, validate_owner_references,
    },
    names,
};
use crate::{
    field::{self, ErrorList, Path},
    go,
    time::Time,
};

/// The detail of the error for a changed field that is immutable.
pub const IMMUTABLE: &str = "field is immutable";

/// Checks the metadata of a new object, after its name was generated. `path` is where the metadata is.
pub fn validate_object_meta(
    meta: &Value,
    scope: Scope,
    name_check: NameCheck,
    path: &Path,
) -> ErrorList {
    let mut errors = ErrorList::new();
    let base = text(meta, "generateName");
    if !base.is_empty() {
        for reason in name_check(base, NameForm::Prefix) {
            errors.push(field::invalid_str(
                &path.child("generateName"),
                base,
                reason,
            ));
        }
    }
    let name = text(meta, "name");
    let name_path = path.child("name");
    if name.is_empty() {
        errors.push(field::required(
            &name_path,
            "name or generateName is required",
        ));
    } else {
        for reason in name_check(name, NameForm::Whole) {
            errors.push(field::invalid_str(&name_path, name, reason));
        }
    }
    errors.extend(validate_namespace(text(meta, "namespace"), scope, path));
    let generation = int(meta, "generation");
    if generation < 0 {
        let path = path.child("generation");
        let value = Value::from(generation);
        errors.push(field::invalid(
            &path,
            &value,
            "must be greater than or equal to 0",
        ));
    }
    errors.extend(validate_labels(get(meta, "labels"), &path.child("labels")));
    errors.extend(validate_annotations(
        get(meta, "annotations"),
        &path.child("annotations"),
    ));
    errors.extend(validate_owner_references(
        get(meta, "ownerReferences"),
        &path.child("ownerReferences"),
    ));
    errors.extend(validate_finalizers(
        get(meta, "finalizers"),
        &path.child("finalizers"),
    ));
    errors.extend(validate_managed_fields(
        get(meta, "managedFields"),
        &path.child("managedFields"),
    ));
    errors
}

/// Validates changes of an object's metadata. `path` is the path of the metadata.
///
/// ```
/// use kubewright_machinery::{field::Path, validation::validate_object_meta_update};
/// use serde_json::json;
///
/// let old = json!({"name": "web", "uid": "1", "resourceVersion": "5"});
/// let new = json!({"name": "shop", "uid": "1", "resourceVersion": "5"});
/// let errors = validate_object_meta_update(&new, &old, &Path::new("metadata"));
/// assert_eq!(errors[0].field, "metadata.name");
/// ```
pub fn validate_object_meta_update(new: &Value, old: &Value, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    if !get(old, "deletionTimestamp").is_null() {
        errors.extend(validate_no_new_finalizers(
            get(new, "finalizers"),
            get(old, "finalizers"),
            &path.child("finalizers"),
        ));
    }
    if text(new, "resourceVersion").is_empty() {
        let path = path.child("resourceVersion");
        errors.push(field::invalid_str(
            &path,
            "",
            "must be specified for an update",
        ));
    }
    let generation = int(new, "generation");
    if generation < int(old, "generation") {
        let path = path.child("generation");
        errors.push(field::invalid(
            &path,
            &generation.into(),
            "must not be decremented",
        ));
    }
    for name in ["name", "namespace"] {
        if text(new, name) != text(old, name) {
            errors.push(field::invalid_str(
                &path.child(name),
                text(new, name),
                IMMUTABLE,
            ));
        }
    }
    if text(new, "uid") != text(old, "uid") {
        let uid = go::json(&Value::from(text(new, "uid")));
        errors.push(field::invalid_raw(&path.child("uid"), uid, IMMUTABLE));
    }
    for name in ["creationTimestamp", "deletionTimestamp"] {
        let (new, old) = (time(new, name), time(old, name));
        if new != old {
            let value = new.map_or(Value::Null, |t| t.to_seconds().into());
            errors.push(field::invalid(&path.child(name), &value, IMMUTABLE));
        }
    }
    let grace = "deletionGracePeriodSeconds";
    if get(new, grace) != get(old, grace) {
        errors.push(field::invalid(
            &path.child(grace),
            get(new, grace),
            IMMUTABLE,
        ));
    }
    errors.extend(validate_labels(get(new, "labels"), &path.child("labels")));
    errors.extend(validate_annotations(
        get(new, "annotations"),
        &path.child("annotations"),
    ));
    errors.extend(validate_owner_references(
        get(new, "ownerReferences"),
        &path.child("ownerReferences"),
    ));
    errors.extend(validate_managed_fields(
        get(new, "managedFields"),
        &path.child("managedFields"),
    ));
    errors
}

fn validate_namespace(namespace: &str, scope: Scope, path: &Path) -> ErrorList {
    let path = path.child("namespace");
    match (scope, namespace.is_empty()) {
        (Scope::Namespaced, true) => vec![field::required(&path, "")],
        (Scope::Namespaced, false) => names::name_is_dns_label(namespace, NameForm::Whole)
            .into_iter()
            .map(|reason| field::invalid_str(&path, namespace, reason))
            .collect(),
        (Scope::Cluster, false) => vec![field::forbidden(&path, "not allowed on this type")],
        (Scope::Cluster, true) => Vec::new(),
    }
}

fn get<'a>(meta: &'a Value, name: &str) -> &'a Value {
    meta.get(name).unwrap_or(&Value::Null)
}

fn text<'a>(meta: &'a Value, name: &str) -> &'a str {
    get(meta, name).as_str().unwrap_or_default()
}

fn int(meta: &Value, name: &str) -> i64 {
    get(meta, name).as_i64().unwrap_or_default()
}

/// Returns a time; the zero time and `null` count as missing.
fn time(meta: &Value, name: &str) -> Option<Time> {
    let time = get(meta, name).as_str().and_then(|t| Time::parse(t).ok());
    time.filter(|t| !t.is_zero())
}
