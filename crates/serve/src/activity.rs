//! The activity of a connection: bytes read, requests started, requests in flight, and whether the peer reads.
//!
//! The counters are written on the hot path (a few relaxed additions for each request) and read every few seconds by
//! the [`Watchdog`], which finds request heads that never end and idle connections without a timer for each request.

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
use http_body::{Body, Frame, SizeHint};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use crate::{BoxError, connection::Phase, upgraded::Upgrade};

/// The number of bytes of a response that HTTP/1 may buffer before the body has to wait until they are written. hyper's
/// own limit is that of a request's head, which is far too much for a peer that does not read.
const MAX_UNWRITTEN: usize = 16 << 10;

/// The counters of one connection.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    bytes_read: AtomicU64,
    begun: AtomicU64,
    in_flight: AtomicUsize,
    http2: AtomicBool,
    /// True while a write waits for the peer to read.
    blocked: AtomicBool,
    /// The bytes that bodies have yielded since everything was last written.
    unwritten: AtomicUsize,
    /// Wakes the body that waits for the peer to read.
    held: AtomicWaker,
    /// True once the service has authenticated a request.
    authenticated: AtomicBool,
    /// True once the connection has to make room for another one.
    evicted: AtomicBool,
    /// Wakes the connection when it is evicted.
    eviction: Notify,
    /// Wakes the connection when it has to close after the requests in flight.
    closing: Notify,
    /// The state after a handler has taken over the connection.
    pub(crate) upgrade: Upgrade,
}

/// Counts a request as in flight until it is dropped.
#[derive(Debug)]
pub(crate) struct InFlight {
    activity: Arc<Activity>,
    counted: bool,
}

impl InFlight {
    /// Counts the request as done, although its response may not have been sent yet.
    pub(crate) fn done(&mut self) {
        if std::mem::take(&mut self.counted) {
            self.activity.in_flight.fetch_sub(1, Relaxed);
        }
    }
}

/// A response body whose request is in flight until the body is dropped.
///
/// Over HTTP/1 it yields nothing while a write waits for the peer, nor while [`MAX_UNWRITTEN`] bytes are unwritten, so
/// that frames are not buffered on top of unsent ones. HTTP/2 has windows for that.
pub(crate) struct TrackedBody<B> {
    body: Source<B>,
    in_flight: InFlight,
    /// Completes when an open-ended body has to end.
    end: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

/// The origin of a body.
enum Source<B> {
    Service(B),
    /// A short text of this crate.
    Text(Option<Bytes>),
}

/// Checks the counters periodically.
#[derive(Debug)]
pub(crate) struct Watchdog {
    activity: Arc<Activity>,
    header_timeout: Duration,
    idle_timeout: Duration,
    begun: u64,
    bytes_read: u64,
    quiet_since: Instant,
    head_since: Option<Instant>,
    closing: bool,
}

/// The fate of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The connection stays.
    Keep,
    /// The connection is asked to close.
    Close,
    /// The connection is dropped.
    Cut,
}

impl Activity {
    pub(crate) fn read(&self, bytes: usize) {
        self.bytes_read.fetch_add(bytes as u64, Relaxed);
    }

    /// Records whether a write waits for the peer to read.
    pub(crate) fn set_blocked(&self, blocked: bool) {
        if self.blocked.swap(blocked, AcqRel) && !blocked {
            self.held.wake();
        }
    }

    /// Records that everything that was yielded has been written.
    pub(crate) fn set_written(&self) {
        if self.unwritten.swap(0, AcqRel) >= MAX_UNWRITTEN {
            self.held.wake();
        }
    }

    /// Returns whether a body has to wait, and registers its waker if so.
    fn holds(&self, cx: &mut Context<'_>) -> bool {
        if self.http2.load(Relaxed) || !self.is_congested() {
            return false;
        }
        self.held.register(cx.waker());
        self.is_congested()
    }

    fn is_congested(&self) -> bool {
        self.blocked.load(Acquire) || self.unwritten.load(Acquire) >= MAX_UNWRITTEN
    }

    /// Returns whether no request is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.load(Relaxed) == 0
    }

    /// Records that a request was authenticated. Returns whether it is the first one.
    pub(crate) fn set_authenticated(&self) -> bool {
        !self.authenticated.swap(true, Relaxed)
    }

    pub(crate) fn is_authenticated(&self) -> bool {
        self.authenticated.load(Relaxed)
    }

    /// Asks the connection to close at once.
    pub(crate) fn evict(&self) {
        self.evicted.store(true, Relaxed);
        self.eviction.notify_one();
    }

    pub(crate) fn is_evicted(&self) -> bool {
        self.evicted.load(Relaxed)
    }

    /// Waits until the connection is evicted.
    pub(crate) async fn evicted(&self) {
        self.eviction.notified().await;
    }

    /// Asks the connection to close once the requests in flight are done.
    pub(crate) fn close(&self) {
        self.closing.notify_one();
    }

    /// Waits until the connection should be closed.
    pub(crate) async fn closing(&self) {
        self.closing.notified().await;
    }

    pub(crate) fn begin(self: &Arc<Self>, version: http::Version) -> InFlight {
        if version == http::Version::HTTP_2 {
            self.http2.store(true, Relaxed);
        }
        self.in_flight.fetch_add(1, Relaxed);
        self.begun.fetch_add(1, Relaxed);
        InFlight {
            activity: self.clone(),
            counted: true,
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.done();
    }
}

