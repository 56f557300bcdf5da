//! A protocol inside a WebSocket, whose messages carry a byte stream.

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};

use super::{CLOSE_NORMAL, Frames, MessageEncoder, close_frame};
use crate::{
    StreamLimits,
    connection::{self, Outgoing},
};

/// The capacity of the buffer in one direction.
const BUFFER: usize = 16 << 10;

/// Serves the inner protocol over the byte stream.
pub(crate) async fn tunnel<T, F>(
    io: T,
    limits: &StreamLimits,
    protocol: impl FnOnce(DuplexStream) -> F,
) where
    T: AsyncRead + AsyncWrite,
    F: Future<Output = ()>,
{
    let (inner, outer) = tokio::io::duplex(BUFFER);
    let (mut from_inner, mut to_inner) = tokio::io::split(outer);
    let served = protocol(inner);
    connection::serve(io, MessageEncoder { base64: false }, limits, |io, queue| {
        let mut frames = Frames::new(io, queue.clone());
        let reading = async move {
            while let Some(event) = frames.next().await? {
                // The inner protocol has ended and reads no more bytes.
                if to_inner.write_all(&event.bytes).await.is_err() {
                    break;
                }
            }
            Ok(())
        };
        let work = async move {
            let sending = async {
                let mut buffer = vec![0; BUFFER];
                while let Ok(count @ 1..) = from_inner.read(&mut buffer).await {
                    let bytes = Bytes::copy_from_slice(&buffer[..count]);
                    queue.data(0, bytes).await;
                }
            };
            tokio::join!(served, sending);
            queue.send(Outgoing::Frame(close_frame(CLOSE_NORMAL))).await;
            queue.send(Outgoing::End).await;
        };
        (reading, work)
    })
    .await;
}
