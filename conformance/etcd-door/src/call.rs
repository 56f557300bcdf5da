//! Calls of gRPC: the body of an answer, and errors as etcd words them.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, header};
use http_body::{Body, Frame};
use kubewright_store::{Failure, FailureKind, ReadError, WriteError};
use tokio::sync::mpsc;

use crate::{frame::framed, wire::Malformed};

/// An error of a call: the code of gRPC, and the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct CallError {
    code: u16,
    pub(crate) message: String,
}

const INVALID_ARGUMENT: u16 = 3;
const NOT_FOUND: u16 = 5;
const RESOURCE_EXHAUSTED: u16 = 8;
const OUT_OF_RANGE: u16 = 11;
const UNIMPLEMENTED: u16 = 12;
const INTERNAL: u16 = 13;
const UNAVAILABLE: u16 = 14;

const STATUS: &str = "grpc-status";

impl CallError {
    fn new(code: u16, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(INVALID_ARGUMENT, message)
    }

    pub(crate) fn unimplemented(what: &str) -> Self {
        Self::new(UNIMPLEMENTED, format!("etcd-door does not support {what}"))
    }

    pub(crate) fn no_lease() -> Self {
        Self::new(NOT_FOUND, "etcdserver: requested lease not found")
    }

    pub(crate) fn too_large() -> Self {
        Self::invalid("etcdserver: request is too large")
    }

    pub(crate) fn too_many() -> Self {
        Self::new(RESOURCE_EXHAUSTED, "etcdserver: too many requests")
    }

    pub(crate) fn compacted() -> Self {
        let text = "etcdserver: mvcc: required revision has been compacted";
        Self::new(OUT_OF_RANGE, text)
    }

    fn future() -> Self {
        let text = "etcdserver: mvcc: required revision is a future revision";
        Self::new(OUT_OF_RANGE, text)
    }
}

impl From<Malformed> for CallError {
    fn from(_: Malformed) -> Self {
        Self::invalid("the request is not a message of etcd's API")
    }
}

impl From<ReadError> for CallError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Compacted { .. } => Self::compacted(),
            ReadError::Future { .. } => Self::future(),
            ReadError::Backend(error) => Self::new(INTERNAL, error.to_string()),
        }
    }
}

impl From<WriteError> for CallError {
    fn from(error: WriteError) -> Self {
        let WriteError::Backend(backend) = &error else {
            // Transactions repeat those.
            return Self::new(INTERNAL, error.to_string());
        };
        let kind = backend.downcast_ref::<Failure>().map(|f| f.kind);
        match kind {
            Some(FailureKind::TooLarge) => Self::too_large(),
            Some(FailureKind::Unavailable) => Self::new(UNAVAILABLE, backend.to_string()),
            _ => Self::new(INTERNAL, backend.to_string()),
        }
    }
}

/// The body of an answer: messages, and the status at the end.
pub(crate) enum ReplyBody {
    One(Option<Bytes>),
    Many(mpsc::Receiver<Bytes>),
    End,
    /// The status is in the head.
    Nothing,
}

/// Returns the answer to a call.
pub(crate) fn reply(called: Result<ReplyBody, CallError>) -> Response<ReplyBody> {
    let (body, error) = match called {
        Ok(body) => (body, None),
        Err(error) => (ReplyBody::Nothing, Some(error)),
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    let grpc = HeaderValue::from_static("application/grpc");
    headers.insert(header::CONTENT_TYPE, grpc);
    if let Some(error) = error {
        headers.insert(STATUS, HeaderValue::from(error.code));
        let message = HeaderValue::try_from(escaped(&error.message));
        let message = message.unwrap_or(HeaderValue::from_static("?"));
        headers.insert("grpc-message", message);
    }
    response
}

/// Returns a body of one message.
pub(crate) fn one(message: &[u8]) -> ReplyBody {
    ReplyBody::One(Some(framed(message)))
}

/// Escapes what a header cannot have, as gRPC does.
fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'%' | ..=0x1f | 0x7f.. => format!("%{byte:02X}"),
        byte => char::from(byte).to_string(),
    };
    text.bytes().map(escape).collect()
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        let message = match this {
            Self::One(message) => message.take(),
            Self::Many(messages) => match messages.poll_recv(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(message) => message,
            },
            Self::End => {
                *this = Self::Nothing;
                let mut trailers = HeaderMap::new();
                trailers.insert(STATUS, HeaderValue::from_static("0"));
                return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
            }
            Self::Nothing => return Poll::Ready(None),
        };
        match message {
            Some(message) => Poll::Ready(Some(Ok(Frame::data(message)))),
            None => {
                *this = Self::End;
                Pin::new(this).poll_frame(context)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_a_head() {
        let error = CallError::invalid("50 % of \u{fc}ml\n");
        let response = reply(Err(error));
        assert_eq!(response.headers()["grpc-status"], "3");
        assert_eq!(response.headers()["grpc-message"], "50 %25 of %C3%BCml%0A");
        assert!(response.body().is_end_stream());
    }
}
