//! A byte stream that drops peers that never read.
//!
//! A write that waits for `write_timeout` without progress fails, which ends the connection and frees its buffers. After an
//! upgrade, reads and writes fail once the shutdown has lasted too long. The stream also counts the bytes it reads, and holds the connection's slot for as long as it lives, even after an upgrade.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep},
};

use crate::{activity::Activity, slots::Slot};

/// A stream with a timeout on writes.
pub(crate) struct Guarded<T> {
    stream: T,
    activity: Arc<Activity>,
    write_timeout: Duration,
    /// Created when a write first has to wait.
    deadline: Option<Pin<Box<Sleep>>>,
    waiting: bool,
    _slot: Option<Arc<Slot>>,
}

impl<T> Guarded<T> {
    pub(crate) fn new(
        stream: T,
        activity: Arc<Activity>,
        write_timeout: Duration,
        slot: Option<Arc<Slot>>,
    ) -> Self {
        Self {
            stream,
            activity,
            write_timeout,
            deadline: None,
            waiting: false,
            _slot: slot,
        }
    }

    /// Returns the outcome of a write, or an error if it has been pending for too long.
    fn watch<R>(
        &mut self,
        cx: &mut Context<'_>,
        outcome: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if outcome.is_ready() {
            if std::mem::take(&mut self.waiting) {
                self.activity.set_blocked(false);
            }
            return outcome;
        }
        self.activity.set_blocked(true);
        let timeout = self.write_timeout;
        let deadline = match &mut self.deadline {
            Some(deadline) => {
                if !self.waiting {
                    deadline.as_mut().reset(Instant::now() + timeout);
                }
                deadline
            }
            none => none.insert(Box::pin(tokio::time::sleep(timeout))),
        };
        self.waiting = true;
        ready!(deadline.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the peer stopped reading",
        )))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Guarded<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if read.is_pending() && self.activity.upgrade.poll_cut(cx) {
            return Poll::Ready(Err(cut()));
        }
        ready!(read)?;
        self.activity.read(buf.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Guarded<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.activity.upgrade.is_cut() {
            return Poll::Ready(Err(cut()));
        }
        let outcome = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.watch(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.watch(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(cx);
        if outcome.is_ready() {
            // The layers above flush only once they have written all they had.
            self.activity.set_written();
        }
        self.watch(cx, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.watch(cx, outcome)
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        self.activity.upgrade.close();
    }
}

/// The error of an upgraded connection whose time is over.
fn cut() -> io::Error {
    io::Error::new(
        io::ErrorKind::ConnectionAborted,
        "the server is shutting down",
    )
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn writes_that_the_peer_does_not_read_fail_after_the_timeout() {
        let (near, mut far) = duplex(10);
        let mut near = Guarded::new(near, Arc::default(), Duration::from_secs(60), None);
        near.write_all(&[0; 10]).await.unwrap();

        // A slow reader is fine: each byte starts the time anew.
        let slow = tokio::spawn(async move {
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_secs(50)).await;
                far.read_u8().await.unwrap();
            }
            far
        });
        let start = Instant::now();
        near.write_all(&[0; 3]).await.unwrap();
        assert_eq!(start.elapsed().as_secs(), 150);
        let _far = slow.await.unwrap();

        let start = Instant::now();
        let error = near.write_all(&[0; 3]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed().as_secs(), 60);
    }
}
