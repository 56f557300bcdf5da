//! [`PeerAddress`]: where a connection comes from.

use std::net::SocketAddr;

/// The address of the peer, which may be a proxy.
///
/// A server with [`peer_addresses`](crate::Server::peer_addresses) puts it into the extensions of every request.
///
/// ```
/// use http::Request;
/// use kubewright_serve::PeerAddress;
///
/// fn peer<B>(request: &Request<B>) -> Option<std::net::IpAddr> {
///     request.extensions().get().map(|PeerAddress(address)| address.ip())
/// }
/// assert_eq!(peer(&Request::new(())), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress(pub SocketAddr);
