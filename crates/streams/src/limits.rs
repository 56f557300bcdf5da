//! [`StreamLimits`]: the bounds of streams.

use std::time::Duration;

/// The bounds of the connections that [`Streams`](crate::Streams) upgrades.
///
/// ```
/// use std::time::Duration;
///
/// use kubewright_streams::StreamLimits;
///
/// let limits = StreamLimits {
///     idle_timeout: Duration::from_secs(600),
///     ..StreamLimits::default()
/// };
/// # let _ = limits;
/// ```
#[derive(Clone, Debug)]
pub struct StreamLimits {
    /// The idle time, in both directions, after which a connection is closed (default: 4 h).
    pub idle_timeout: Duration,
    /// The time for a client to open streams that belong together, and for the upgrade itself (default: 30 s).
    pub creation_timeout: Duration,
    /// The time for a peer to close its side after the end (default: 5 s).
    pub close_timeout: Duration,
    /// The maximum number of open streams of one SPDY connection; others are rejected (default: 512).
    pub max_streams: usize,
    /// The maximum number of ports that one WebSocket connection forwards (default: 64).
    pub max_ports: usize,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            idle_timeout: Duration::from_secs(4 * 60 * 60),
            creation_timeout: Duration::from_secs(30),
            close_timeout: Duration::from_secs(5),
            max_streams: 512,
            max_ports: 64,
        }
    }
}
