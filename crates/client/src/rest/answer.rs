//! [`Answer`]: what came back. Refusals never get here: they are errors with a `Status`.

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use serde::de::DeserializeOwned;

use super::refusal::{self, NoAnswer, failure, text_of};
use crate::{
    error::{Error, Result},
    policy::{Warning, parse_warnings},
};

/// The longest answer that is read as a whole. Lists can be read item by item and have no such bound.
pub const MAX_ANSWER: usize = 256 << 20;

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
    refusal::send(client, request)
        .await
        .map_err(|no_answer| match no_answer {
            NoAnswer::Refused { status, .. } => Error::Api(status),
            NoAnswer::Failed(error) => error.into(),
        })
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

#[cfg(test)]
mod tests {
    use super::*;

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
