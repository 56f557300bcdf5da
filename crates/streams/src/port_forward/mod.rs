//! [`PortForward`]: client connections to ports.

mod spdy;
mod websocket;

use std::{panic::AssertUnwindSafe, sync::Arc};

use async_trait::async_trait;
use futures_util::FutureExt;
use kubewright_machinery::{Status, go, status};

use crate::{Duplex, StreamLimits, query};
pub(crate) use spdy::{PROTOCOLS as SPDY_PROTOCOLS, over_spdy, over_tunnel};
pub(crate) use websocket::{PROTOCOLS as WEBSOCKET_PROTOCOLS, over_websocket};

/// The prefix of WebSocket subprotocols that carry SPDY.
pub(crate) const TUNNEL_PREFIX: &str = "SPDY/3.1+";

/// Connects clients to ports.
///
/// ```
/// use async_trait::async_trait;
/// use kubewright_streams::{Duplex, ForwardError, PortForward};
///
/// /// Connects to ports of this machine.
/// struct Local;
///
/// #[async_trait]
/// impl PortForward for Local {
///     async fn forward(&self, port: u16, mut connection: Duplex) -> Result<(), ForwardError> {
///         let socket = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
///         let mut socket = socket.map_err(|e| ForwardError::new(port, e))?;
///         let copied = tokio::io::copy_bidirectional(&mut connection, &mut socket).await;
///         copied.map(|_| ()).map_err(|e| ForwardError::new(port, e))
///     }
/// }
/// ```
#[async_trait]
pub trait PortForward: Send + Sync + 'static {
    /// Serves one connection to a port. The future is dropped if the client disconnects.
    ///
    /// # Errors
    ///
    /// The text of the error is sent to the client.
    async fn forward(&self, port: u16, connection: Duplex) -> Result<(), ForwardError>;
}

/// A connection that could not be forwarded.
///
/// ```
/// use kubewright_streams::ForwardError;
///
/// let error = ForwardError::new(80, "connection refused");
/// assert_eq!(error.to_string(), "error forwarding port 80: connection refused");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ForwardError(pub String);

impl ForwardError {
    /// Returns the error of a port.
    pub fn new(port: u16, error: impl std::fmt::Display) -> Self {
        Self(format!("error forwarding port {port}: {error}"))
    }
}

/// Parses the ports of a query: `ports=80,443`, or `port=80` as in the API of kubelets. Parameters can be repeated.
///
/// ```
/// let ports = kubewright_streams::ports_from_query("ports=80,443&ports=8080")?;
/// assert_eq!(ports, [80, 443, 8080]);
/// let error = kubewright_streams::ports_from_query("ports=0").unwrap_err();
/// assert_eq!((error.code, error.message.as_str()), (400, r#"port "0" must be > 0"#));
/// # Ok::<_, kubewright_machinery::Status>(())
/// ```
///
/// # Errors
///
/// Fails with 400 if a value is not a port.
pub fn ports_from_query(query: &str) -> Result<Vec<u16>, Status> {
    let mut ports = Vec::new();
    let all = query::all(query, "ports").chain(query::all(query, "port"));
    for text in all {
        if text.is_empty() {
            let error = r#"query parameter "port" cannot be empty"#;
            return Err(status::bad_request(error));
        }
        for port in text.split(',') {
            ports.push(
                match port.parse() {
                    Ok(0) => Err(format!("port {} must be > 0", go::quote(&text))),
                    Ok(port) => Ok(port),
                    Err(_) => Err(format!("unable to parse {} as a port", go::quote(&text))),
                }
                .map_err(status::bad_request)?,
            );
        }
    }
    Ok(ports)
}

/// Validates the ports of a WebSocket, which determine its channels.
pub(crate) fn check(ports: &[u16], limits: &StreamLimits) -> Result<(), Status> {
    // The number of a channel is one byte.
    let max = limits.max_ports.min(127);
    match ports.len() {
        0 => Err(status::bad_request(r#"query parameter "port" is required"#)),
        count if count > max => Err(status::bad_request(format!(
            "at most {max} ports can be forwarded at once"
        ))),
        _ => Ok(()),
    }
}

/// Forwards a connection. A panic is an error of this connection only.
async fn run(
    handler: Arc<dyn PortForward>,
    port: u16,
    connection: Duplex,
) -> Result<(), ForwardError> {
    let guarded = AssertUnwindSafe(handler.forward(port, connection)).catch_unwind();
    guarded.await.unwrap_or_else(|_| {
        tracing::error!(port, "a forwarded connection caused a panic");
        Err(ForwardError::new(port, "internal error"))
    })
}
