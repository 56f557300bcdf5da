//! Checks single fields of an object's metadata.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{names, owner::OwnerReference};
use crate::{
    field::{self, ErrorList, Path},
    go,
    gvk::{GroupVersion, GroupVersionKind},
};

/// The most bytes that all annotations together may take.
pub const MAX_ANNOTATIONS: usize = 256 * 1024;
/// The longest name of a field manager.
const MAX_FIELD_MANAGER: usize = 128;
/// The longest name of a subresource in managed fields.
const MAX_SUBRESOURCE: usize = 256;

/// Checks labels, given as an object of strings.
///
/// ```
/// use kubewright_machinery::{field::Path, validation::validate_labels};
/// use serde_json::json;
///
/// let errors = validate_labels(&json!({"app": "web shop"}), &Path::new("metadata").child("labels"));
/// assert_eq!(errors[0].field, "metadata.labels");
/// ```
pub fn validate_labels(labels: &Value, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    for (key, value) in strings(labels) {
        for reason in names::is_qualified_name(key) {
            errors.push(field::invalid_str(path, key, reason));
        }
        for reason in names::is_label_value(value) {
            errors.push(field::invalid_str(path, value, reason));
        }
    }
    errors
}

/// Checks annotations, given as an object of strings. The case of keys does not matter.
///
/// ```
/// use kubewright_machinery::{field::Path, validation::validate_annotations};
/// use serde_json::json;
///
/// let path = Path::new("metadata").child("annotations");
/// assert!(validate_annotations(&json!({"Example.com/note": "any text"}), &path).is_empty());
/// assert_eq!(validate_annotations(&json!({"a b": ""}), &path).len(), 1);
/// ```
pub fn validate_annotations(annotations: &Value, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    let mut size = 0usize;
    for (key, value) in strings(annotations) {
        for reason in names::is_qualified_name(&key.to_lowercase()) {
            errors.push(field::invalid_str(path, key, reason));
        }
        size = size.saturating_add(key.len()).saturating_add(value.len());
    }
    if size > MAX_ANNOTATIONS {
        errors.push(field::too_long(path, MAX_ANNOTATIONS));
    }
    errors
}

/// Checks owners, of which at most one may be the controller.
///
/// ```
/// use kubewright_machinery::{field::Path, validation::validate_owner_references};
/// use serde_json::json;
///
/// let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": true});
/// let path = Path::new("metadata").child("ownerReferences");
/// assert!(validate_owner_references(&json!([owner]), &path).is_empty());
/// assert_eq!(validate_owner_references(&json!([owner, owner]), &path).len(), 1);
/// ```
pub fn validate_owner_references(owners: &Value, path: &Path) -> ErrorList {
    let list = OwnerReference::list(owners);
    let mut errors = ErrorList::new();
    let mut controller: Option<String> = None;
    for owner in &list {
        errors.extend(validate_owner(owner, path));
        if owner.controller != Some(true) {
            continue;
        }
        let name = format!("{}/{}", owner.kind, owner.name);
        match &controller {
            None => controller = Some(name),
            Some(first) => errors.push(field::invalid_raw(
                path,
                go::json_of(&list),
                format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {name}"
                ),
            )),
        }
    }
    errors
}

/// Checks the names of finalizers, and that not both ways of deleting dependents are asked for.
///
/// ```
/// use kubewright_machinery::{field::Path, validation::validate_finalizers};
/// use serde_json::json;
///
/// let path = Path::new("metadata").child("finalizers");
/// assert!(validate_finalizers(&json!(["example.com/dns"]), &path).is_empty());
/// assert_eq!(validate_finalizers(&json!(["orphan", "foregroundDeletion"]), &path).len(), 1);
/// ```
pub fn validate_finalizers(finalizers: &Value, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    for finalizer in list(finalizers) {
        for reason in names::is_qualified_name(finalizer) {
            errors.push(field::invalid_str(path, finalizer, reason));
        }
    }
    let has = |name| list(finalizers).any(|f| f == name);
    if has("orphan") && has("foregroundDeletion") {
        errors.push(field::invalid(
            path,
            finalizers,
            "finalizer orphan and foregroundDeletion cannot be both set",
        ));
    }
    errors
}

/// Checks finalizers of built-in kinds, which must be known or carry a domain, on top of [`validate_finalizers`].
///
/// ```
/// use kubewright_machinery::{field::Path, validation::validate_builtin_finalizers};
/// use serde_json::json;
///
/// let errors = validate_builtin_finalizers(&json!(["orphan", "mine"]), &Path::new("finalizers"));
/// assert_eq!(errors[0].field, "finalizers[1]");
/// ```
pub fn validate_builtin_finalizers(finalizers: &Value, path: &Path) -> ErrorList {
    let known = |f: &str| matches!(f, "kubernetes" | "orphan" | "foregroundDeletion");
    list(finalizers)
        .enumerate()
        .filter(|(_, f)| !f.contains('/') && !known(f))
        .map(|(i, f)| {
            let rule = "name is neither a standard finalizer name nor is it fully qualified";
            field::invalid_str(&path.index(i), f, rule)
        })
        .collect()
}

