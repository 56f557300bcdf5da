//! Responses: their body, their headers, and failures as a `Status`.

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use kubewright_serve::BoxError;
use serde_json::{Value, json};

/// The body of a response.
pub(crate) type Body = UnsyncBoxBody<Bytes, BoxError>;

/// The content security policy: scripts and styles only from this host, no inline scripts, no frames, no forms.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data:; font-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'";

/// Headers of every response.
const ALWAYS: [(header::HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
];

/// Creates a body from bytes.
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// Creates a body from chunks.
pub(crate) fn chunks(stream: impl Stream<Item = Bytes> + Send + 'static) -> Body {
    use futures_util::StreamExt;
    BodyExt::boxed_unsync(StreamBody::new(
        stream.map(|chunk| Ok::<_, BoxError>(Frame::data(chunk))),
    ))
}

/// A body that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the body cannot be read: {0}")]
    Broken(String),
}

/// Reads a body of at most `limit` bytes. One whose declared length is larger is not read at all.
pub(crate) async fn read<B>(mut body: B, limit: usize) -> Result<Bytes, Unreadable>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    if body.size_hint().lower() > limit as u64 {
        return Err(Unreadable::TooLarge(limit));
    }
    let mut read = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Unreadable::Broken(error.to_string()))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if read.len() + data.len() > limit {
            return Err(Unreadable::TooLarge(limit));
        }
        read.extend_from_slice(&data);
    }
    Ok(read.freeze())
}

/// Creates a JSON response.
pub(crate) fn json_response(code: StatusCode, value: &Value) -> Response<Body> {
    let mut response = Response::new(full(value.to_string()));
    *response.status_mut() = code;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// Creates an error response with a `Status`.
pub(crate) fn failure(code: StatusCode, reason: &str, message: &str) -> Response<Body> {
    json_response(code, &status(code, reason, message))
}

/// Creates a `Status`.
pub(crate) fn status(code: StatusCode, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code.as_u16(),
    })
}

/// Returns the reason that belongs to a status code.
pub(crate) fn reason(code: StatusCode) -> &'static str {
    match code {
        StatusCode::BAD_REQUEST => "BadRequest",
        StatusCode::NOT_FOUND => "NotFound",
        StatusCode::METHOD_NOT_ALLOWED => "MethodNotAllowed",
        StatusCode::CONFLICT => "Conflict",
        StatusCode::PAYLOAD_TOO_LARGE => "RequestEntityTooLarge",
        StatusCode::BAD_GATEWAY => "BadGateway",
        _ => "InternalError",
    }
}

/// Sets the headers of every response. An existing cache policy is kept.
pub(crate) fn secure(headers: &mut HeaderMap) {
    for (name, value) in ALWAYS {
        let value = HeaderValue::from_static(value);
        match name == header::CACHE_CONTROL {
            true => drop(headers.entry(name).or_insert(value)),
            false => drop(headers.insert(name, value)),
        }
    }
    let same_origin = HeaderValue::from_static("same-origin");
    headers.insert("cross-origin-resource-policy", same_origin.clone());
    headers.insert("cross-origin-opener-policy", same_origin);
    headers.remove(header::SET_COOKIE);
}
