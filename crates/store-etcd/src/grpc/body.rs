//! [`RequestBody`]: a single message, or a stream of messages.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

/// The body of a request.
pub(super) enum RequestBody {
    One(Option<Bytes>),
    /// Ends when the sender is dropped.
    Many(mpsc::Receiver<Bytes>),
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let message = match self.get_mut() {
            Self::One(message) => Poll::Ready(message.take()),
            Self::Many(messages) => messages.poll_recv(context),
        };
        message.map(|message| message.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::One(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::One(message) => {
                SizeHint::with_exact(message.as_ref().map_or(0, Bytes::len) as u64)
            }
            Self::Many(_) => SizeHint::default(),
        }
    }
}
