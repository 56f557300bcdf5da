//! Request and response bodies: bytes, streams, or bodies of other libraries.
//!
//! Hyper writes a body to a socket; an in-process client reads it directly.

mod timed;

use std::{
    any::Any,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};
use tokio::time::Instant;

use self::timed::Timed;
use crate::server::Seat;

/// An error of a body.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A request or response body.
///
/// ```
/// use kubewright_apiserver::Body;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let body = Body::from("{}");
/// assert_eq!(body.collect_up_to(16).await.unwrap().unwrap(), "{}");
/// # });
/// ```
pub struct Body {
    inner: Inner,
    /// Counts what is read of the body of a request.
    seat: Option<Arc<Seat>>,
    /// Dropped with the body.
    _guard: Option<Box<dyn Any + Send>>,
}

/// The failure to read the body of a request while too many bytes of bodies are in memory.
#[derive(Debug, thiserror::Error)]
#[error("too many bytes of request bodies are in memory")]
pub(crate) struct TooManyBytes;

enum Inner {
    Full(Option<Bytes>),
    Stream(Pin<Box<dyn Stream<Item = Result<Bytes, BoxError>> + Send>>),
    Foreign(UnsyncBoxBody<Bytes, BoxError>),
    Timed(Timed),
}

impl Body {
    fn of(inner: Inner) -> Self {
        Self {
            inner,
            seat: None,
            _guard: None,
        }
    }

    /// Returns a body without bytes.
    pub fn empty() -> Self {
        Self::of(Inner::Full(None))
    }

    /// Returns a body of chunks. An error closes the connection, so that a reader cannot mistake a part for the whole.
    pub fn stream(stream: impl Stream<Item = Result<Bytes, BoxError>> + Send + 'static) -> Self {
        Self::of(Inner::Stream(Box::pin(stream)))
    }

    /// Wraps the body of another library.
    pub fn wrap<B>(body: B) -> Self
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        if body.is_end_stream() {
            return Self::empty();
        }
        Self::of(Inner::Foreign(body.map_err(Into::into).boxed_unsync()))
    }

    /// Keeps a value for as long as the body is not sent.
    pub(crate) fn with_guard(mut self, guard: impl Any + Send) -> Self {
        self._guard = Some(match self._guard.take() {
            None => Box::new(guard),
            Some(other) => Box::new((other, guard)),
        });
        self
    }

    /// Counts the bytes that [`collect_up_to`](Self::collect_up_to) reads.
    pub(crate) fn counted(mut self, seat: Arc<Seat>) -> Self {
        self.seat = Some(seat);
        self
    }

    /// Ends the body at a time, even if nobody reads it: what it holds is dropped, and a reader gets an error.
    pub(crate) fn until(self, deadline: Instant) -> Self {
        Self::of(Inner::Timed(Timed::new(self, deadline)))
    }

    /// Returns whether all bytes are in memory, so that nothing is computed while they are sent.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.inner, Inner::Full(_))
    }

    /// Returns the chunks of the body.
    pub fn into_chunks(self) -> impl Stream<Item = Result<Bytes, BoxError>> + Send {
        http_body_util::BodyDataStream::new(self)
    }

    /// Reads the whole body. Returns `None` if it is longer than `limit`.
    ///
    /// # Errors
    ///
    /// Returns the error of the stream.
    pub async fn collect_up_to(self, limit: usize) -> Result<Option<Bytes>, BoxError> {
        let seat = self.seat.clone();
        let has_room = |size: usize| seat.as_ref().is_none_or(|seat| seat.grow_body(size));
        let mut body = match self.inner {
            Inner::Full(bytes) => {
                let bytes = bytes.unwrap_or_default();
                return match bytes.len() <= limit {
                    true if has_room(bytes.len()) => Ok(Some(bytes)),
                    true => Err(TooManyBytes.into()),
                    false => Ok(None),
                };
            }
            other => Self::of(other),
        };
        let mut first = Bytes::new();
        let mut all = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame?.into_data() else {
                continue;
            };
            let size = first.len().max(all.len()) + data.len();
            if size > limit {
                return Ok(None);
            }
            if !has_room(size) {
                return Err(TooManyBytes.into());
            }
            // Most bodies are one chunk, which is not copied.
            if first.is_empty() {
                first = data;
                continue;
            }
            if all.is_empty() {
                all.extend_from_slice(&first);
            }
            all.extend_from_slice(&data);
        }
        Ok(Some(match all.is_empty() {
            true => first,
            false => all.freeze(),
        }))
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        let bytes = bytes.into();
        Self::of(Inner::Full((!bytes.is_empty()).then_some(bytes)))
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.inner {
            Inner::Full(bytes) => Poll::Ready(bytes.take().map(|b| Ok(Frame::data(b)))),
            Inner::Stream(stream) => stream
                .as_mut()
                .poll_next(cx)
                .map(|next| next.map(|chunk| chunk.map(Frame::data))),
            Inner::Foreign(body) => Pin::new(body).poll_frame(cx),
            Inner::Timed(body) => body.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.inner {
            Inner::Full(bytes) => bytes.is_none(),
            Inner::Stream(_) => false,
            Inner::Foreign(body) => body.is_end_stream(),
            Inner::Timed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            Inner::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Inner::Stream(_) => SizeHint::default(),
            Inner::Foreign(body) => body.size_hint(),
            Inner::Timed(body) => body.size_hint(),
        }
    }
}