impl<B> TrackedBody<B> {
    pub(crate) fn new(body: B, in_flight: InFlight) -> Self {
        Self {
            body: Source::Service(body),
            in_flight,
            end: None,
        }
    }

    /// Creates a body of this crate's own.
    pub(crate) fn text(text: &'static str, in_flight: InFlight) -> Self {
        Self {
            body: Source::Text(Some(Bytes::from_static(text.as_bytes()))),
            in_flight,
            end: None,
        }
    }

    /// Ends the body between two frames when the server begins to shut down.
    pub(crate) fn until(mut self, mut draining: watch::Receiver<Phase>) -> Self {
        self.end = Some(Box::pin(async move {
            // A dropped sender means that the server is gone.
            let _ = draining.wait_for(|phase| *phase != Phase::Serving).await;
        }));
        self
    }

    fn has_ended(&mut self, cx: &mut Context<'_>) -> bool {
        let end = self.end.as_mut();
        end.is_some_and(|end| end.as_mut().poll(cx).is_ready())
    }
}

impl<B> Body for TrackedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.has_ended(cx) {
            // It is not polled again after this.
            return Poll::Ready(None);
        }
        if self.in_flight.activity.holds(cx) {
            return Poll::Pending;
        }
        let frame = match &mut self.body {
            Source::Service(body) => Pin::new(body).poll_frame(cx),
            Source::Text(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
        };
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(data) = frame.data_ref()
        {
            let unwritten = &self.in_flight.activity.unwritten;
            unwritten.fetch_add(data.len(), AcqRel);
        }
        frame.map(|frame| frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.body {
            Source::Service(body) => body.is_end_stream(),
            Source::Text(text) => text.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            Source::Service(body) => body.size_hint(),
            Source::Text(text) => SizeHint::with_exact(text.as_ref().map_or(0, Bytes::len) as u64),
        }
    }
}

impl Watchdog {
    pub(crate) fn new(
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

    /// The interval between two checks.
    pub(crate) fn period(&self) -> Duration {
        (self.header_timeout.min(self.idle_timeout) / 4).max(Duration::from_millis(1))
    }

    /// Checks the counters.
    pub(crate) fn check(&mut self, now: Instant) -> Verdict {
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
        // Bytes without a request: over HTTP/1 these are a head that is arriving; over HTTP/2 they may answer a ping.
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
    use http_body_util::Full;

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
        assert_eq!(watchdog.check(start + 31 * SECOND), Verdict::Keep);
        assert_eq!(watchdog.check(start + 32 * SECOND), Verdict::Cut);
    }

    #[tokio::test]
    async fn idle_connections_are_closed_and_then_cut() {
        let (activity, mut watchdog, start) = watchdog();
        drop(activity.begin(Version::HTTP_11));
        assert_eq!(watchdog.check(start + 8 * SECOND), Verdict::Keep);
        assert_eq!(watchdog.check(start + 97 * SECOND), Verdict::Keep);
        assert_eq!(watchdog.check(start + 98 * SECOND), Verdict::Close);
        assert_eq!(watchdog.check(start + 99 * SECOND), Verdict::Cut);
    }

    #[tokio::test]
    async fn heads_that_never_end_are_cut() {
        let (activity, mut watchdog, start) = watchdog();
        drop(activity.begin(Version::HTTP_11));
        assert_eq!(watchdog.check(start + 8 * SECOND), Verdict::Keep);
        activity.read(1);
        assert_eq!(watchdog.check(start + 16 * SECOND), Verdict::Keep);
        activity.read(1);
        assert_eq!(watchdog.check(start + 47 * SECOND), Verdict::Keep);
        assert_eq!(watchdog.check(start + 48 * SECOND), Verdict::Cut);
    }

    #[tokio::test]
    async fn a_body_waits_while_the_peer_does_not_read() {
        let activity = Arc::new(Activity::default());
        let mut body = TrackedBody::new(
            Full::new(Bytes::from("more")),
            activity.begin(Version::HTTP_11),
        );
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
    async fn a_body_waits_until_its_frames_are_written() {
        let activity = Arc::new(Activity::default());
        let frames = (0..3).map(|_| Ok::<_, BoxError>(Frame::data(Bytes::from(vec![0; 10 << 10]))));
        let body = http_body_util::StreamBody::new(futures_util::stream::iter(frames));
        let mut body = TrackedBody::new(body, activity.begin(Version::HTTP_11));
        let mut next = || {
            let frame = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx));
            frame.now_or_never().is_some()
        };
        assert!(next() && next(), "two frames exceed the limit");
        assert!(!next());
        activity.set_written();
        assert!(next());
    }

    #[tokio::test]
    async fn pings_are_not_heads_and_long_requests_are_not_idle() {
        let (activity, mut watchdog, start) = watchdog();
        let request = activity.begin(Version::HTTP_2);
        assert_eq!(watchdog.check(start + 1000 * SECOND), Verdict::Keep);
        drop(request);
        activity.read(17);
        assert_eq!(watchdog.check(start + 1040 * SECOND), Verdict::Keep);
        activity.read(17);
        assert_eq!(watchdog.check(start + 1080 * SECOND), Verdict::Keep);
        assert_eq!(watchdog.check(start + 1090 * SECOND), Verdict::Close);
    }
}
