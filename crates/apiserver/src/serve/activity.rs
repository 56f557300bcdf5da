//! What happens on a connection, counted: bytes read, requests begun, requests in flight, and whether the peer takes what
//! is sent.
//!
//! The counters are written on the hot path (a few relaxed additions for each request) and read every few seconds by
//! the [`Watchdog`], which is how heads that never end and idle connections are found without a timer for each request.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicU64, AtomicUsize,
            Ordering::{AcqRel, Acquire, Relaxed},
        },
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::Instant;

use crate::body::{Body, BoxError};

/// The counters of one connection.
#[derive(Debug, Default)]
pub(super) struct Activity {
    bytes_read: AtomicU64,
    begun: AtomicU64,
    in_flight: AtomicUsize,
    http2: AtomicBool,
    /// A write waits for the peer.
    blocked: AtomicBool,
    /// The body that has more to send once the peer has taken something.
    held: AtomicWaker,
}

/// A request in flight, until it is dropped.
#[derive(Debug)]
pub(super) struct InFlight(Arc<Activity>);

/// A response body whose request is in flight until the body is dropped.
///
/// Over HTTP/1 it gives no more while a write waits for the peer: what is made is then not buffered on top of what is not
/// sent. HTTP/2 has windows for that.
pub(super) struct TrackedBody {
    body: Body,
    in_flight: InFlight,
}

/// Looks at the counters now and then.
#[derive(Debug)]
pub(super) struct Watchdog {
    activity: Arc<Activity>,
    header_timeout: Duration,
    idle_timeout: Duration,
    begun: u64,
    bytes_read: u64,
    quiet_since: Instant,
    head_since: Option<Instant>,
    closing: bool,
}

/// What to do with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Leave it alone.
    Keep,
    /// Ask it to end.
    Close,
    /// Drop it.
    Cut,
}

impl Activity {
    pub(super) fn read(&self, bytes: usize) {
        self.bytes_read.fetch_add(bytes as u64, Relaxed);
    }

    /// A write waits for the peer, or does so no longer.
    pub(super) fn set_blocked(&self, blocked: bool) {
        if self.blocked.swap(blocked, AcqRel) && !blocked {
            self.held.wake();
        }
    }

    /// Whether a body has to wait; if so, it is woken when that is over.
    fn holds(&self, cx: &mut Context<'_>) -> bool {
        if self.http2.load(Relaxed) || !self.blocked.load(Acquire) {
            return false;
        }
        self.held.register(cx.waker());
        self.blocked.load(Acquire)
    }

    pub(super) fn begin(self: &Arc<Self>, version: http::Version) -> InFlight {
        if version == http::Version::HTTP_2 {
            self.http2.store(true, Relaxed);
        }
        self.in_flight.fetch_add(1, Relaxed);
        self.begun.fetch_add(1, Relaxed);
        InFlight(self.clone())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Relaxed);
    }
}

