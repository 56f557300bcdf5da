//! [`Limits`]: the bounds on connections, requests and time.

use std::time::Duration;

/// The bounds of a [`Server`](crate::Server).
///
/// ```
/// use std::time::Duration;
///
/// use kubewright_serve::Limits;
///
/// let limits = Limits {
///     max_connections: 256,
///     grace_period: Duration::from_secs(60),
///     ..Limits::default()
/// };
/// # let _ = limits;
/// ```
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum number of concurrent connections. Further ones wait in the listener's backlog. Defaults to 10,000.
    pub max_connections: usize,
    /// Maximum number of idle connections on which no request has been authenticated. Beyond it a new connection closes the
    /// oldest of them, and when there are `max_connections`, the oldest that is not authenticated, busy or not. So peers
    /// without credentials cannot lock out those with. The service reports authentication with a [`ConnectionHandle`](crate::ConnectionHandle). Defaults to
    /// `None`, which treats all connections alike.
    pub max_unauthenticated: Option<usize>,
    /// Time limit of a TLS handshake. Defaults to 10 s.
    pub handshake_timeout: Duration,
    /// Time limit for the first request of a new connection to begin, and for the head of any later request to arrive.
    /// Defaults to 32 s.
    pub header_timeout: Duration,
    /// Closes a connection that has had no request for this long. Defaults to 90 s.
    pub idle_timeout: Duration,
    /// Drops a peer that has not read a single byte for this long while a write was pending. Defaults to 60 s.
    pub write_timeout: Duration,
    /// Time that requests in flight have to finish at shutdown before they are aborted. Defaults to 10 s.
    pub grace_period: Duration,
    /// Time that upgraded connections, such as terminals, have to end at shutdown before they are cut; at most `grace_period`.
    /// Defaults to 5 s.
    pub upgrade_grace_period: Duration,
    /// Interval of HTTP/2 pings. Defaults to 30 s.
    pub keep_alive_interval: Duration,
    /// Time that a peer has to answer an HTTP/2 ping. Defaults to 20 s.
    pub keep_alive_timeout: Duration,
    /// Maximum number of concurrent requests on one HTTP/2 connection. Defaults to 250.
    pub max_concurrent_streams: u32,
    /// Maximum size of a request's head, in bytes. Defaults to 1 MiB.
    pub max_header_bytes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 10_000,
            max_unauthenticated: None,
            handshake_timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(32),
            idle_timeout: Duration::from_secs(90),
            write_timeout: Duration::from_secs(60),
            grace_period: Duration::from_secs(10),
            upgrade_grace_period: Duration::from_secs(5),
            keep_alive_interval: Duration::from_secs(30),
            keep_alive_timeout: Duration::from_secs(20),
            max_concurrent_streams: 250,
            max_header_bytes: 1 << 20,
        }
    }
}
