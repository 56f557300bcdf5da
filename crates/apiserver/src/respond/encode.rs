//! Encodes values as the client requested.

use bytes::Bytes;
use http::{Response, StatusCode, header};
use kubewright_machinery::{Status, status};
use kubewright_protobuf::{EncodeError, ObjectType, Transcoder};
use kubewright_schema::yaml::to_yaml;
use serde_json::Value;

use super::{
    negotiate::{Accepted, Media},
    pretty::indent,
    scan,
};
use crate::{body::Body, ledger::note, request::Annotations};

/// Returns a response with a body of that media type.
pub(crate) fn response(code: u16, media: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static(media),
    );
    response
}

/// Encodes a value.
pub(crate) fn value_response(code: u16, accepted: &Accepted, value: &Value) -> Response<Body> {
    match encode_value(accepted, value) {
        Ok(bytes) => response(code, accepted.media.name(), bytes),
        Err(error) => status_response(&Accepted::JSON, &error),
    }
}

/// Encodes JSON bytes, which keep their order if JSON was requested.
pub(crate) fn bytes_response(code: u16, accepted: &Accepted, json: Bytes) -> Response<Body> {
    if accepted.media == Media::Json && !accepted.pretty {
        return response(code, Media::Json.name(), json);
    }
    if accepted.media == Media::Json {
        let mut out = Vec::with_capacity(json.len() * 2);
        indent(&mut out, &json, 0);
        return response(code, Media::Json.name(), out);
    }
    if accepted.media == Media::Protobuf
        && let Some(bytes) = transcode_built_in(&json)
    {
        return response(code, Media::Protobuf.name(), bytes);
    }
    match serde_json::from_slice(&json) {
        Ok(value) => value_response(code, accepted, &value),
        Err(e) => status_response(&Accepted::JSON, &status::internal(e)),
    }
}

/// Answers a request with a `Status`, and records it.
pub(crate) fn status_answer(
    annotations: &Annotations,
    accepted: &Accepted,
    status: &Status,
) -> Response<Body> {
    if let Some(record) = annotations.record() {
        record.status(status);
    }
    note::refused(status);
    status_response(accepted, status)
}

/// Returns a `Status` with its code.
pub fn status_response(accepted: &Accepted, status: &Status) -> Response<Body> {
    let code = if status.code == 0 { 200 } else { status.code };
    let mut response = if accepted.media == Media::Json {
        let json = if accepted.pretty {
            pretty(status)
        } else {
            status.to_json()
        };
        response(code, Media::Json.name(), json)
    } else {
        let value = serde_json::to_value(status).unwrap_or_default();
        value_response(code, accepted, &value)
    };
    if let Some(seconds) = status
        .details
        .as_ref()
        .map(|d| d.retry_after_seconds)
        .filter(|seconds| *seconds > 0)
    {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

fn encode_value(accepted: &Accepted, value: &Value) -> Result<Vec<u8>, Status> {
    match accepted.media {
        Media::Json if accepted.pretty => Ok(pretty(value)),
        Media::Json => serde_json::to_vec(value).map_err(status::internal),
        Media::Yaml => to_yaml(value)
            .map(String::into_bytes)
            .map_err(|e| status::unknown(e.to_string())),
        Media::Protobuf => encode_protobuf(value),
    }
}

/// Turns the JSON of an object into protobuf. Returns nothing if its kind has no such form or its text does not fit; decoding it
/// finds the error.
fn transcode_built_in(json: &[u8]) -> Option<Vec<u8>> {
    let text = |name| serde_json::from_slice(scan::member(json, name)?).ok();
    let (api_version, kind): (&str, &str) = (text("apiVersion")?, text("kind")?);
    let ty = ObjectType::of(api_version, kind).ok()?;
    transcode(&ty, json).ok()
}

/// Turns the JSON of an object into protobuf.
pub(crate) fn transcode(ty: &ObjectType, json: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::with_capacity(json.len());
    Transcoder::new().object(ty, json, &mut out)?;
    Ok(out)
}

fn encode_protobuf(value: &Value) -> Result<Vec<u8>, Status> {
    kubewright_protobuf::encode(value).map_err(status::internal)
}

fn pretty(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec_pretty(value).unwrap_or_default()
}
