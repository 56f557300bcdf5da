//! The rules for `metadata` that every kind shares.

use std::borrow::Cow;

use kubewright_machinery::{
    Status,
    field::{ErrorList, Path},
    gvk::GroupKind,
    status,
    validation::{self, names},
};
use serde_json::{Map, Value, json};

use super::{super::resource::Shape, Generic};
use crate::{clock::rfc3339, request::RequestContext};

/// `metadata`, made where it is missing.
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

/// A text of `metadata`, or empty.
pub(super) fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"][key].as_str().unwrap_or_default()
}

/// The finalizers, in order.
pub(super) fn finalizers(object: &Value) -> Vec<&str> {
    object["metadata"]["finalizers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Whether the object is on its way out.
pub(super) fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// `generation + 1`, where the kind counts generations.
pub(super) fn bump_generation(object: &mut Value) {
    let metadata = metadata_mut(object);
    if let Some(generation) = metadata
        .get("generation")
        .and_then(Value::as_i64)
        .filter(|g| *g > 0)
    {
        metadata.insert("generation".into(), json!(generation + 1));
    }
}

impl Generic {
    /// What the server sets on a new object, whatever the client said.
    pub(super) fn fill_system_fields(&self, object: &mut Value) {
        let now = rfc3339(self.clock.now());
        let metadata = metadata_mut(object);
        metadata.insert("creationTimestamp".into(), json!(now));
        metadata.insert("uid".into(), json!(crate::ids::random().to_string()));
    }

    /// A name from `generateName`, where there is no name. Says whether it made one.
    pub(super) fn generate_name(&self, object: &mut Value) -> bool {
        let base = text(object, "generateName");
        if base.is_empty() || !text(object, "name").is_empty() {
            return false;
        }
        let name =
            kubewright_machinery::generate_name::generate_name(base, |n| rand::random_range(0..n));
        metadata_mut(object).insert("name".into(), json!(name));
        true
    }

    /// Prepares and validates a new object.
    pub(super) fn before_create(
        &self,
        cx: &RequestContext,
        object: &mut Value,
    ) -> Result<(), Status> {
        self.check_namespace(cx, object)?;
        self.strategy.prepare_for_create(cx, object);
        let errors = self.strategy.validate(object);
        self.refuse(object, &errors)?;
        if !self.strategy.checks_new_metadata() {
            let errors = self.validate_metadata(object);
            self.refuse(object, &errors)?;
        }
        for warning in self.strategy.warnings_on_create(object) {
            cx.warnings.add(warning);
        }
        self.strategy.canonicalize(object);
        Ok(())
    }

    /// Prepares and validates a change.
    pub(super) fn before_update(
        &self,
        cx: &RequestContext,
        object: &mut Value,
        old: &Value,
    ) -> Result<(), Status> {
        self.check_namespace(cx, object)?;
        keep(object, old, "generation", Keep::Always);
        self.strategy.prepare_for_update(object, old);
        keep(object, old, "uid", Keep::IfUnset);
        keep(object, old, "creationTimestamp", Keep::IfOldSet);
        keep(object, old, "deletionTimestamp", Keep::IfOldSet);
        keep(object, old, "deletionGracePeriodSeconds", Keep::IfUnset);
        let mut errors = ErrorList::new();
        if !self.strategy.checks_metadata_updates() {
            errors = self.validate_metadata(object);
            let (new, old, path) = (&object["metadata"], &old["metadata"], Path::new("metadata"));
            errors.extend(validation::validate_object_meta_update(new, old, &path));
        }
        errors.extend(self.strategy.judge_update(cx, object, old));
        self.refuse(object, &errors)?;
        for warning in self.strategy.warnings_on_update(object, old) {
            cx.warnings.add(warning);
        }
        self.strategy.canonicalize(object);
        Ok(())
    }

    fn validate_metadata(&self, object: &Value) -> ErrorList {
        let path = Path::new("metadata");
        validation::validate_object_meta(
            &object["metadata"],
            self.namespaced,
            names::name_is_path_segment,
            &path,
        )
    }

    fn refuse(&self, object: &Value, errors: &ErrorList) -> Result<(), Status> {
        if errors.is_empty() {
            return Ok(());
        }
        let kind = self.kind_in_errors_about(object);
        Err(status::invalid(&kind, text(object, "name"), errors))
    }

    /// An object without a type is called what it calls itself.
    fn kind_in_errors_about(&self, object: &Value) -> Cow<'_, GroupKind> {
        let own = |key: &str| object[key].as_str().unwrap_or_default();
        match self.shape {
            Shape::Untyped
                if own("kind") != self.kind.kind
                    || own("apiVersion") != self.kind.api_version() =>
            {
                let group = own("apiVersion")
                    .split_once('/')
                    .map_or("", |(group, _)| group);
                Cow::Owned(GroupKind::new(group, own("kind")))
            }
            _ => Cow::Borrowed(&self.kind_in_errors),
        }
    }

    /// The namespace of the object is that of the request; where it is not set, it becomes so.
    fn check_namespace(&self, cx: &RequestContext, object: &mut Value) -> Result<(), Status> {
        ensure_namespace(object, if self.namespaced { cx.namespace() } else { "" })
    }
}

/// Sets the namespace of the request on an object that has none, and refuses another one.
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
