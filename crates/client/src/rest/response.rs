//! [`RestResponse`]: a successful response. Failures are errors with a `Status`.

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use serde::de::DeserializeOwned;

use super::failure::{self, NoResponse, decode_failure, text_of};
use crate::{
    error::{Error, Result},
    policy::{Warning, parse_warnings},
};

/// The maximum size of a response that is read as a whole. Lists can be read item by item and have no such limit.
pub(crate) const MAX_RESPONSE: usize = 256 << 20;

/// A successful response.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use kubewright_client::RestClient;
/// use serde_json::Value;
///
/// let response = RestClient::new(client).get().abs_path("/version").send().await.unwrap();
/// assert_eq!(response.code(), 200);
/// assert!(!response.was_created());
/// assert!(response.content_type().starts_with("application/json"));
/// assert_eq!(response.object::<Value>().unwrap()["major"], "1");
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct RestResponse {
    code: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl RestResponse {
    /// Returns the HTTP status code.
    pub fn code(&self) -> StatusCode {
        self.code
    }

    /// Reports whether an object was created.
    pub fn was_created(&self) -> bool {
        self.code == StatusCode::CREATED
    }

    /// Returns the headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns the content type; empty if there is none.
    pub fn content_type(&self) -> &str {
        text_of(&self.headers, header::CONTENT_TYPE)
    }

    /// Returns the warnings.
    pub fn warnings(&self) -> Vec<Warning> {
        parse_warnings(&self.headers)
    }

    /// Returns the body.
    pub fn bytes(&self) -> &Bytes {
        &self.body
    }

    /// Returns the body as text.
    ///
    /// # Errors
    ///
    /// Fails if it is not UTF-8.
    pub fn text(&self) -> Result<&str> {
        std::str::from_utf8(&self.body).map_err(|error| Error::Decode(error.to_string()))
    }

    /// Decodes the body.
    ///
    /// # Errors
    ///
    /// Fails if the body cannot be decoded, or if it is a `Status` of a failure.
    pub fn object<T: DeserializeOwned>(&self) -> Result<T> {
        if self.body.is_empty() {
            return Err(Error::Decode(format!(
                "0-length response with status code: {} and content type: {}",
                self.code.as_u16(),
                self.content_type()
            )));
        }
        if let Some(status) = decode_failure(&self.body) {
            return Err(Error::Api(Box::new(status)));
        }
        serde_json::from_slice(&self.body).map_err(|error| Error::Decode(error.to_string()))
    }
}

/// Sends a request and reads the whole response.
pub(crate) async fn exchange(
    client: &kube::Client,
    request: Request<Body>,
) -> Result<RestResponse> {
    let response = open(client, request).await?;
    let (parts, body) = response.into_parts();
    let body = read(body, MAX_RESPONSE).await?;
    Ok(RestResponse {
        code: parts.status,
        headers: parts.headers,
        body,
    })
}

/// Sends a request, and returns the response with its body unread.
pub(crate) async fn open(client: &kube::Client, request: Request<Body>) -> Result<Response<Body>> {
    failure::send(client, request)
        .await
        .map_err(|no_answer| match no_answer {
            NoResponse::Refused { status, .. } => Error::Api(status),
            NoResponse::Failed(error) => error.into(),
        })
}

/// Reads a body up to the size limit.
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
        let answer = |body: &'static str| RestResponse {
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
