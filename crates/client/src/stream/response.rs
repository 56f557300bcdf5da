//! [`open`] and [`open_watch`]: requests through [`kube::Client`], with bodies as chunks and failures as a `Status`.

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
use crate::error::BoxError;
use crate::rest::failure::{self, NoResponse};

/// The chunks of a body.
pub type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, BoxError>> + Send>>;

/// A request without a usable body.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The server answered with a failure.
    #[error("{status}")]
    Refused {
        /// The server's answer.
        #[source]
        status: Box<Status>,
        /// The time to wait that the server asks for.
        retry_after: Option<Duration>,
    },
    /// The server could not be reached, or the connection broke.
    #[error("{0}")]
    Transport(#[source] BoxError),
    /// The response could not be decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// Sends a GET for `path`, query included, and returns the chunks of the body.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use futures_util::StreamExt;
/// use kubewright_client::stream::{ListDecoder, open};
///
/// let mut chunks = open(&client, "/api/v1/namespaces", "application/json").await.unwrap();
/// let mut decoder = ListDecoder::default();
/// let mut count = 0;
/// while let Some(chunk) = chunks.next().await {
///     decoder.push(chunk.unwrap());
///     while decoder.next().unwrap().is_some() {
///         count += 1;
///     }
/// }
/// assert_eq!(decoder.finish().unwrap().kind, "NamespaceList");
/// assert!(count > 0);
/// # });
/// ```
///
/// # Errors
///
/// Fails if the server answers with a failure or cannot be reached.
pub async fn open(
    client: &kube::Client,
    path: &str,
    accept: &str,
) -> Result<ByteStream, OpenError> {
    get(client, path, accept, None).await
}

/// Sends a GET for a watch, without compression: servers may compress event by event, which HTTP clients take for the
/// end of the body.
///
/// # Errors
///
/// Fails if the server answers with a failure or cannot be reached.
pub async fn open_watch(
    client: &kube::Client,
    path: &str,
    accept: &str,
) -> Result<ByteStream, OpenError> {
    get(client, path, accept, Some("identity")).await
}

impl OpenError {
    /// Builds a failure with that `Status`.
    pub fn refused(status: Status) -> Self {
        Self::Refused {
            status: Box::new(status),
            retry_after: None,
        }
    }

    /// Returns the `Status`, if the server answered with a failure.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Refused { status, .. } => Some(status),
            _ => None,
        }
    }

    /// Reports whether the connection was refused.
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
    match failure::send(client, request).await {
        Ok(response) => {
            let chunks = response.into_body().into_data_stream();
            Ok(Box::pin(chunks.map(|chunk| chunk.map_err(Into::into))))
        }
        Err(NoResponse::Refused {
            status,
            retry_after,
        }) => Err(OpenError::Refused {
            status,
            retry_after,
        }),
        Err(NoResponse::Failed(error)) => Err(OpenError::Transport(error.into())),
    }
}
