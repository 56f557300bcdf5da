//! One connection, from the handshake to its end.

use std::{future::poll_fn, net::SocketAddr, pin::pin, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version, header};
use http_body::Body;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::watch,
    time::{Instant, MissedTickBehavior},
};
use tokio_rustls::TlsAcceptor;

use crate::{
    BoxError, Limits, OpenEnded, PeerAddress, PeerCertificates,
    activity::{Activity, InFlight, TrackedBody, Verdict, Watchdog},
    guarded::Guarded,
    host, plain_http,
    slots::{Slot, Slots},
    upgraded,
};

/// The state that all connections of a server share.
pub(crate) struct Shared {
    pub(crate) protocol: Protocol,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) limits: Limits,
    /// Whether the address of the peer is added to requests.
    pub(crate) peer_addresses: bool,
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

/// Serves connections. It detects the HTTP version from the first bytes.
pub(crate) type Protocol = auto::Builder<TokioExecutor>;

pub(crate) fn protocol(limits: &Limits) -> Protocol {
    // What a peer that does not read costs for each of its streams.
    const SEND_BUFFER: usize = 64 << 10;
    const STREAM_WINDOW: u32 = 256 << 10;
    const CONNECTION_WINDOW: u32 = 1 << 20;
    const SMALLEST_BUFFER: usize = 8 << 10;
    let mut protocol = Protocol::new(TokioExecutor::new());
    protocol
        .http1()
        .header_read_timeout(None)
        .max_buf_size((limits.max_header_bytes as usize).max(SMALLEST_BUFFER));
    protocol
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(limits.keep_alive_interval)
        .keep_alive_timeout(limits.keep_alive_timeout)
        .max_concurrent_streams(limits.max_concurrent_streams)
        .max_header_list_size(limits.max_header_bytes)
        .max_send_buf_size(SEND_BUFFER)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    protocol
}

/// Completes the TLS handshake, if there is one, and serves the connection. The slot is taken before this returns.
pub(crate) fn run<S, B>(
    shared: Arc<Shared>,
    stream: TcpStream,
    slots: &Arc<Slots>,
    service: S,
    phase: watch::Receiver<Phase>,
) -> impl Future<Output = ()> + Send + use<S, B>
where
    S: tower::Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    let activity = Arc::new(Activity::default());
    let slot = slots.take(activity.clone());
    let address = stream.peer_addr().ok();
    let peer = Peer {
        activity,
        slot,
        address: address.filter(|_| shared.peer_addresses),
        negotiated: None,
        certificates: None,
    };
    async move {
        let activity = peer.activity.clone();
        tokio::select! {
            () = serve(shared, stream, peer, service, phase) => {}
            () = activity.evicted() => tracing::debug!("idle connection closed to make room"),
        }
    }
}

/// The bookkeeping of a connection.
struct Peer {
    activity: Arc<Activity>,
    slot: Arc<Slot>,
    /// Its address, if it is added to requests.
    address: Option<SocketAddr>,
    /// The version that TLS negotiated.
    negotiated: Option<Version>,
    /// The certificates that it presented.
    certificates: Option<PeerCertificates>,
}

impl Peer {
    /// Returns the reason to reject a request with 400.
    fn rejection<B>(&self, request: &Request<B>) -> Option<&'static str> {
        let http2 = request.version() == Version::HTTP_2;
        match self.negotiated {
            // hyper's detection of the version ignores what was negotiated.
            Some(version) if (version == Version::HTTP_2) != http2 => {
                Some("400 Bad Request: not the negotiated protocol")
            }
            _ => host::rejection(request),
        }
    }
}

