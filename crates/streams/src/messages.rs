//! A body sent as WebSocket messages.

use std::pin::pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};

use crate::{
    StreamLimits,
    connection::{self, Outgoing},
    upgrade::Io,
    websocket::{CLOSE_NORMAL, Frames, MessageEncoder, close_frame},
};

pub(crate) const PROTOCOLS: &[&str] = &["", "binary.k8s.io", BASE64];
const BASE64: &str = "base64.binary.k8s.io";

/// Sends chunks until the body ends, or the client closes the connection.
pub(crate) async fn send<E: std::fmt::Display>(
    io: Io,
    protocol: &str,
    chunks: impl Stream<Item = Result<Bytes, E>>,
    limits: &StreamLimits,
) {
    let base64 = protocol == BASE64;
    connection::serve(io, MessageEncoder { base64 }, limits, |io, queue| {
        let mut frames = Frames::new(io, queue.clone());
        let reading = async move {
            while frames.next().await?.is_some() {}
            Ok(())
        };
        let work = async move {
            let mut chunks = pin!(chunks);
            loop {
                match chunks.next().await {
                    Some(Ok(bytes)) => queue.data(0, bytes).await,
                    // Without a close frame, the client can tell that the body is incomplete.
                    Some(Err(error)) => {
                        tracing::debug!(%error, "a body failed");
                        break;
                    }
                    None => {
                        queue.send(Outgoing::Frame(close_frame(CLOSE_NORMAL))).await;
                        break;
                    }
                }
            }
            queue.send(Outgoing::End).await;
        };
        (reading, work)
    })
    .await;
}
