//! Object responses.

use bytes::Bytes;
use http::Response;
use kubewright_catalog::types::StructType;
use kubewright_machinery::{Status, status};
use kubewright_protobuf::ObjectType;

use super::{
    encode::{bytes_response, response, status_answer, transcode},
    negotiate::{Accepted, Media, Transform},
    pretty::indent_typed,
    scan, table,
};
use crate::{
    body::Body,
    object::Object,
    registry::{Resource, Shape, SubresourceKind},
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
        Transform::None => {
            note(cx, &object.bytes);
            if accepted.media == Media::Json
                && accepted.pretty
                && let Some(ty) = object_type(cx, resource)
            {
                let mut out = Vec::with_capacity(object.bytes.len() * 2);
                indent_typed(&mut out, &object.bytes, 0, ty);
                return response(code, Media::Json.name(), out);
            }
            if accepted.media == Media::Protobuf
                && let Some(ty) = declared_type(resource, &object.bytes)
            {
                return match transcode(ty, &object.bytes) {
                    Ok(bytes) => response(code, Media::Protobuf.name(), bytes),
                    Err(e) => status_answer(&cx.annotations, accepted, &status::internal(e)),
                };
            }
            return bytes_response(code, accepted, object.bytes.clone());
        }
        Transform::Table(version) => table::of_object(cx, resource, &object.bytes, version),
        Transform::Partial(version) => {
            let mut out = Vec::with_capacity(object.bytes.len());
            write_partial(&mut out, &object.bytes, version);
            Ok(out)
        }
        Transform::PartialList(_) => Err(not_a_list(cx, resource)),
    };
    match result {
        Ok(json) => {
            let json = Bytes::from(json);
            note(cx, &json);
            bytes_response(code, accepted, json)
        }
        Err(error) => status_answer(
            &cx.annotations,
            &Accepted {
                pretty: error.code == 406,
                ..*accepted
            },
            &error,
        ),
    }
}

/// Returns the protobuf form of a custom object. The answer to a delete may be a `Status`.
fn declared_type<'a>(resource: &'a Resource, json: &[u8]) -> Option<&'a ObjectType> {
    let ty = resource.custom.as_ref()?.protobuf()?.object();
    let kind: &str = serde_json::from_slice(scan::member(json, "kind")?).ok()?;
    (kind == ty.kind()).then_some(ty)
}

/// Records the JSON of the answer. Some handlers answer with a `Status` as the object.
fn note(cx: &RequestContext, json: &Bytes) {
    let Some(record) = cx.annotations.record() else {
        return;
    };
    let is_status = scan::member(json, "kind") == Some(&b"\"Status\""[..]);
    match is_status.then(|| serde_json::from_slice(json)) {
        Some(Ok(status)) => record.status(&status),
        _ => record.response_object(|| json.clone()),
    }
}

/// Returns the type of the objects that a request is about, if they have one.
fn object_type(cx: &RequestContext, resource: &Resource) -> Option<&'static StructType> {
    let subresource = resource.subresource(&cx.info.subresource);
    let shape = match subresource.map(|subresource| &subresource.kind) {
        Some(SubresourceKind::Other(_, shape)) => *shape,
        Some(SubresourceKind::Parent) | None => resource.spec.shape,
    };
    match shape {
        Shape::Typed(ty) => Some(ty),
        Shape::Untyped => None,
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

/// Appends the `PartialObjectMetadata` of an encoded object, whose other fields are not read.
pub(super) fn write_partial(out: &mut Vec<u8>, object: &[u8], version: &str) {
    write_metadata(out, scan::member(object, "metadata"), version);
}

/// Appends a `PartialObjectMetadata` with this encoded metadata.
pub(super) fn write_metadata(out: &mut Vec<u8>, metadata: Option<&[u8]>, version: &str) {
    out.extend_from_slice(b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/");
    out.extend_from_slice(version.as_bytes());
    out.extend_from_slice(b"\",\"metadata\":");
    out.extend_from_slice(metadata.unwrap_or(b"{}"));
    out.push(b'}');
}
