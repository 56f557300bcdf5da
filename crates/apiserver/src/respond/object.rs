//! Object responses.

use http::Response;
use kubewright_machinery::Status;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    encode::{bytes_response, status_response, value_response},
    negotiate::{Accepted, Transform},
    table,
};
use crate::{
    body::Body,
    object::Object,
    registry::{Resource, SubresourceKind},
    request::RequestContext,
};

/// Returns an object in the requested form.
pub(crate) fn object_response(
    cx: &RequestContext,
    accepted: &Accepted,
    code: u16,
    resource: &Resource,
    object: &Object,
) -> Response<Body> {
    let result = match accepted.transform {
        Transform::None => return bytes_response(code, accepted, object.bytes.clone()),
        Transform::Table(version) => table::of_object(cx, resource, object, version),
        Transform::Partial(version) => partial_value(object, version),
        Transform::PartialList(_) => Err(not_a_list(cx, resource)),
    };
    match result {
        Ok(value) => value_response(code, accepted, &value),
        Err(error) => status_response(
            &Accepted {
                pretty: error.code == 406,
                ..*accepted
            },
            &error,
        ),
    }
}

/// Returns the error for a client that requests one object as a list.
fn not_a_list(cx: &RequestContext, resource: &Resource) -> Status {
    let other =
        resource
            .subresource(&cx.info.subresource)
            .and_then(|subresource| match &subresource.kind {
                SubresourceKind::Other(kind, _) => Some(kind),
                SubresourceKind::Parent => None,
            });
    let (package, kind) = match (other, &resource.custom) {
        (None, Some(_)) => return Status::failure(500, "", "content is not a list"),
        (Some(other), Some(_)) => (other.version.as_str(), &other.kind),
        (Some(other), None) => (go_package(&other.group), &other.kind),
        (None, None) => (
            go_package(&resource.spec.group_version.group),
            &resource.spec.kind.kind,
        ),
    };
    not_acceptable(format!(
        "you requested PartialObjectMetadataList, but the requested object is not a list (*{package}.{kind})"
    ))
}

/// Returns a 406 with this message.
pub(super) fn not_acceptable(text: String) -> Status {
    Status::failure(406, "NotAcceptable", text)
}

/// Returns the package of a Go type, which such messages contain.
pub(super) fn go_package(group: &str) -> &str {
    match group.split('.').next() {
        None | Some("") => "core",
        Some(first) => first,
    }
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow)]
    metadata: &'a RawValue,
}

/// Returns the encoded `metadata` of an encoded object.
pub(super) fn raw_metadata(object: &Object) -> &str {
    serde_json::from_slice::<Metadata<'_>>(&object.bytes).map_or("{}", |m| m.metadata.get())
}

/// Returns `PartialObjectMetadata` as JSON text.
pub(super) fn partial_json(object: &Object, version: &str) -> String {
    let metadata = raw_metadata(object);
    format!(
        "{{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/{version}\",\"metadata\":{metadata}}}"
    )
}

fn partial_value(object: &Object, version: &str) -> Result<Value, Status> {
    let value = object.to_value()?;
    Ok(json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": value["metadata"],
    }))
}
