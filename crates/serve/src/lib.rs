//! Serves any tower service on a TCP listener: HTTP/1.1 and HTTP/2, with or without TLS.
//!
//! [`Server`] takes a listener, a service and a shutdown future. It negotiates the protocol by ALPN under TLS and by
//! prior knowledge without, and supports upgrades (`101 Switching Protocols`).
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use std::convert::Infallible;
//!
//! use bytes::Bytes;
//! use http::Response;
//! use http_body_util::Full;
//! use kubewright_serve::Server;
//! use tokio::net::TcpListener;
//!
//! let hello = tower::service_fn(async |_| {
//!     Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("hello"))))
//! });
//! let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
//! let shutdown = async { /* wait for a signal */ };
//! Server::new(listener).serve(hello, shutdown).await;
//! # });
//! ```
//!
//! # Limits
//!
//! [`Limits`] bounds everything that a peer can do slowly or never: handshakes, request heads, idle connections,
//! responses that are not read, and the number of connections. Over HTTP/1 a response waits after 16 KiB until the peer
//! has taken them. HTTP/1.1 requests without exactly one `Host` header are rejected. Three things are not bounded here:
//! reading a request's body, which is up to the service; HTTP/2 streams whose peer withholds the stream's window; and
//! upgraded connections, which count against the limit.
//!
//! # Shutdown
//!
//! When the shutdown future completes, the server stops accepting, finishes the requests in flight and closes idle
//! connections. Responses marked [`OpenEnded`] end cleanly at once. Upgraded connections are cut after
//! [`Limits::upgrade_grace_period`], and whatever is left after [`Limits::grace_period`] is aborted.
//!
//! # Closing a connection
//!
//! A service that answers with `Connection: close` ends the connection after the response. Over HTTP/2, which has no such
//! header, the server sends GOAWAY and lets the other requests finish.

mod activity;
mod any_certificate;
mod connection;
mod guarded;
mod host;
mod limits;
mod peer_address;
mod peer_certificates;
mod plain_http;
mod server;
mod slots;
mod tls;
mod unverified;
mod upgraded;

pub use limits::Limits;
pub use peer_address::PeerAddress;
pub use peer_certificates::PeerCertificates;
pub use server::Server;
pub use slots::ConnectionHandle;
pub use tls::{Tls, TlsError};
pub use unverified::connect_unverified;

/// A type-erased error of a service or a body.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Marks a response whose body has no natural end, such as a watch.
///
/// Put it into the response's extensions. At shutdown the server ends such a body between two frames, so the client sees
/// a complete response instead of a broken connection.
///
/// ```
/// use http::Response;
/// use kubewright_serve::OpenEnded;
///
/// let mut response = Response::new("events");
/// response.extensions_mut().insert(OpenEnded);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenEnded;

#[cfg(test)]
mod tests;
