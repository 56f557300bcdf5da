//! Writes frames, in batches if several are queued.

use std::io;

use bytes::Bytes;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::mpsc,
};

use super::{Idle, Outgoing};

/// The size up to which frames are batched.
const BATCH: usize = 16 << 10;

/// Encodes the bytes of a stream as frames.
pub(crate) trait Encode {
    /// Appends frames with these bytes. Appends nothing if the protocol cannot express the end of a stream.
    fn data(&mut self, stream: u32, bytes: &Bytes, last: bool, out: &mut Vec<u8>);
}

/// Writes frames until [`Outgoing::End`], or until all senders are dropped, and closes the connection for writing.
pub(super) async fn run<W: AsyncWrite + Unpin>(
    mut io: W,
    mut frames: mpsc::Receiver<Outgoing>,
    mut encode: impl Encode,
    idle: Idle,
) -> io::Result<()> {
    let mut batch = Vec::new();
    while let Some(frame) = frames.recv().await {
        let mut next = Some(frame);
        let mut ended = false;
        while let Some(frame) = next {
            match frame {
                Outgoing::Data {
                    stream,
                    bytes,
                    last,
                } => encode.data(stream, &bytes, last, &mut batch),
                Outgoing::Frame(bytes) => batch.extend_from_slice(&bytes),
                Outgoing::End => {
                    ended = true;
                    break;
                }
            }
            if batch.len() >= BATCH {
                break;
            }
            next = frames.try_recv().ok();
        }
        io.write_all(&batch).await?;
        io.flush().await?;
        idle.touch();
        match batch.capacity() > BATCH {
            // Idle connections release large buffers.
            true => batch = Vec::new(),
            false => batch.clear(),
        }
        if ended {
            break;
        }
    }
    io.shutdown().await
}
