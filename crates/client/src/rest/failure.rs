//! Failures as a `Status`.
//!
//! All requests of this crate go through [`send`], whether their response is read at once or while it arrives.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use kube::{
    client::Body,
    core::{
        Status,
        response::{StatusCause, StatusDetails},
    },
};

/// The maximum length of a failure's text in an error.
const MAX_TEXT: usize = 2 << 10;

/// The maximum size of a failure that is read.
const MAX_FAILURE: usize = 1 << 20;

/// A request without a successful response.
pub(crate) enum NoResponse {
    /// The server answered with a failure.
    Refused {
        status: Box<Status>,
        /// The `Retry-After` of the response.
        retry_after: Option<Duration>,
    },
    /// The request was not sent, or got no response.
    Failed(kube::Error),
}

/// Sends a request. The response is a successful one.
pub(crate) async fn send(
    client: &kube::Client,
    request: Request<Body>,
) -> Result<Response<Body>, NoResponse> {
    let method = request.method().clone();
    let response = match client.send(request).await {
        Ok(response) => response,
        Err(kube::Error::Api(status)) => {
            return Err(NoResponse::Refused {
                status,
                retry_after: None,
            });
        }
        Err(error) => return Err(NoResponse::Failed(error)),
    };
    let code = response.status();
    if (200..=206).contains(&code.as_u16()) || code == StatusCode::SWITCHING_PROTOCOLS {
        return Ok(response);
    }
    let headers = response.headers().clone();
    // A truncated failure is a failure all the same.
    let body = Limited::new(response.into_body(), MAX_FAILURE)
        .collect()
        .await
        .map_or_else(|_| Bytes::new(), |body| body.to_bytes());
    Err(NoResponse::Refused {
        status: Box::new(status_of(&method, code, &headers, &body)),
        retry_after: text_of(&headers, header::RETRY_AFTER)
            .parse()
            .ok()
            .map(Duration::from_secs),
    })
}

/// Returns the `Status` of a failure: the one in the body, or one made of the code and the text.
fn status_of(method: &Method, code: StatusCode, headers: &HeaderMap, body: &[u8]) -> Status {
    let retry_after: u32 = text_of(headers, header::RETRY_AFTER).parse().unwrap_or(0);
    if let Some(mut status) = decode_failure(body) {
        if status.code == 0 {
            status.code = code.as_u16();
        }
        return status;
    }
    let content_type = text_of(headers, header::CONTENT_TYPE);
    let text = if content_type.is_empty() || content_type.starts_with("text/") {
        let end = body.len().min(MAX_TEXT);
        String::from_utf8_lossy(body.get(..end).unwrap_or_default())
            .trim()
            .to_owned()
    } else {
        "unknown".to_owned()
    };
    let (reason, message) = in_general(method, code.as_u16(), &text);
    let details = StatusDetails {
        causes: vec![StatusCause {
            reason: "UnexpectedServerResponse".to_owned(),
            message: text,
            field: String::new(),
        }],
        retry_after_seconds: retry_after,
        name: String::new(),
        group: String::new(),
        kind: String::new(),
        uid: String::new(),
    };
    Status::failure(&message, reason)
        .with_code(code.as_u16())
        .with_details(details)
}

/// Decodes a `Status` of a failure.
pub(super) fn decode_failure(body: &[u8]) -> Option<Status> {
    #[derive(serde::Deserialize)]
    struct Kind<'a> {
        #[serde(default, borrow)]
        kind: std::borrow::Cow<'a, str>,
    }
    let kind: Kind<'_> = serde_json::from_slice(body).ok()?;
    if kind.kind != "Status" {
        return None;
    }
    let status: Status = serde_json::from_slice(body).ok()?;
    (!status.is_success()).then_some(status)
}

/// Returns the reason and message for a failure without a `Status`.
fn in_general(method: &Method, code: u16, text: &str) -> (&'static str, String) {
    let (reason, message) = match code {
        400 => (
            "BadRequest",
            "the server rejected our request for an unknown reason",
        ),
        401 => (
            "Unauthorized",
            "the server has asked for the client to provide credentials",
        ),
        403 => ("Forbidden", text),
        404 => (
            "NotFound",
            "the server could not find the requested resource",
        ),
        405 => (
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        ),
        406 if text.is_empty() || text == "unknown" => (
            "NotAcceptable",
            "the server was unable to respond with a content type that the client supports",
        ),
        406 => ("NotAcceptable", text),
        409 if method == Method::POST => ("AlreadyExists", "the server reported a conflict"),
        409 => ("Conflict", "the server reported a conflict"),
        415 => ("UnsupportedMediaType", text),
        422 => (
            "Invalid",
            "the server rejected our request due to an error in our request",
        ),
        429 => (
            "TooManyRequests",
            "the server has received too many requests and has asked us to try again later",
        ),
        503 => (
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
        ),
        504 => (
            "Timeout",
            "the server was unable to return a response in the time allotted, but may still be processing the request",
        ),
        500.. => {
            let message = format!(
                "an error on the server ({text:?}) has prevented the request from succeeding"
            );
            return ("InternalError", message);
        }
        _ => {
            let message = format!(
                "the server responded with the status code {code} but did not return more information"
            );
            return ("Unknown", message);
        }
    };
    (reason, message.to_owned())
}

pub(super) fn text_of(headers: &HeaderMap, name: http::HeaderName) -> &str {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn refused(method: Method, code: u16, content_type: &'static str, body: &str) -> Status {
        let headers = HeaderMap::from_iter([
            (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
            (header::RETRY_AFTER, HeaderValue::from_static("7")),
        ]);
        status_of(
            &method,
            StatusCode::from_u16(code).unwrap(),
            &headers,
            body.as_bytes(),
        )
    }

    #[test]
    fn a_refusal_without_a_status_gets_one() {
        let status = refused(Method::GET, 503, "text/plain", "upstream gone\n");
        assert_eq!(
            (status.code, status.reason.as_str()),
            (503, "ServiceUnavailable")
        );
        assert_eq!(
            status.message,
            "the server is currently unable to handle the request"
        );
        let details = status.details.unwrap();
        assert_eq!(details.retry_after_seconds, 7);
        assert_eq!(details.causes[0].message, "upstream gone");

        let status = refused(Method::GET, 500, "text/html", "<b>\"no\"</b>");
        assert_eq!(
            status.message,
            r#"an error on the server ("<b>\"no\"</b>") has prevented the request from succeeding"#
        );
        assert_eq!(
            refused(Method::POST, 409, "text/plain", "").reason,
            "AlreadyExists"
        );
        assert_eq!(
            refused(Method::PUT, 409, "text/plain", "").reason,
            "Conflict"
        );
        assert_eq!(
            refused(Method::GET, 418, "image/png", "\u{1}").reason,
            "Unknown"
        );
    }

    #[test]
    fn the_status_of_the_server_wins() {
        let body = r#"{"kind":"Status","status":"Failure","reason":"Odd","message":"because"}"#;
        let status = refused(Method::GET, 500, "application/json", body);
        assert_eq!((status.code, status.reason.as_str()), (500, "Odd"));
    }
}
