//! One connection, from the handshake to its end.

use std::{future::poll_fn, pin::pin, sync::Arc};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::{OwnedSemaphorePermit, watch},
    time::{Instant, MissedTickBehavior},
};
use tokio_rustls::TlsAcceptor;

use crate::{
    BoxError, Limits, OpenEnded,
    activity::{Activity, TrackedBody, Verdict, Watchdog},
    guarded::Guarded,
};

/// The state that all connections of a server share.
pub(crate) struct Shared {
    pub(crate) protocols: Protocols,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) limits: Limits,
}

/// The phases of a server's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Requests are accepted.
    Serving,
    /// Requests in flight may finish; no others are accepted.
    Draining,
    /// The grace period is over.
    Aborted,
}

type Builder = auto::Builder<TokioExecutor>;

/// The connection builder of each HTTP version.
pub(crate) struct Protocols {
    /// Detects the version from the first bytes.
    any: Builder,
    http1: Builder,
    http2: Builder,
}

impl Protocols {
    pub(crate) fn new(limits: &Limits) -> Self {
        const SEND_BUFFER: usize = 256 << 10;
        const STREAM_WINDOW: u32 = 256 << 10;
        const CONNECTION_WINDOW: u32 = 1 << 20;
        const SMALLEST_BUFFER: usize = 8 << 10;
        let mut any = Builder::new(TokioExecutor::new());
        any.http1()
            .header_read_timeout(None)
            .max_buf_size((limits.max_header_bytes as usize).max(SMALLEST_BUFFER));
        any.http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(limits.keep_alive_interval)
            .keep_alive_timeout(limits.keep_alive_timeout)
            .max_concurrent_streams(limits.max_concurrent_streams)
            .max_header_list_size(limits.max_header_bytes)
            .max_send_buf_size(SEND_BUFFER)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW);
        Self {
            http1: any.clone().http1_only(),
            http2: any.clone().http2_only(),
            any,
        }
    }
}

/// Completes the TLS handshake, if there is one, and serves the connection.
pub(crate) async fn run<S, B>(
    shared: Arc<Shared>,
    stream: TcpStream,
    permit: OwnedSemaphorePermit,
    service: S,
    mut phase: watch::Receiver<Phase>,
) where
    S: tower::Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    let activity = Arc::new(Activity::default());
    let stream = Guarded::new(
        stream,
        activity.clone(),
        shared.limits.write_timeout,
        Some(permit),
    );
    let Some(tls) = &shared.tls else {
        let protocol = &shared.protocols.any;
        return drive(protocol, stream, service, activity, &shared.limits, phase).await;
    };
    let handshake = tokio::time::timeout(shared.limits.handshake_timeout, tls.accept(stream));
    let stream = tokio::select! {
        outcome = handshake => match outcome {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return tracing::debug!(%error, "TLS handshake failed"),
            Err(_) => return tracing::debug!("TLS handshake timed out"),
        },
        _ = phase.wait_for(|phase| *phase != Phase::Serving) => return,
    };
    let protocol = match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => &shared.protocols.http2,
        Some(_) => &shared.protocols.http1,
        None => &shared.protocols.any,
    };
    drive(protocol, stream, service, activity, &shared.limits, phase).await;
}

/// Serves requests until the peer closes, the server shuts down or a limit is exceeded.
async fn drive<S, B>(
    protocol: &Builder,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    service: S,
    activity: Arc<Activity>,
    limits: &Limits,
    mut phase: watch::Receiver<Phase>,
) where
    S: tower::Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    let now = Instant::now();
    let mut watchdog = Watchdog::new(
        activity.clone(),
        limits.header_timeout,
        limits.idle_timeout,
        now,
    );
    let mut ticks = tokio::time::interval_at(now + watchdog.period(), watchdog.period());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);

    let draining = phase.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let in_flight = activity.begin(request.version());
        let (mut service, draining) = (service.clone(), draining.clone());
        async move {
            poll_fn(|cx| service.poll_ready(cx)).await?;
            let response = service.call(request).await?;
            let open_ended = response.extensions().get::<OpenEnded>().is_some();
            Ok::<_, S::Error>(response.map(|body| {
                let body = TrackedBody::new(body, in_flight);
                match open_ended {
                    true => body.until(draining),
                    false => body,
                }
            }))
        }
    });
    let mut connection =
        pin!(protocol.serve_connection_with_upgrades(TokioIo::new(stream), service));
    loop {
        tokio::select! {
            biased;
            outcome = connection.as_mut() => {
                if let Err(error) = outcome {
                    tracing::debug!(error, "connection failed");
                }
                return;
            }
            changed = phase.changed() => match changed {
                Ok(()) if *phase.borrow() != Phase::Aborted => connection.as_mut().graceful_shutdown(),
                _ => return,
            },
            now = ticks.tick() => match watchdog.check(now) {
                Verdict::Keep => {}
                Verdict::Close => connection.as_mut().graceful_shutdown(),
                Verdict::Cut => return tracing::debug!("idle connection closed"),
            },
        }
    }
}
