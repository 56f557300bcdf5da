//! The rules for `metadata` that all kinds share.

use std::borrow::Cow;

use kubewright_machinery::{Status, field::ErrorList, gvk::GroupKind, status};
use serde_json::{Map, Value, json};

use super::{super::Shape, Generic};
use crate::{clock::rfc3339, request::RequestContext};

/// Returns `metadata`, adding it if it is missing.
pub(super) fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = json!({});
    }
    let fields = object.as_object_mut().expect("made an object above");
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    if !metadata.is_object() {
        *metadata = json!({});
    }
    metadata.as_object_mut().expect("made an object above")
}

/// Returns a string of `metadata`, or an empty one.
pub(super) fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"][key].as_str().unwrap_or_default()
}

/// Returns the finalizers in order.
pub(super) fn finalizers(object: &Value) -> Vec<&str> {
    object["metadata"]["finalizers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Returns whether the object is being deleted.
pub(super) fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Increments `metadata.generation` if the object has one.
pub(super) fn bump_generation(object: &mut Value) {
    let metadata = metadata_mut(object);
    if let Some(generation) = metadata
        .get("generation")
        .and_then(Value::as_i64)
        .filter(|g| *g > 0)
    {
        metadata.insert("generation".into(), json!(generation.saturating_add(1)));
    }
}

impl Generic {
    /// Sets the fields of a new object that clients cannot choose.
    pub(super) fn fill_system_fields(&self, object: &mut Value) {
        let now = rfc3339(self.clock.now());
        let metadata = metadata_mut(object);
        metadata.insert("creationTimestamp".into(), json!(now));
        metadata.insert("uid".into(), json!(crate::ids::random().to_string()));
    }

    /// Generates a name from `generateName` if there is no name.
    pub(super) fn generate_name(&self, object: &mut Value) {
        let base = text(object, "generateName");
        if base.is_empty() || !text(object, "name").is_empty() {
            return;
        }
        let name =
            kubewright_machinery::generate_name::generate_name(base, |n| rand::random_range(0..n));
        metadata_mut(object).insert("name".into(), json!(name));
    }

    /// Rejects an invalid object.
    pub(super) fn reject_invalid(&self, object: &Value, errors: &ErrorList) -> Result<(), Status> {
        if errors.is_empty() {
            return Ok(());
        }
        let kind = self.kind_in_errors_about(object);
        Err(status::invalid(&kind, text(object, "name"), errors))
    }

    /// Returns the kind that validation errors name: for an untyped object, the kind that it claims.
    fn kind_in_errors_about(&self, object: &Value) -> Cow<'_, GroupKind> {
        let own = |key: &str| object[key].as_str().unwrap_or_default();
        match self.spec.shape {
            Shape::Untyped
                if own("kind") != self.spec.kind.kind
                    || own("apiVersion") != self.spec.kind.api_version() =>
            {
                let group = own("apiVersion")
                    .split_once('/')
                    .map_or("", |(group, _)| group);
                Cow::Owned(GroupKind::new(group, own("kind")))
            }
            _ => Cow::Borrowed(&self.kind_in_errors),
        }
    }

    /// Checks that the object is in the namespace of the request, and sets it if it is missing.
    pub(super) fn check_namespace(
        &self,
        cx: &RequestContext,
        object: &mut Value,
    ) -> Result<(), Status> {
        ensure_namespace(
            object,
            if self.spec.namespaced {
                cx.namespace()
            } else {
                ""
            },
        )
    }
}

/// Sets the namespace of the request on an object that has none, and rejects another one.
pub(crate) fn ensure_namespace(object: &mut Value, namespace: &str) -> Result<(), Status> {
    let own = text(object, "namespace");
    if own == namespace {
        return Ok(());
    }
    if own.is_empty() {
        metadata_mut(object).insert("namespace".into(), json!(namespace));
        return Ok(());
    }
    if namespace.is_empty() {
        metadata_mut(object).remove("namespace");
        return Ok(());
    }
    Err(status::bad_request(
        "the namespace of the provided object does not match the namespace sent on the request",
    ))
}

/// Restores `metadata.generation`, which only the strategy changes.
pub(super) fn keep_generation(object: &mut Value, old: &Value) {
    keep(object, old, "generation", Keep::Always);
}

/// Restores the fields that only the server sets.
pub(super) fn keep_system_fields(object: &mut Value, old: &Value) {
    keep(object, old, "uid", Keep::IfUnset);
    keep(object, old, "creationTimestamp", Keep::IfOldSet);
    keep(object, old, "deletionTimestamp", Keep::IfOldSet);
    keep(object, old, "deletionGracePeriodSeconds", Keep::IfUnset);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Always,
    IfUnset,
    IfOldSet,
}

fn keep(object: &mut Value, old: &Value, key: &str, when: Keep) {
    let old = &old["metadata"][key];
    let metadata = metadata_mut(object);
    let unset = metadata
        .get(key)
        .is_none_or(|v| v.is_null() || v.as_str() == Some(""));
    let apply = match when {
        Keep::Always => true,
        Keep::IfUnset => unset && !old.is_null(),
        Keep::IfOldSet => !old.is_null(),
    };
    if !apply {
        return;
    }
    if old.is_null() {
        metadata.remove(key);
    } else {
        metadata.insert(key.to_owned(), old.clone());
    }
}
