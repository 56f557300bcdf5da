//! `delete` and `deletecollection`

use bytes::Bytes;
use http::{HeaderMap, Response};
use kubewright_machinery::{
    Status,
    gvk::GroupVersion,
    status::{self, Details},
};
use kubewright_schema::{
    TYPE_META_CONTEXT, decode_typed, parse_json, read_type_meta, yaml::parse_yaml,
};
use serde_json::Value;

use super::{Call, decode, list};
use crate::{
    body::Body,
    object::Object,
    registry::{Resource, generic::served_bytes},
    request::{DeleteOptions, RequestContext},
    respond::{
        Accepted,
        list::list_response,
        negotiate::{self, Media, body_media},
        object::object_response,
        status_answer,
    },
};

pub(super) async fn run(call: Call) -> Result<Response<Body>, Status> {
    let handler = call.handler(|handlers| &handlers.delete)?;
    let accepted = call.accepted()?;
    let Call {
        cx,
        target,
        request,
    } = call;
    let (parts, body) = request.into_parts();
    let body = decode::read_body(body).await?;
    let options = options(&cx, &parts.headers, &body)?;
    if let Some(text) = target
        .resource
        .warn_on_delete
        .as_ref()
        .and_then(|warn| warn(&options))
    {
        cx.warnings.add(text);
    }
    let deleted = handler.delete(&cx, &cx.info.name, &options).await?;
    if deleted.gone && !handler.returns_deleted_object() {
        return Ok(success(&cx, &accepted, &target.resource, &deleted.object));
    }
    let waiting = !deleted.gone && options.orphan_dependents == Some(false);
    let code = if waiting { 202 } else { 200 };
    Ok(object_response(
        &cx,
        &accepted,
        code,
        &target.resource,
        &deleted.object,
    ))
}

pub(super) async fn run_collection(call: Call) -> Result<Response<Body>, Status> {
    let handler = call.handler(|handlers| &handlers.delete_collection)?;
    let accepted = call.accepted()?;
    let Call {
        cx,
        target,
        request,
    } = call;
    let selection = list::options(&cx, &target.resource, false)?;
    let (parts, body) = request.into_parts();
    let body = decode::read_body(body).await?;
    let options = options(&cx, &parts.headers, &body)?;
    let list = handler.delete_collection(&cx, &options, &selection).await?;
    Ok(list_response(&cx, &accepted, &target.resource, list).await)
}

/// From the body where there is one, else from the query.
fn options(
    cx: &RequestContext,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<DeleteOptions, Status> {
    if body.is_empty() {
        return DeleteOptions::parse(&cx.query);
    }
    let bad = |e: &dyn std::fmt::Display| status::bad_request(e.to_string());
    let ty = &kubewright_catalog::generated::meta_v1::DELETE_OPTIONS;
    let value = match body_media(headers, negotiate::BUILT_IN)? {
        Media::Json => parse_json(body).map_err(|e| bad(&format!("{TYPE_META_CONTEXT}{e}")))?,
        Media::Yaml => parse_yaml(body).map_err(|e| bad(&e))?.node,
        Media::Protobuf => {
            let decoded = kubewright_protobuf::decode(body, ("meta.k8s.io/v1", "DeleteOptions"))
                .map_err(|e| bad(&e))?;
            kubewright_schema::Node::from_value(decoded.value).map_err(|e| bad(&e))?
        }
    };
    let (api_version, _) =
        read_type_meta(&value).map_err(|e| bad(&format!("{TYPE_META_CONTEXT}{e}")))?;
    if GroupVersion::parse(api_version).is_none() {
        return Err(bad(&format!(
            "unexpected GroupVersion string: {api_version}"
        )));
    }
    let value = decode_typed(value, ty).map_err(|e| bad(&e))?.value;
    if !matches!(value["kind"].as_str(), None | Some("" | "DeleteOptions")) {
        let version = value["apiVersion"].as_str().unwrap_or("meta.k8s.io/v1");
        if version == "v1" && value["kind"] == "Status" {
            return Err(status::bad_request(
                "converting (v1.Status) to (v1.DeleteOptions): unknown conversion",
            ));
        }
        return Err(status::bad_request(format!(
            "no kind {} is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:111\"",
            value["kind"]
        )));
    }
    if let Some(record) = cx.annotations.record() {
        record.request_object(&Value::Null, || Some(internal_form(&value)));
    }
    DeleteOptions::from_value(&value)
}

/// Encodes options as kube-apiserver records them: in a version that only it knows.
fn internal_form(options: &Value) -> Bytes {
    let mut options = options.clone();
    options["kind"] = "DeleteOptions".into();
    options["apiVersion"] = "meta.k8s.io/__internal".into();
    served_bytes(&options, None)
}

fn success(
    cx: &RequestContext,
    accepted: &Accepted,
    resource: &Resource,
    object: &Object,
) -> Response<Body> {
    let value: Value = object.to_value().unwrap_or_default();
    let details = Details {
        name: object.summary.name.to_string(),
        group: resource.spec.group_version.group.clone(),
        kind: resource.spec.plural.clone(),
        uid: value["metadata"]["uid"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        ..Details::default()
    };
    status_answer(&cx.annotations, accepted, &Status::success(details))
}
