//! [`Input`], [`Output`] and [`Duplex`]: the handlers' ends of streams.

use std::{
    fmt, io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::mpsc::{
        self, OwnedPermit,
        error::{SendError, TrySendError},
    },
};

use crate::connection::{Outgoing, Queue};

/// The maximum number of bytes of a frame.
const FRAME: usize = 32 << 10;
/// The number of chunks that are queued for a reader.
const CHUNKS: usize = 4;

/// The bytes that the peer sends on a stream. It ends when the peer closes the stream or disconnects.
///
/// Implements [`AsyncRead`]; [`chunk`](Self::chunk) reads without copying.
///
/// ```
/// use kubewright_streams::Input;
/// use tokio::io::{self, AsyncBufReadExt, BufReader};
///
/// /// Reads the first line of standard input.
/// async fn name(stdin: Input) -> io::Result<String> {
///     let mut line = String::new();
///     BufReader::new(stdin).read_line(&mut line).await?;
///     Ok(line.trim_end().to_owned())
/// }
/// # let _ = name;
/// ```
pub struct Input {
    chunks: mpsc::Receiver<Bytes>,
    current: Bytes,
}

/// The bytes that are sent to the peer on a stream. Writes block while the peer does not read.
///
/// Implements [`AsyncWrite`]. `shutdown` signals the end of the stream to the peer, if the protocol supports it.
///
/// ```
/// use kubewright_streams::Output;
/// use tokio::io::{self, AsyncWriteExt};
///
/// async fn greet(mut stdout: Output) -> io::Result<()> {
///     stdout.write_all(b"hello\n").await?;
///     stdout.shutdown().await
/// }
/// # let _ = greet;
/// ```
pub struct Output {
    stream: u32,
    queue: Queue,
    waiting: Option<Reservation>,
    state: Arc<State>,
}

/// A stream of bytes in both directions.
#[derive(Debug)]
pub struct Duplex {
    /// The bytes from the peer.
    pub input: Input,
    /// The bytes to the peer.
    pub output: Output,
}

/// A pending reservation of a slot in the queue.
type Reservation = Pin<Box<dyn Future<Output = Result<Place, SendError<()>>> + Send + Sync>>;
type Place = OwnedPermit<Outgoing>;

/// The state of an [`Output`] that the connection shares.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Whether no more bytes are sent.
    finished: AtomicBool,
    /// Whether the peer has stopped reading.
    reset: AtomicBool,
}

/// Returns an input, and the sender for its bytes.
pub(crate) fn input() -> (mpsc::Sender<Bytes>, Input) {
    let (sender, chunks) = mpsc::channel(CHUNKS);
    let current = Bytes::new();
    (sender, Input { chunks, current })
}

impl Input {
    /// Returns the next bytes, or `None` at the end.
    pub async fn chunk(&mut self) -> Option<Bytes> {
        if self.current.has_remaining() {
            return Some(std::mem::take(&mut self.current));
        }
        self.chunks.recv().await
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").finish_non_exhaustive()
    }
}

impl AsyncRead for Input {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while !self.current.has_remaining() {
            match ready!(self.chunks.poll_recv(cx)) {
                Some(chunk) => self.current = chunk,
                None => return Poll::Ready(Ok(())),
            }
        }
        let count = self.current.len().min(buf.remaining());
        buf.put_slice(&self.current.split_to(count));
        Poll::Ready(Ok(()))
    }
}

impl State {
    /// Marks the stream as finished. Returns whether it was open.
    pub(crate) fn finish(&self) -> bool {
        !self.finished.swap(true, Relaxed)
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finished.load(Relaxed)
    }

    /// Makes all further writes fail.
    pub(crate) fn reset(&self) {
        self.reset.store(true, Relaxed);
        self.finished.store(true, Relaxed);
    }
}

impl Output {
    pub(crate) fn new(stream: u32, queue: Queue) -> Self {
        Self {
            stream,
            queue,
            waiting: None,
            state: Arc::default(),
        }
    }

    pub(crate) fn state(&self) -> Arc<State> {
        self.state.clone()
    }

    /// Reserves a slot in the queue of the connection.
    fn poll_place(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Place>> {
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        let waiting = match &mut self.waiting {
            Some(waiting) => waiting,
            none => match self.queue.0.clone().try_reserve_owned() {
                Ok(place) => return Poll::Ready(Ok(place)),
                Err(TrySendError::Full(queue)) => none.insert(Box::pin(queue.reserve_owned())),
                Err(TrySendError::Closed(_)) => return Poll::Ready(Err(gone())),
            },
        };
        let place = ready!(waiting.as_mut().poll(cx));
        self.waiting = None;
        Poll::Ready(place.map_err(|_| gone()))
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").finish_non_exhaustive()
    }
}

impl AsyncWrite for Output {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.state.is_finished() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let count = buf.len().min(FRAME);
        if count == 0 {
            return Poll::Ready(Ok(0));
        }
        let place = ready!(self.poll_place(cx))?;
        place.send(Outgoing::Data {
            stream: self.stream,
            bytes: Bytes::copy_from_slice(&buf[..count]),
            last: false,
        });
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The connection flushes whenever its queue is empty.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.state.is_finished() {
            return Poll::Ready(Ok(()));
        }
        let place = ready!(self.poll_place(cx))?;
        if self.state.finish() {
            place.send(Outgoing::last(self.stream));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Duplex {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.input).poll_read(cx, buf)
    }
}

impl AsyncWrite for Duplex {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.output).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_shutdown(cx)
    }
}
