//! Patches, and server-side apply.

use kubewright_apiserver::{TypeSchema, registry::Shape};
use kubewright_machinery::{merge_patch, time::Time};
use kubewright_merge::{
    json_patch::{self, Decoding, Patch},
    managed::{self, Apply, Endpoint, OneVersion},
    schema::{Deduced, Schema},
    strategic,
};
use serde_json::{Value, json};

use crate::parts::{self, parts};

/// The most parts of an input that are used.
const MAX_PARTS: usize = 8;

/// Applies a JSON patch to a document: the first two parts.
pub(crate) fn json_patch(data: &[u8]) {
    let mut parts = parts(data);
    let Some(document) = parts.next().and_then(parts::json) else {
        return;
    };
    let body = parts.next().unwrap_or_default();
    for decoding in [Decoding::Lenient, Decoding::Checked] {
        if let Ok(patch) = Patch::decode(body, decoding) {
            let _ = json_patch::apply(document.clone(), &patch);
        }
    }
}

/// Applies a merge patch, and checks that a difference leads from one document to the other.
pub(crate) fn merge_patch(data: &[u8]) {
    let mut parts = parts(data).map(parts::json);
    let (Some(Some(original)), Some(Some(modified))) = (parts.next(), parts.next()) else {
        return;
    };
    let mut patched = original.clone();
    let _ = merge_patch::apply(&mut patched, modified.clone());
    // A merge patch cannot set a null.
    if let Ok(patch) = merge_patch::diff(&original, &modified)
        && !has_null(&modified)
    {
        let mut patched = original.clone();
        merge_patch::apply(&mut patched, patch).expect("our own patch applies");
        assert_eq!(patched, modified, "from {original}");
    }
    if let Some(Some(current)) = parts.next() {
        let _ = merge_patch::diff3(&original, &modified, &current);
    }
}

/// Applies strategic merge patches to a pod and a deployment.
pub(crate) fn strategic_patch(data: &[u8]) {
    let mut parts = parts(data).map(parts::json);
    let (Some(Some(original)), Some(Some(patch))) = (parts.next(), parts.next()) else {
        return;
    };
    for shape in [pods(), deployments()] {
        let schema = TypeSchema::of(shape);
        let _ = strategic::apply(schema, original.clone(), patch.clone());
        if let Ok(patch) = strategic::diff(schema, &original, &patch) {
            let _ = strategic::apply(schema, original.clone(), patch);
        }
    }
}

/// Applies configurations in turn, by two managers, and checks that applying one again changes no field.
pub(crate) fn apply(data: &[u8]) {
    apply_all(data, TypeSchema::of(deployments()));
    apply_all(data, Deduced);
}

fn apply_all<S: Schema>(data: &[u8], schema: S) {
    let versions = OneVersion::default();
    let endpoint = Endpoint {
        schema,
        api_version: "apps/v1",
        kind: "Deployment",
        subresource: "",
        versions: &versions,
    };
    let empty = json!({"apiVersion": "apps/v1", "kind": "Deployment"});
    let mut live = empty.clone();
    for (n, part) in parts(data).take(MAX_PARTS).enumerate() {
        let Some(mut patch) = configuration(part) else {
            continue;
        };
        patch["apiVersion"] = json!("apps/v1");
        patch["kind"] = json!("Deployment");
        let first = Apply {
            live: &live,
            empty: &empty,
            patch: &patch,
            manager: ["one", "two"][n % 2],
            force: n % 3 != 2,
            now: Time::from_unix(1, 0),
        };
        let Ok(applied) = managed::apply(&first, &endpoint) else {
            continue;
        };
        let again = Apply {
            live: &applied.object,
            force: false,
            now: Time::from_unix(2, 0),
            ..first
        };
        let again = managed::apply(&again, &endpoint).expect("what was applied can be applied");
        assert_eq!(
            without_managed_fields(&again.object),
            without_managed_fields(&applied.object),
            "applied again: {patch}"
        );
        let mut updated = patch.clone();
        let _ = managed::update(
            &applied.object,
            &mut updated,
            &endpoint,
            "three",
            Time::from_unix(3, 0),
        );
        live = if n % 2 == 0 { applied.object } else { updated };
    }
}

/// Reads a configuration. Nulls are left to the server, which drops them when it decodes the result.
fn configuration(part: &[u8]) -> Option<Value> {
    let mut value = parts::json(part)?;
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    (value.is_object() && !has_null(&value)).then_some(value)
}

fn without_managed_fields(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        let metadata = fields.get_mut("metadata").and_then(Value::as_object_mut);
        let empty = metadata.is_some_and(|metadata| {
            metadata.remove("managedFields");
            metadata.is_empty()
        });
        if empty {
            fields.remove("metadata");
        }
    }
    object
}

fn pods() -> Shape {
    Shape::Typed(
        kubewright_catalog::resource("", "v1", "pods")
            .expect("built in")
            .ty,
    )
}

fn deployments() -> Shape {
    Shape::Typed(
        kubewright_catalog::resource("apps", "v1", "deployments")
            .expect("built in")
            .ty,
    )
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields.values().any(has_null),
        _ => false,
    }
}
