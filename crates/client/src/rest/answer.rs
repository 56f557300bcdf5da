//! [`Answer`]: what came back; refusals as a `Status`.

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
use serde::de::DeserializeOwned;

use crate::{
    error::{Error, Result},
    policy::{Warning, parse_warnings},
};

/// The longest answer that is read as a whole. Lists can be read item by item and have no such bound.
pub const MAX_ANSWER: usize = 256 << 20;

/// The longest text of a refusal that is taken into an error.
const MAX_TEXT: usize = 2 << 10;

/// The longest refusal that is read.
const MAX_REFUSAL: usize = 1 << 20;

/// What the server answered.
#[derive(Clone, Debug)]
pub struct Answer {
    code: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    /// The HTTP code; refusals never get here.
    pub fn code(&self) -> StatusCode {
        self.code
    }

    /// Whether something new was made.
    pub fn was_created(&self) -> bool {
        self.code == StatusCode::CREATED
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The content type, empty if there is none.
    pub fn content_type(&self) -> &str {
        text_of(&self.headers, header::CONTENT_TYPE)
    }

    /// The warnings that came with it.
    pub fn warnings(&self) -> Vec<Warning> {
        parse_warnings(&self.headers)
    }

    /// The body as it is.
    pub fn bytes(&self) -> &Bytes {
        &self.body
    }

    /// The body as text.
    pub fn text(&self) -> Result<&str> {
        std::str::from_utf8(&self.body).map_err(|error| Error::Decode(error.to_string()))
    }

    /// The body as an object. A `Status` that tells of a failure is an error, whatever the code of the answer.
    pub fn object<T: DeserializeOwned>(&self) -> Result<T> {
        if self.body.is_empty() {
            return Err(Error::Decode(format!(
                "0-length response with status code: {} and content type: {}",
                self.code.as_u16(),
                self.content_type()
            )));
        }
        if let Some(status) = failure(&self.body) {
            return Err(Error::Api(Box::new(status)));
        }
        serde_json::from_slice(&self.body).map_err(|error| Error::Decode(error.to_string()))
    }
}

/// Sends a request and reads the whole answer. A refusal is an error.
pub async fn exchange(client: &kube::Client, request: Request<Body>) -> Result<Answer> {
    let response = open(client, request).await?;
    let (parts, body) = response.into_parts();
    let body = read(body, MAX_ANSWER).await?;
    Ok(Answer {
        code: parts.status,
        headers: parts.headers,
        body,
    })
}

/// Sends a request. A refusal is an error.
pub async fn open(client: &kube::Client, request: Request<Body>) -> Result<Response<Body>> {
    let method = request.method().clone();
    let response = client.send(request).await?;
    let code = response.status();
    if (200..=206).contains(&code.as_u16()) || code == StatusCode::SWITCHING_PROTOCOLS {
        return Ok(response);
    }
    let headers = response.headers().clone();
    // Half a refusal is one still.
    let body = read(response.into_body(), MAX_REFUSAL)
        .await
        .unwrap_or_default();
    Err(Error::Api(Box::new(refusal(
        &method, code, &headers, &body,
    ))))
}

/// The bytes of a body, which may not be longer than the bound.
pub(crate) async fn read(body: Body, bound: usize) -> Result<Bytes> {
    match Limited::new(body, bound).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) => Err(match error.downcast::<kube::Error>() {
            Ok(error) => Error::from(*error),
            Err(error) => Error::Decode(error.to_string()),
        }),
    }
}

/// The `Status` of a refusal: the one in the body, or one made of the code and the text (RE-9).
fn refusal(method: &Method, code: StatusCode, headers: &HeaderMap, body: &[u8]) -> Status {
    let retry_after: u32 = text_of(headers, header::RETRY_AFTER).parse().unwrap_or(0);
    if let Some(mut status) = failure(body) {
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

/// A `Status` that tells of a failure.
fn failure(body: &[u8]) -> Option<Status> {
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

/// Reason and message where the server gave none.
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

fn text_of(headers: &HeaderMap, name: http::HeaderName) -> &str {
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
        refusal(
            &method,
            StatusCode::from_u16(code).unwrap(),
            &headers,
            body.as_bytes(),
        )
    }

    /// RE-9
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

    /// RE-9
    #[test]
    fn the_status_of_the_server_wins() {
        let body = r#"{"kind":"Status","status":"Failure","reason":"Odd","message":"because"}"#;
        let status = refused(Method::GET, 500, "application/json", body);
        assert_eq!((status.code, status.reason.as_str()), (500, "Odd"));
    }

    /// RE-9
    #[test]
    fn a_failure_in_a_good_answer_is_a_failure() {
        let answer = |body: &'static str| Answer {
            code: StatusCode::OK,
            headers: HeaderMap::new(),
            body: Bytes::from_static(body.as_bytes()),
        };
        let failed =
            answer(r#"{"kind":"Status","status":"Failure","reason":"Expired","code":410}"#);
        assert!(
            failed
                .object::<serde_json::Value>()
                .unwrap_err()
                .is_expired()
        );
        let fine = answer(r#"{"kind":"Status","status":"Success"}"#);
        assert_eq!(
            fine.object::<serde_json::Value>().unwrap()["status"],
            "Success"
        );
        assert!(matches!(
            answer("").object::<serde_json::Value>(),
            Err(Error::Decode(_))
        ));
    }
}