async fn serve<S, B>(
    shared: Arc<Shared>,
    mut stream: TcpStream,
    mut peer: Peer,
    service: S,
    mut phase: watch::Receiver<Phase>,
) where
    S: tower::Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    let guarded = |stream| {
        let (activity, slot) = (peer.activity.clone(), peer.slot.clone());
        Guarded::new(stream, activity, shared.limits.write_timeout, Some(slot))
    };
    let Some(tls) = &shared.tls else {
        let stream = guarded(stream);
        return drive(&shared, stream, service, peer, phase).await;
    };
    let handshake = async {
        match plain_http::answered(&mut stream).await {
            true => None,
            false => Some(tls.accept(guarded(stream)).await),
        }
    };
    let handshake = tokio::time::timeout(shared.limits.handshake_timeout, handshake);
    let stream = tokio::select! {
        outcome = handshake => match outcome {
            Ok(Some(Ok(stream))) => stream,
            Ok(None) => return,
            Ok(Some(Err(error))) => return tracing::debug!(%error, "TLS handshake failed"),
            Err(_) => return tracing::debug!("TLS handshake timed out"),
        },
        _ = phase.wait_for(|phase| *phase != Phase::Serving) => return,
    };
    let session = stream.get_ref().1;
    // Under TLS the negotiated protocol is binding; without negotiation it is HTTP/1.1.
    peer.negotiated = Some(match session.alpn_protocol() {
        Some(b"h2") => Version::HTTP_2,
        _ => Version::HTTP_11,
    });
    peer.certificates = session
        .peer_certificates()
        .map(|chain| PeerCertificates::new(chain.iter().map(|der| der.to_vec())));
    drive(&shared, stream, service, peer, phase).await;
}

/// Serves requests until the peer closes, the server shuts down or a limit is exceeded.
async fn drive<S, B>(
    shared: &Shared,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    service: S,
    peer: Peer,
    mut phase: watch::Receiver<Phase>,
) where
    S: tower::Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    let (now, limits) = (Instant::now(), &shared.limits);
    let mut watchdog = Watchdog::new(
        peer.activity.clone(),
        limits.header_timeout,
        limits.idle_timeout,
        now,
    );
    let mut ticks = tokio::time::interval_at(now + watchdog.period(), watchdog.period());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);

    let (draining, activity) = (phase.clone(), peer.activity.clone());
    let patience = limits.upgrade_grace_period;
    let service = service_fn(move |mut request: Request<Incoming>| {
        let mut in_flight = peer.activity.begin(request.version());
        if let Some(handle) = peer.slot.handle() {
            request.extensions_mut().insert(handle);
        }
        if let Some(address) = peer.address {
            request.extensions_mut().insert(PeerAddress(address));
        }
        if let Some(certificates) = &peer.certificates {
            request.extensions_mut().insert(certificates.clone());
        }
        let http2 = request.version() == Version::HTTP_2;
        let (mut service, draining) = (service.clone(), draining.clone());
        let activity = peer.activity.clone();
        let rejection = peer.rejection(&request);
        async move {
            if let Some(reason) = rejection {
                return Ok(bad_request(reason, in_flight));
            }
            poll_fn(|cx| service.poll_ready(cx)).await?;
            let mut response = service.call(request).await?;
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                activity.upgrade.begin();
                let kept = upgraded::keep(activity.clone(), draining.clone(), patience);
                tokio::spawn(kept);
            }
            if http2 && take_close(response.headers_mut()) {
                activity.close();
            }
            if response.status() == StatusCode::UNAUTHORIZED {
                // A peer without credentials that does not read the response must not count as busy.
                in_flight.done();
            }
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
    let mut connection = pin!(
        shared
            .protocol
            .serve_connection_with_upgrades(TokioIo::new(stream), service)
    );
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
            () = activity.closing() => connection.as_mut().graceful_shutdown(),
            now = ticks.tick() => match watchdog.check(now) {
                Verdict::Keep => {}
                Verdict::Close => connection.as_mut().graceful_shutdown(),
                Verdict::Cut => return tracing::debug!("idle connection closed"),
            },
        }
    }
}

/// Removes `Connection: close`, which HTTP/2 does not have. Returns whether it was there.
fn take_close(headers: &mut HeaderMap) -> bool {
    let close = headers
        .get(header::CONNECTION)
        .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"close"));
    if close {
        headers.remove(header::CONNECTION);
    }
    close
}

/// Returns a 400 after which the connection is closed.
fn bad_request<B>(reason: &'static str, in_flight: InFlight) -> Response<TrackedBody<B>> {
    let mut response = Response::new(TrackedBody::text(reason, in_flight));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    let headers = response.headers_mut();
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, text);
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
