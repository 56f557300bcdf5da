//! [`open`] and [`open_watch`]: requests through [`kube::Client`], their bodies as chunks, their refusals as a `Status`.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http::header::{ACCEPT, ACCEPT_ENCODING};
use http_body_util::BodyExt;
use kube::client::Body;
use kube::core::Status;

use super::DecodeError;
use crate::rest::refusal::{self, NoAnswer};

/// Any error, as bodies have them.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The chunks of a body.
pub type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, BoxError>> + Send>>;

/// Why there is no body, or why it is of no use.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The server said no.
    #[error("{status}")]
    Refused {
        /// What it said.
        #[source]
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
    get(client, path, accept, None).await
}

/// Sends a GET for a watch. Its answer is not to be compressed: servers may do that event by event, which the decompression of
/// HTTP clients takes for its end.
pub async fn open_watch(
    client: &kube::Client,
    path: &str,
    accept: &str,
) -> Result<ByteStream, OpenError> {
    get(client, path, accept, Some("identity")).await
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

async fn get(
    client: &kube::Client,
    path: &str,
    accept: &str,
    encoding: Option<&str>,
) -> Result<ByteStream, OpenError> {
    let mut request = http::Request::get(path).header(ACCEPT, accept);
    if let Some(encoding) = encoding {
        request = request.header(ACCEPT_ENCODING, encoding);
    }
    let request = request
        .body(Body::empty())
        .map_err(|error| OpenError::Transport(error.into()))?;
    match refusal::send(client, request).await {
        Ok(response) => {
            let chunks = response.into_body().into_data_stream();
            Ok(Box::pin(chunks.map(|chunk| chunk.map_err(Into::into))))
        }
        Err(NoAnswer::Refused {
            status,
            retry_after,
        }) => Err(OpenError::Refused {
            status,
            retry_after,
        }),
        Err(NoAnswer::Failed(error)) => Err(OpenError::Transport(error.into())),
    }
}
