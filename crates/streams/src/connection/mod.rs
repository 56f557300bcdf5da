//! An upgraded connection: one future reads frames, one writes them, and one runs the handlers of its streams.

mod buffered;
mod idle;
mod writer;

use std::{io, pin::pin};

use bytes::Bytes;
use futures_util::{FutureExt, future::FusedFuture};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadHalf},
    sync::mpsc,
};

pub(crate) use buffered::{Buffered, u32_at};
use idle::Idle;
pub(crate) use writer::Encode;

use crate::StreamLimits;

/// The number of frames that are queued for writing.
const FRAMES: usize = 4;

/// A frame to be written.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// Bytes of a stream.
    Data {
        stream: u32,
        bytes: Bytes,
        /// Whether these are the last bytes of the stream.
        last: bool,
    },
    /// An encoded frame.
    Frame(Bytes),
    /// The end of the connection, which is then closed for writing.
    End,
}

impl Outgoing {
    /// Returns the frame that ends a stream.
    pub(crate) fn last(stream: u32) -> Self {
        Self::Data {
            stream,
            bytes: Bytes::new(),
            last: true,
        }
    }
}

/// The queue of frames to be written.
#[derive(Clone, Debug)]
pub(crate) struct Queue(pub(crate) mpsc::Sender<Outgoing>);

impl Queue {
    /// Queues a frame. If the peer is gone, the frame is dropped; readers detect the disconnect.
    pub(crate) async fn send(&self, frame: Outgoing) {
        let _ = self.0.send(frame).await;
    }

    pub(crate) async fn data(&self, stream: u32, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        let last = false;
        self.send(Outgoing::Data {
            stream,
            bytes,
            last,
        })
        .await;
    }
}

/// Serves a connection until the peer closes it, until `work` has completed and the peer has closed its side too, or until a
/// limit is exceeded. `read` reads frames until the peer ends the connection, and `work` sends [`Outgoing::End`] last.
pub(crate) async fn serve<T, R, W>(
    io: T,
    encode: impl Encode,
    limits: &StreamLimits,
    parts: impl FnOnce(Buffered<ReadHalf<T>>, Queue) -> (R, W),
) where
    T: AsyncRead + AsyncWrite,
    R: Future<Output = io::Result<()>>,
    W: Future<Output = ()>,
{
    let (read, write) = tokio::io::split(io);
    let (sender, frames) = mpsc::channel(FRAMES);
    let idle = Idle::new(limits.idle_timeout);
    let (reading, work) = parts(Buffered::new(read, idle.clone()), Queue(sender));
    let writing = writer::run(write, frames, encode, idle.clone());
    let mut writing = pin!(writing.fuse());
    let ended = {
        let talking = async {
            tokio::pin!(reading);
            tokio::select! {
                ended = &mut reading => return ended,
                () = work => {}
            }
            match tokio::time::timeout(limits.close_timeout, reading).await {
                Ok(ended) => ended,
                Err(_) => Err(io::ErrorKind::TimedOut.into()),
            }
        };
        let mut talking = pin!(talking);
        loop {
            tokio::select! {
                ended = &mut talking => break ended,
                written = &mut writing, if !writing.is_terminated() => match written {
                    // Everything is written. Wait for the peer to close the connection.
                    Ok(()) => {}
                    failed => break failed,
                },
                () = idle.expired() => break Err(io::ErrorKind::TimedOut.into()),
            }
        }
    };
    if !writing.is_terminated() {
        // The last frame may still be in flight.
        let _ = tokio::time::timeout(limits.close_timeout, writing).await;
    }
    if let Err(error) = ended {
        tracing::debug!(%error, "a stream ended");
    }
}
