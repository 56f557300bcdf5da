//! One connection, from the handshake to its end.

use std::{convert::Infallible, future::poll_fn, pin::pin, sync::Arc};

use http::{Request, Response};
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

use super::{
    ServeOptions,
    activity::{Activity, TrackedBody, Verdict, Watchdog},
    guarded::Guarded,
};
use crate::body::Body;

/// What connections share.
pub(super) struct Server {
    pub(super) protocols: Protocols,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) options: ServeOptions,
}

/// How far the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Serving.
    Serving,
    /// Requests in flight may end, no others begin.
    Draining,
    /// Over.
    Cut,
}

type Builder = auto::Builder<TokioExecutor>;

/// HTTP in each version, set up.
pub(super) struct Protocols {
    /// Whichever the first bytes say.
    any: Builder,
    http1: Builder,
    http2: Builder,
}

impl Protocols {
    pub(super) fn new(options: &ServeOptions) -> Self {
        const SEND_BUFFER: usize = 256 << 10;
        const STREAM_WINDOW: u32 = 256 << 10;
        const CONNECTION_WINDOW: u32 = 1 << 20;
        const SMALLEST_BUFFER: usize = 8 << 10;
        let mut any = Builder::new(TokioExecutor::new());
        any.http1()
            .header_read_timeout(None)
            .max_buf_size((options.max_header_bytes as usize).max(SMALLEST_BUFFER));
        any.http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(options.keep_alive_interval)
            .keep_alive_timeout(options.keep_alive_timeout)
            .max_concurrent_streams(options.max_concurrent_streams)
            .max_header_list_size(options.max_header_bytes)
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

/// Shakes hands and serves.
pub(super) async fn run<S>(
    server: Arc<Server>,
    stream: TcpStream,
    permit: OwnedSemaphorePermit,
    service: S,
    mut phase: watch::Receiver<Phase>,
) where
    S: tower::Service<Request<Incoming>, Response = Response<Body>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send + 'static,
{
    let activity = Arc::new(Activity::default());
    let stream = Guarded::new(
        stream,
        activity.clone(),
        server.options.write_timeout,
        Some(permit),
    );
    let Some(tls) = &server.tls else {
        let protocol = &server.protocols.any;
        return drive(protocol, stream, service, activity, &server.options, phase).await;
    };
    let handshake = tokio::time::timeout(server.options.handshake_timeout, tls.accept(stream));
    let stream = tokio::select! {
        outcome = handshake => match outcome {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return tracing::debug!(%error, "the TLS handshake failed"),
            Err(_) => return tracing::debug!("the TLS handshake took too long"),
        },
        _ = phase.wait_for(|phase| *phase != Phase::Serving) => return,
    };
    let protocol = match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => &server.protocols.http2,
        Some(_) => &server.protocols.http1,
        None => &server.protocols.any,
    };
    drive(protocol, stream, service, activity, &server.options, phase).await;
}

/// Serves until the peer or the server has had enough.
async fn drive<S>(
    protocol: &Builder,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    service: S,
    activity: Arc<Activity>,
    options: &ServeOptions,
    mut phase: watch::Receiver<Phase>,
) where
    S: tower::Service<Request<Incoming>, Response = Response<Body>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send + 'static,
{
    let now = Instant::now();
    let mut watchdog = Watchdog::new(
        activity.clone(),
        options.header_timeout,
        options.idle_timeout,
        now,
    );
    let mut ticks = tokio::time::interval_at(now + watchdog.period(), watchdog.period());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);

    let service = service_fn(move |request: Request<Incoming>| {
        let in_flight = activity.begin(request.version());
        let mut service = service.clone();
        async move {
            poll_fn(|cx| service.poll_ready(cx)).await?;
            let response = service.call(request).await?;
            Ok::<_, Infallible>(response.map(|body| TrackedBody::new(body, in_flight)))
        }
    });
    let mut connection =
        pin!(protocol.serve_connection_with_upgrades(TokioIo::new(stream), service));
    loop {
        tokio::select! {
            biased;
            outcome = connection.as_mut() => {
                if let Err(error) = outcome {
                    tracing::debug!(error, "a connection failed");
                }
                return;
            }
            changed = phase.changed() => match changed {
                Ok(()) if *phase.borrow() != Phase::Cut => connection.as_mut().graceful_shutdown(),
                _ => return,
            },
            now = ticks.tick() => match watchdog.look(now) {
                Verdict::Keep => {}
                Verdict::Close => connection.as_mut().graceful_shutdown(),
                Verdict::Cut => return tracing::debug!("a connection was idle for too long"),
            },
        }
    }
}
