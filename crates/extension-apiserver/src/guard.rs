//! Panics in the streams of authors.
//!
//! The server answers a request whose handler panics. A panic in a body that is being sent would end the connection, and with
//! it the other requests on an HTTP/2 connection.

use std::panic::AssertUnwindSafe;

use futures_util::{FutureExt, Stream, StreamExt, stream};
use kubewright_apiserver::BoxError;

use crate::streams::LogStream;

/// A panic in a stream, after which it must not be polled.
#[derive(Debug, thiserror::Error)]
#[error("the stream caused a panic")]
pub(crate) struct Panicked;

/// Returns the next item of a stream.
pub(crate) async fn next<S>(stream: &mut S) -> Result<Option<S::Item>, Panicked>
where
    S: Stream + Unpin + ?Sized,
{
    let next = AssertUnwindSafe(stream.next()).catch_unwind();
    next.await.map_err(|_| {
        tracing::error!("a stream caused a panic");
        Panicked
    })
}

/// Returns the chunks of a log, which end with an error in place of a panic.
pub(crate) fn chunks(log: LogStream) -> LogStream {
    Box::pin(stream::unfold(Some(log), |log| async {
        let mut log = log?;
        match next(&mut log).await {
            Ok(chunk) => Some((chunk?, Some(log))),
            Err(panicked) => Some((Err(BoxError::from(panicked)), None)),
        }
    }))
}
