//! The network door: hyper over TCP, with or without TLS.
//!
//! [`serve`] takes a listener, a service and a future that says when to stop; it speaks HTTP/1.1 and HTTP/2 (by ALPN under
//! TLS, by prior knowledge without) and lets handlers take over connections (`101 Switching Protocols`). [`certs`] makes
//! or loads certificates, [`kubeconfig`] tells clients how to connect.
//!
//! Everything a peer can do slowly or not at all has a bound ([`ServeOptions`]): handshakes, request heads, idle
//! connections, answers that nobody reads, the number of connections. What is not bounded here: reading request bodies
//! (the service reads them, and puts a deadline on the request), HTTP/2 streams whose peer reads the connection but
//! withholds the stream's window (the connection lives; what waits for that stream is what its body keeps), and
//! connections that a handler took over (they keep counting against the limit, but shutting down does not wait for
//! them).

mod activity;
pub mod certs;
mod connection;
mod guarded;
pub mod kubeconfig;

use std::{convert::Infallible, future::Future, io, pin::pin, sync::Arc, time::Duration};

use http::{Request, Response};
use hyper::body::Incoming;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
};
use tokio_rustls::TlsAcceptor;

use crate::body::Body;
use connection::{Phase, Protocols, Server};

/// The bounds of the network door.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The most connections at a time. Beyond them, new ones wait in the listener's queue.
    pub max_connections: usize,
    /// How long a TLS handshake may take.
    pub handshake_timeout: Duration,
    /// How long the first request may keep a new connection waiting, and any later one may take to send its head.
    pub header_timeout: Duration,
    /// How long a connection may stay open without any request.
    pub idle_timeout: Duration,
    /// How long a write may wait without a single byte being taken, before the peer counts as gone.
    pub write_timeout: Duration,
    /// How long requests may still run once the server is told to stop. Watches are cut then.
    pub grace_period: Duration,
    /// How often HTTP/2 peers are pinged.
    pub keep_alive_interval: Duration,
    /// How long they may take to answer.
    pub keep_alive_timeout: Duration,
    /// The most requests at a time on one HTTP/2 connection.
    pub max_concurrent_streams: u32,
    /// The longest request head.
    pub max_header_bytes: u32,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            max_connections: 10_000,
            handshake_timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(32),
            idle_timeout: Duration::from_secs(90),
            write_timeout: Duration::from_secs(60),
            grace_period: Duration::from_secs(10),
            keep_alive_interval: Duration::from_secs(30),
            keep_alive_timeout: Duration::from_secs(20),
            max_concurrent_streams: 250,
            max_header_bytes: 1 << 20,
        }
    }
}

/// Serves until `shutdown` is ready and all connections are done, or the grace period is over.
///
/// Dropping the future cuts all connections at once. The answer is always `Ok`: what goes wrong with single connections
/// or while accepting them is logged and gone on from.
pub async fn serve<S>(
    listener: TcpListener,
    tls: Option<Arc<rustls::ServerConfig>>,
    service: S,
    options: ServeOptions,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()>
where
    S: tower::Service<Request<Incoming>, Response = Response<Body>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send + 'static,
{
    let limit = Arc::new(Semaphore::new(
        options.max_connections.clamp(1, Semaphore::MAX_PERMITS),
    ));
    let grace_period = options.grace_period;
    let server = Arc::new(Server {
        protocols: Protocols::new(&options),
        tls: tls.map(TlsAcceptor::from),
        options,
    });
    let (phase, watched) = watch::channel(Phase::Serving);
    let mut shutdown = pin!(shutdown);
    loop {
        let permit = tokio::select! {
            () = &mut shutdown => break,
            permit = limit.clone().acquire_owned() => match permit {
                Ok(permit) => permit,
                Err(_) => break,
            },
        };
        let stream = tokio::select! {
            () = &mut shutdown => break,
            stream = accept(&listener) => stream,
        };
        let connection = connection::run(
            server.clone(),
            stream,
            permit,
            service.clone(),
            watched.clone(),
        );
        tokio::spawn(connection);
    }
    drop((listener, watched));
    phase.send_replace(Phase::Draining);
    if tokio::time::timeout(grace_period, phase.closed())
        .await
        .is_err()
    {
        phase.send_replace(Phase::Cut);
        // A task that computes without a pause does not notice; it must not hold the rest up for ever.
        let _ = tokio::time::timeout(Duration::from_secs(1), phase.closed()).await;
    }
    Ok(())
}

/// The next connection, whatever it takes.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "cannot set TCP_NODELAY");
                }
                return stream;
            }
            // The peer was gone before we got to it.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionAborted
                        | io::ErrorKind::ConnectionReset
                        | io::ErrorKind::ConnectionRefused
                ) => {}
            // Out of file descriptors, most likely: wait until some are closed.
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

#[cfg(test)]
mod tests;
