//! [`Server`]: the accept loop and the shutdown.

use std::{future::Future, io, pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};
use tokio_rustls::TlsAcceptor;

use crate::{
    BoxError, Limits, Tls,
    connection::{self, Phase, Shared},
    slots::Slots,
};

/// The pause after the system refused to accept a connection, most likely because it has run out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The time that tasks have to notice that their connection was aborted.
const ABORT_TIMEOUT: Duration = Duration::from_secs(1);

/// A service on a TCP listener. See the [crate documentation](crate) for an example.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    tls: Option<Tls>,
    limits: Limits,
    peer_addresses: bool,
}

impl Server {
    /// Creates a server for plain HTTP with the default [`Limits`].
    pub fn new(listener: TcpListener) -> Self {
        Self {
            listener,
            tls: None,
            limits: Limits::default(),
            peer_addresses: false,
        }
    }

    /// Serves over TLS only.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Puts the [`PeerAddress`](crate::PeerAddress) into the extensions of every request. It costs a little, so it is off unless
    /// something needs it, such as an audit log.
    #[must_use]
    pub fn peer_addresses(mut self) -> Self {
        self.peer_addresses = true;
        self
    }

    /// Serves until `shutdown` completes and all connections are done, or the grace period is over. Connections that a handler has
    /// taken over count, up to their own grace period.
    ///
    /// Failures of single connections are logged at debug level, and a failure to accept is logged and retried. Dropping
    /// the future aborts all connections.
    pub async fn serve<S, B>(self, service: S, shutdown: impl Future<Output = ()>)
    where
        S: tower::Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        let slots = Slots::new(&self.limits);
        let grace_period = self.limits.grace_period;
        let shared = Arc::new(Shared {
            protocol: connection::protocol(&self.limits),
            tls: self.tls.map(|tls| TlsAcceptor::from(tls.config)),
            limits: self.limits,
            peer_addresses: self.peer_addresses,
        });
        let (phase, watched) = watch::channel(Phase::Serving);
        let mut shutdown = pin!(shutdown);
        loop {
            let stream = tokio::select! {
                () = &mut shutdown => break,
                stream = next(&slots, &self.listener) => stream,
            };
            let connection = connection::run(
                shared.clone(),
                stream,
                &slots,
                service.clone(),
                watched.clone(),
            );
            tokio::spawn(connection);
        }
        drop((self.listener, watched));
        phase.send_replace(Phase::Draining);
        if tokio::time::timeout(grace_period, phase.closed())
            .await
            .is_err()
        {
            phase.send_replace(Phase::Aborted);
            // A task that computes without yielding does not notice; it must not hold up the rest forever.
            let _ = tokio::time::timeout(ABORT_TIMEOUT, phase.closed()).await;
        }
    }
}

/// Accepts the next connection once there is room for it.
async fn next(slots: &Slots, listener: &TcpListener) -> TcpStream {
    slots.available().await;
    accept(listener).await
}

/// Accepts the next connection, retrying after errors.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "cannot set TCP_NODELAY");
                }
                return stream;
            }
            // The peer was gone before its connection was accepted.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionAborted
                        | io::ErrorKind::ConnectionReset
                        | io::ErrorKind::ConnectionRefused
                ) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
