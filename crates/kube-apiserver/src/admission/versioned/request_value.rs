//! The fields of an `AdmissionRequest`, for reviews and for the variable `request` of expressions.

use kubewright_machinery::gvk::{GroupVersionKind, GroupVersionResource};
use serde_json::{Map, Value, json};

use super::options::options;
use crate::admission::matching::{Match, Request, operation_name};

/// Returns the request without `uid`, `object` and `oldObject`, which expressions do not see here.
pub(crate) fn request_value(request: &Request<'_>, matched: &Match) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("kind".into(), kind(&matched.kind));
    fields.insert("resource".into(), resource(&matched.resource));
    put(&mut fields, "subResource", request.subresource());
    fields.insert("requestKind".into(), kind(request.kind));
    fields.insert("requestResource".into(), resource(&request.resource));
    put(&mut fields, "requestSubResource", request.subresource());
    put(&mut fields, "name", request.name());
    put(&mut fields, "namespace", request.namespace());
    let operation = operation_name(request.operation());
    fields.insert("operation".into(), operation.into());
    fields.insert("userInfo".into(), user(request));
    fields.insert("dryRun".into(), request.attributes.dry_run.into());
    fields.insert("options".into(), options(request));
    fields
}

fn kind(kind: &GroupVersionKind) -> Value {
    json!({"group": kind.group, "version": kind.version, "kind": kind.kind})
}

fn resource(resource: &GroupVersionResource) -> Value {
    json!({"group": resource.group, "version": resource.version, "resource": resource.resource})
}

fn user(request: &Request<'_>) -> Value {
    let user = &request.cx.user;
    let mut fields = Map::new();
    put(&mut fields, "username", &user.name);
    put(&mut fields, "uid", &user.uid);
    if !user.groups.is_empty() {
        fields.insert("groups".into(), user.groups.clone().into());
    }
    if !user.extra.is_empty() {
        let extra = user.extra.iter();
        let extra = extra.map(|(key, values)| (key.clone(), Value::from(values.clone())));
        fields.insert("extra".into(), Value::Object(extra.collect()));
    }
    fields.into()
}

/// Empty strings are left out.
fn put(fields: &mut Map<String, Value>, key: &str, text: &str) {
    if !text.is_empty() {
        fields.insert(key.into(), text.into());
    }
}
