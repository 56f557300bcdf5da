//! [`open`]: a request through [`kube::Client`], its body as chunks, its refusal as a `Status`.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http::header::{ACCEPT, RETRY_AFTER};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use kube::core::Status;

use super::DecodeError;

/// Any error, as bodies have them.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The chunks of a body.
pub type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, BoxError>> + Send>>;

/// The longest refusal that is read.
const MAX_REFUSAL: usize = 1 << 20;

/// Why there is no body, or why it is of no use.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The server said no.
    #[error("{status}")]
    Refused {
        /// What it said.
        status: Box<Status>,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// Nobody answered, or the connection broke.
    #[error("{0}")]
    Transport(#[source] BoxError),
    /// The answer makes no sense.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// Sends a GET for `path`, query included, and answers with the body's chunks.
pub async fn open(
    client: &kube::Client,
    path: &str,
    accept: &str,
) -> Result<ByteStream, OpenError> {
    let request = http::Request::get(path)
        .header(ACCEPT, accept)
        .body(Body::empty())
        .map_err(|error| OpenError::Transport(error.into()))?;
    let response = client.send(request).await.map_err(|error| match error {
        kube::Error::Api(status) => OpenError::Refused {
            status,
            retry_after: None,
        },
        other => OpenError::Transport(other.into()),
    })?;
    if response.status().is_success() {
        let chunks = response.into_body().into_data_stream();
        return Ok(Box::pin(chunks.map(|chunk| chunk.map_err(Into::into))));
    }
    let code = response.status();
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .map(Duration::from_secs);
    let body = Limited::new(response.into_body(), MAX_REFUSAL)
        .collect()
        .await
        .map(|body| body.to_bytes())
        .unwrap_or_default();
    Err(OpenError::Refused {
        status: Box::new(refusal(code, &body)),
        retry_after,
    })
}

impl OpenError {
    /// A refusal with that `Status`.
    pub fn refused(status: Status) -> Self {
        Self::Refused {
            status: Box::new(status),
            retry_after: None,
        }
    }

    /// What the server said, if it said no.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Refused { status, .. } => Some(status),
            _ => None,
        }
    }

    /// Nobody listens there.
    pub fn is_connection_refused(&self) -> bool {
        let Self::Transport(error) = self else {
            return false;
        };
        let mut next: Option<&(dyn std::error::Error + 'static)> = Some(&**error);
        while let Some(error) = next {
            if let Some(error) = error.downcast_ref::<io::Error>() {
                return error.kind() == io::ErrorKind::ConnectionRefused;
            }
            next = error.source();
        }
        false
    }
}

fn refusal(code: http::StatusCode, body: &[u8]) -> Status {
    match serde_json::from_slice::<Status>(body) {
        Ok(mut status) if status.is_failure() => {
            if status.code == 0 {
                status.code = code.as_u16();
            }
            status
        }
        _ => {
            let text = String::from_utf8_lossy(body.get(..2048).unwrap_or(body)).into_owned();
            let text = if text.is_empty() {
                format!("the server answered {code}")
            } else {
                text
            };
            let reason = code
                .canonical_reason()
                .unwrap_or("Unknown")
                .replace(' ', "");
            Status::failure(&text, &reason).with_code(code.as_u16())
        }
    }
}
