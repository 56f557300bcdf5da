//! [`Timed`]: a body that ends at a time, whether or not it is read.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http_body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::{task::AbortHandle, time::Instant};

use super::{Body, BoxError};

/// A body until its time is up. A peer that does not read keeps HTTP/2 from polling the body, so a task of its own drops what
/// the body holds.
pub(super) struct Timed {
    shared: Arc<Shared>,
    size: SizeHint,
    timer: AbortHandle,
    failed: bool,
}

struct Shared {
    /// `None` after the time.
    body: Mutex<Option<Body>>,
    reader: AtomicWaker,
}

/// The failure of a body whose time is up.
#[derive(Debug, thiserror::Error)]
#[error("the response was not read within the time of the request")]
struct TooLate;

impl Timed {
    pub(super) fn new(body: Body, deadline: Instant) -> Self {
        let size = body.size_hint();
        let shared = Arc::new(Shared {
            body: Mutex::new(Some(body)),
            reader: AtomicWaker::new(),
        });
        let watched = shared.clone();
        let timer = tokio::spawn(async move {
            tokio::time::sleep_until(deadline).await;
            let late = watched.body.lock().take();
            drop(late);
            watched.reader.wake();
        });
        Self {
            shared,
            size,
            timer: timer.abort_handle(),
            failed: false,
        }
    }

    pub(super) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.shared.reader.register(cx.waker());
        match &mut *self.shared.body.lock() {
            Some(body) => Pin::new(body).poll_frame(cx),
            None if std::mem::replace(&mut self.failed, true) => Poll::Ready(None),
            None => Poll::Ready(Some(Err(TooLate.into()))),
        }
    }

    pub(super) fn is_end_stream(&self) -> bool {
        match &*self.shared.body.lock() {
            Some(body) => body.is_end_stream(),
            None => self.failed,
        }
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        match &*self.shared.body.lock() {
            Some(body) => body.size_hint(),
            None => self.size,
        }
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        self.timer.abort();
        // The task ends later; what the body holds is released now.
        let body = self.shared.body.lock().take();
        drop(body);
    }
}
