//! [`Kubelets`]: access of an API server to the nodes of its cluster.

use std::{io, net::IpAddr, pin::Pin};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tokio::io::{AsyncRead, AsyncWrite};

/// The body of a request to a kubelet, or of its response.
pub type KubeletBody =
    Pin<Box<dyn Body<Data = Bytes, Error = Box<dyn std::error::Error + Send + Sync>> + Send>>;

/// A connection to a port of a pod.
pub type PodConnection = Pin<Box<dyn Connection>>;

/// A stream of bytes in both directions.
pub trait Connection: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Connection for T {}

/// Handles the requests that an API server forwards to kubelets, and connects to pods.
///
/// ```
/// use std::{io, net::IpAddr};
///
/// use async_trait::async_trait;
/// use http::{Request, Response};
/// use kubewright_streams::{KubeletBody, Kubelets, PodConnection};
///
/// /// Nodes that are all switched off.
/// struct Off;
///
/// #[async_trait]
/// impl Kubelets for Off {
///     async fn call(&self, _: &str, _: Request<KubeletBody>) -> io::Result<Response<KubeletBody>> {
///         Err(io::ErrorKind::ConnectionRefused.into())
///     }
///
///     async fn connect(&self, _: IpAddr, _: u16) -> io::Result<PodConnection> {
///         Err(io::ErrorKind::ConnectionRefused.into())
///     }
/// }
/// ```
#[async_trait]
pub trait Kubelets: Send + Sync + 'static {
    /// Sends a request to the kubelet of a node. The path is that of its API: `/containerLogs/…`, `/exec/…`, `/pods`.
    ///
    /// # Errors
    ///
    /// Fails with [`NotFound`](io::ErrorKind::NotFound) if the node does not exist, and with another error if it does not
    /// respond.
    async fn call(
        &self,
        node: &str,
        request: Request<KubeletBody>,
    ) -> io::Result<Response<KubeletBody>>;

    /// Connects to a port of a pod or of a node.
    ///
    /// # Errors
    ///
    /// Fails with [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) if nothing listens on the port, and with
    /// [`HostUnreachable`](io::ErrorKind::HostUnreachable) if no pod or node has the address.
    async fn connect(&self, address: IpAddr, port: u16) -> io::Result<PodConnection>;
}
