//! The annotation of client-side apply, for users who move from it to server-side apply.
//!
//! This applies only to the manager `kubectl`. Fields that client-side apply had set and that have not changed since
//! are not conflicts for it, and the annotation is kept up to date, so that client-side apply can be used again.

use super::apply::Apply;
use super::endpoint::Endpoint;
use crate::fieldset::FieldSet;
use crate::schema::Schema;
use crate::typed::{self, Duplicates};
use kubewright_machinery::{
    go::JsonStyle,
    limits::{VALUE_DEPTH, depth_of},
    validation::MAX_ANNOTATIONS,
};
use serde_json::{Map, Value};

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
const MANAGER: &str = "kubectl";

/// The fields in which the live object still is what client-side apply made of it; none if it was not applied so.
pub(super) fn tolerated<S: Schema>(
    request: &Apply<'_>,
    endpoint: &Endpoint<'_, S>,
) -> Option<FieldSet> {
    if request.manager != MANAGER {
        return None;
    }
    let text = annotation(request.live)?;
    let last: Value = serde_json::from_str(text).ok()?;
    if last.get("apiVersion").and_then(Value::as_str) != Some(endpoint.api_version) {
        return None;
    }
    let schema = endpoint.schema;
    typed::validate(schema, request.live, Duplicates::Refused).ok()?;
    typed::validate(schema, &last, Duplicates::Refused).ok()?;
    let set = typed::to_field_set(schema, &last).ok()?;
    let since = typed::compare(schema, &last, request.live).ok()?;
    Some(
        set.difference(&since.modified)
            .difference(&since.added)
            .difference(&since.removed),
    )
}

/// Brings the annotation up to date if the object has it.
pub(super) fn refresh(request: &Apply<'_>, object: &mut Value) {
    if request.manager != MANAGER || annotation(object).is_none() {
        return;
    }
    if depth_of(request.patch) > VALUE_DEPTH {
        return;
    }
    let mut applied = request.patch.clone();
    if let Some(annotations) = annotations_of(&mut applied) {
        annotations.remove(ANNOTATION);
        null_to_empty(annotations);
    }
    let mut text = String::new();
    JsonStyle::Standard.write(&mut text, &sorted(applied));
    text.push('\n');
    if let Some(annotations) = annotations_of(object) {
        null_to_empty(annotations);
        annotations.insert(ANNOTATION.to_owned(), Value::String(text));
        let size: usize = annotations
            .iter()
            .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len))
            .sum();
        if size > MAX_ANNOTATIONS {
            annotations.remove(ANNOTATION);
        }
    }
}

fn annotation(object: &Value) -> Option<&str> {
    let annotations = object.get("metadata")?.get("annotations")?;
    annotations
        .get(ANNOTATION)?
        .as_str()
        .filter(|text| !text.is_empty())
}

fn annotations_of(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object
        .get_mut("metadata")?
        .get_mut("annotations")?
        .as_object_mut()
}

/// An annotation without a value is an empty text.
fn null_to_empty(annotations: &mut Map<String, Value>) {
    for value in annotations.values_mut().filter(|value| value.is_null()) {
        *value = Value::String(String::new());
    }
}

/// The value with the entries of its maps sorted by name.
fn sorted(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.into_iter().map(|(n, v)| (n, sorted(v))).collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            fields.into_iter().collect()
        }
        scalar => scalar,
    }
}
