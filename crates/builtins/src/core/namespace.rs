//! Namespaces, which start active, with a finalizer in the spec that the namespace controller removes last.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::names,
};
use serde_json::{Value, json};

use crate::{
    KindRules, checks, general,
    json::{Read, Write},
    meta,
};

const NAME_LABEL: &str = "kubernetes.io/metadata.name";
const FINALIZER: &str = "kubernetes";

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create,
    prepare_update,
    validate_create,
    validate_update,
    validate_status_update,
    canonicalize: label_with_name,
    returns_deleted_object: true,
    may_be_removed: is_finalized,
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};

/// Prepares an update of `/finalize`, which changes only the spec's finalizers and metadata.
pub fn prepare_finalize(new: &mut Value, old: &Value) {
    general::keep_status(new, old);
}

/// Marks a namespace for deletion: the phase that goes with a deletion timestamp.
pub fn start_termination(namespace: &mut Value) {
    namespace.field("status").put("phase", "Terminating");
}

/// Reports whether the namespace has no finalizers, neither in `spec` nor in `metadata`.
///
/// ```
/// use kubewright_builtins::core::namespace::{is_finalized, start_termination};
/// use serde_json::json;
///
/// let mut namespace = json!({"metadata": {"name": "shop"}, "spec": {"finalizers": ["kubernetes"]}});
/// start_termination(&mut namespace);
/// assert_eq!(namespace["status"]["phase"], "Terminating");
/// assert!(!is_finalized(&namespace));
/// ```
pub fn is_finalized(namespace: &Value) -> bool {
    namespace["spec"]["finalizers"].is_blank() && namespace["metadata"]["finalizers"].is_blank()
}

fn default(namespace: &mut Value) {
    label_with_name(namespace);
    namespace.field("status").put_if_blank("phase", "Active");
}

fn label_with_name(namespace: &mut Value) {
    let name = namespace["metadata"]["name"].clone();
    if name.is_blank() {
        return;
    }
    namespace
        .field("metadata")
        .field("labels")
        .put(NAME_LABEL, name);
}

fn prepare_create(namespace: &mut Value) {
    namespace.put("status", json!({"phase": "Active"}));
    label_with_name(namespace);
    let finalizers = namespace.field("spec").field("finalizers");
    if finalizers.items().iter().any(|f| f == FINALIZER) {
        return;
    }
    match finalizers.as_array_mut() {
        Some(list) => list.push(FINALIZER.into()),
        None => *finalizers = json!([FINALIZER]),
    }
}

fn prepare_update(new: &mut Value, old: &Value) {
    general::copy(new.field("spec"), &old["spec"], "finalizers");
    general::keep_status(new, old);
}

/// Checks an update of `/finalize`.
pub fn validate_finalize(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, false);
    errors.extend(meta::validate_update(new, old));
    let path = Path::new("spec").child("finalizers");
    for (i, name) in new["spec"]["finalizers"].items().iter().enumerate() {
        validate_finalizer(name.text(), &path.index(i), &mut errors);
    }
    errors
}

fn validate_create(namespace: &Value) -> ErrorList {
    let mut errors = meta::validate(namespace, false, meta::label);
    let path = Path::new("spec").child("finalizers");
    for name in namespace["spec"]["finalizers"].items() {
        validate_finalizer(name.text(), &path, &mut errors);
    }
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, false);
    errors.extend(validate_create(new));
    errors.extend(meta::validate_update(new, old));
    errors
}

fn validate_status_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, false);
    errors.extend(meta::validate_update(new, old));
    let phase = new["status"]["phase"].text();
    let path = Path::new("status").child("Phase");
    let terminating = new["metadata"]["deletionTimestamp"].is_set();
    if !terminating && phase != "Active" {
        let message = "may only be 'Active' if `deletionTimestamp` is empty";
        errors.push(field::invalid_str(&path, phase, message));
    } else if terminating && phase != "Terminating" {
        let message = "may only be 'Terminating' if `deletionTimestamp` is not empty";
        errors.push(field::invalid_str(&path, phase, message));
    }
    errors
}

fn validate_finalizer(name: &str, path: &Path, errors: &mut ErrorList) {
    checks::messages(name, names::is_qualified_name(name), path, errors);
    meta::validate_finalizer_name(name, path, errors);
}