impl TrackedBody {
    pub(super) fn new(body: Body, in_flight: InFlight) -> Self {
        Self { body, in_flight }
    }
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.in_flight.0.holds(cx) {
            return Poll::Pending;
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Watchdog {
    pub(super) fn new(
        activity: Arc<Activity>,
        header_timeout: Duration,
        idle_timeout: Duration,
        now: Instant,
    ) -> Self {
        Self {
            activity,
            header_timeout,
            idle_timeout,
            begun: 0,
            bytes_read: 0,
            quiet_since: now,
            head_since: None,
            closing: false,
        }
    }

    /// How often to look.
    pub(super) fn period(&self) -> Duration {
        (self.header_timeout.min(self.idle_timeout) / 4).max(Duration::from_millis(1))
    }

    /// Looks.
    pub(super) fn look(&mut self, now: Instant) -> Verdict {
        let begun = self.activity.begun.load(Relaxed);
        let bytes_read = self.activity.bytes_read.load(Relaxed);
        if self.activity.in_flight.load(Relaxed) > 0 || begun != self.begun {
            self.begun = begun;
            self.bytes_read = bytes_read;
            self.quiet_since = now;
            self.head_since = None;
            return Verdict::Keep;
        }
        let quiet = now.duration_since(self.quiet_since);
        if begun == 0 && quiet >= self.header_timeout {
            return Verdict::Cut;
        }
        // Bytes without a request: over HTTP/1 that is a head on its way; over HTTP/2 it may be the answer to a ping.
        if bytes_read != self.bytes_read && !self.activity.http2.load(Relaxed) {
            let since = *self.head_since.get_or_insert(now);
            if now.duration_since(since) >= self.header_timeout {
                return Verdict::Cut;
            }
        }
        match quiet >= self.idle_timeout {
            true if self.closing => Verdict::Cut,
            true => {
                self.closing = true;
                Verdict::Close
            }
            false => Verdict::Keep,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use http::Version;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn watchdog() -> (Arc<Activity>, Watchdog, Instant) {
        let (activity, now) = (Arc::new(Activity::default()), Instant::now());
        let watchdog = Watchdog::new(activity.clone(), 32 * SECOND, 90 * SECOND, now);
        (activity, watchdog, now)
    }

    #[tokio::test]
    async fn silence_before_the_first_request_is_cut() {
        let (activity, mut watchdog, start) = watchdog();
        activity.read(10);
        assert_eq!(watchdog.look(start + 31 * SECOND), Verdict::Keep);
        assert_eq!(watchdog.look(start + 32 * SECOND), Verdict::Cut);
    }

    #[tokio::test]
    async fn idle_connections_are_closed_and_then_cut() {
        let (activity, mut watchdog, start) = watchdog();
        drop(activity.begin(Version::HTTP_11));
        assert_eq!(watchdog.look(start + 8 * SECOND), Verdict::Keep);
        assert_eq!(watchdog.look(start + 97 * SECOND), Verdict::Keep);
        assert_eq!(watchdog.look(start + 98 * SECOND), Verdict::Close);
        assert_eq!(watchdog.look(start + 99 * SECOND), Verdict::Cut);
    }

    #[tokio::test]
    async fn heads_that_never_end_are_cut() {
        let (activity, mut watchdog, start) = watchdog();
        drop(activity.begin(Version::HTTP_11));
        assert_eq!(watchdog.look(start + 8 * SECOND), Verdict::Keep);
        activity.read(1);
        assert_eq!(watchdog.look(start + 16 * SECOND), Verdict::Keep);
        activity.read(1);
        assert_eq!(watchdog.look(start + 47 * SECOND), Verdict::Keep);
        assert_eq!(watchdog.look(start + 48 * SECOND), Verdict::Cut);
    }

    #[tokio::test]
    async fn a_body_waits_while_the_peer_does_not_read() {
        let activity = Arc::new(Activity::default());
        let mut body = TrackedBody::new(Body::from("more"), activity.begin(Version::HTTP_11));
        activity.set_blocked(true);
        let mut frame = std::pin::pin!(std::future::poll_fn(|cx| {
            Pin::new(&mut body)
                .poll_frame(cx)
                .map(|frame| frame.is_some())
        }));
        assert!(frame.as_mut().now_or_never().is_none());
        let unblock = async { activity.set_blocked(false) };
        assert!(futures_util::future::join(frame, unblock).await.0);
    }

    #[tokio::test]
    async fn pings_are_not_heads_and_long_requests_are_not_idle() {
        let (activity, mut watchdog, start) = watchdog();
        let request = activity.begin(Version::HTTP_2);
        assert_eq!(watchdog.look(start + 1000 * SECOND), Verdict::Keep);
        drop(request);
        activity.read(17);
        assert_eq!(watchdog.look(start + 1040 * SECOND), Verdict::Keep);
        activity.read(17);
        assert_eq!(watchdog.look(start + 1080 * SECOND), Verdict::Keep);
        assert_eq!(watchdog.look(start + 1090 * SECOND), Verdict::Close);
    }
}
