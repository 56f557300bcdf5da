//! Request and response bodies: bytes, streams, or bodies of other libraries.
//!
//! Hyper writes a body to a socket; an in-process client reads it directly.

use std::{
    any::Any,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::Stream;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};

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
    /// Dropped with the body.
    _guard: Option<Box<dyn Any + Send>>,
}

enum Inner {
    Full(Option<Bytes>),
    Stream(Pin<Box<dyn Stream<Item = Result<Bytes, BoxError>> + Send>>),
    Foreign(UnsyncBoxBody<Bytes, BoxError>),
}

impl Body {
    fn of(inner: Inner) -> Self {
        Self {
            inner,
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

    /// Returns whether all bytes are there, so that nothing is computed while they are sent.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.inner, Inner::Full(_))
    }

    /// Reads the whole body. Returns `None` if it is longer than `limit`.
    ///
    /// # Errors
    ///
    /// Returns the error of the stream.
    pub async fn collect_up_to(self, limit: usize) -> Result<Option<Bytes>, BoxError> {
        match self.inner {
            Inner::Full(bytes) => Ok(bytes.or(Some(Bytes::new())).filter(|b| b.len() <= limit)),
            other => {
                let limited = http_body_util::Limited::new(Self::of(other), limit);
                match limited.collect().await {
                    Ok(collected) => Ok(Some(collected.to_bytes())),
                    Err(e) if e.is::<http_body_util::LengthLimitError>() => Ok(None),
                    Err(e) => Err(e),
                }
            }
        }
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
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.inner {
            Inner::Full(bytes) => bytes.is_none(),
            Inner::Stream(_) => false,
            Inner::Foreign(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            Inner::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Inner::Stream(_) => SizeHint::default(),
            Inner::Foreign(body) => body.size_hint(),
        }
    }
}