/// Checks that an object that is being deleted gets no new finalizers.
///
/// ```
/// use kubewright_machinery::{field::Path, validation::validate_no_new_finalizers};
/// use serde_json::json;
///
/// let (old, new) = (json!(["a/b"]), json!(["a/b", "c/d"]));
/// assert!(validate_no_new_finalizers(&old, &new, &Path::new("finalizers")).is_empty());
/// assert_eq!(validate_no_new_finalizers(&new, &old, &Path::new("finalizers")).len(), 1);
/// ```
pub fn validate_no_new_finalizers(new: &Value, old: &Value, path: &Path) -> ErrorList {
    let old: BTreeSet<&str> = list(old).collect();
    let extra: BTreeSet<&str> = list(new).filter(|f| !old.contains(f)).collect();
    if extra.is_empty() {
        return ErrorList::new();
    }
    let extra: Vec<String> = extra.into_iter().map(go::quote).collect();
    vec![field::forbidden(
        path,
        format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            extra.join(", ")
        ),
    )]
}

/// Checks who manages which fields.
///
/// ```
/// use kubewright_machinery::{field::Path, validation::validate_managed_fields};
/// use serde_json::json;
///
/// let entry = json!({"manager": "kubectl", "operation": "Replace", "fieldsType": "FieldsV1"});
/// let errors = validate_managed_fields(&json!([entry]), &Path::new("managedFields"));
/// assert_eq!(errors[0].field, "managedFields[0].operation");
/// ```
pub fn validate_managed_fields(entries: &Value, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    for (i, entry) in entries.as_array().into_iter().flatten().enumerate() {
        let path = path.index(i);
        let text = |name| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let operation = text("operation");
        if !matches!(operation, "Apply" | "Update") {
            errors.push(field::invalid_raw(
                &path.child("operation"),
                go::json(&Value::from(operation)),
                "must be `Apply` or `Update`",
            ));
        }
        let kind = text("fieldsType");
        if !matches!(kind, "" | "FieldsV1") {
            let path = path.child("fieldsType");
            errors.push(field::invalid_str(&path, kind, "must be `FieldsV1`"));
        }
        errors.extend(validate_field_manager(
            text("manager"),
            &path.child("manager"),
        ));
        if text("subresource").len() > MAX_SUBRESOURCE {
            errors.push(field::too_long(&path.child("subresource"), MAX_SUBRESOURCE));
        }
    }
    errors
}

/// Checks the name of a field manager: not too long, and printable.
///
/// ```
/// use kubewright_machinery::{field::Path, validation::validate_field_manager};
///
/// let path = Path::new("fieldManager");
/// assert!(validate_field_manager("web-operator", &path).is_empty());
/// assert_eq!(validate_field_manager("web\n", &path).len(), 1);
/// ```
pub fn validate_field_manager(manager: &str, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    if manager.len() > MAX_FIELD_MANAGER {
        errors.push(field::too_long(path, MAX_FIELD_MANAGER));
    }
    for (i, c) in manager.char_indices().filter(|(_, c)| !go::is_print(*c)) {
        let detail = format!("invalid character U+{:04X} (at position {i})", u32::from(c));
        errors.push(field::invalid_str(path, manager, detail));
    }
    errors
}

fn validate_owner(owner: &OwnerReference, path: &Path) -> ErrorList {
    let mut errors = ErrorList::new();
    let gvk = GroupVersion::parse(&owner.api_version)
        .unwrap_or_default()
        .with_kind(&owner.kind);
    let mut not_empty = |name: &str, value: &str, set: bool, detail: &str| {
        if !set {
            errors.push(field::invalid_str(&path.child(name), value, detail));
        }
    };
    let version = !gvk.version.is_empty();
    not_empty(
        "apiVersion",
        &owner.api_version,
        version,
        "version must not be empty",
    );
    not_empty("kind", "", !owner.kind.is_empty(), "must not be empty");
    not_empty("name", "", !owner.name.is_empty(), "must not be empty");
    not_empty("uid", "", !owner.uid.is_empty(), "must not be empty");
    if gvk == GroupVersionKind::new("", "v1", "Event") {
        errors.push(field::invalid_raw(
            path,
            go::json_of(owner),
            "/v1, Kind=Event is disallowed from being an owner",
        ));
    }
    errors
}

fn strings(map: &Value) -> impl Iterator<Item = (&str, &str)> {
    let entries = map.as_object().into_iter().flatten();
    entries.map(|(k, v)| (k.as_str(), v.as_str().unwrap_or_default()))
}

fn list(values: &Value) -> impl Iterator<Item = &str> {
    values
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}
