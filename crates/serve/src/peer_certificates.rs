//! [`PeerCertificates`]: the certificates of a client.

use std::sync::Arc;

use bytes::Bytes;

/// The certificate chain that a client presented in its TLS handshake, leaf first, in DER. Clones share the chain.
///
/// The server puts it into the extensions of every request of the connection. It has verified nothing but that the
/// client holds the key of the leaf: whether the chain is trusted is up to the service.
///
/// ```
/// use kubewright_serve::PeerCertificates;
///
/// let chain = PeerCertificates::new([b"leaf".to_vec(), b"intermediate".to_vec()]);
/// assert_eq!(chain.leaf(), Some(&b"leaf"[..]));
/// assert_eq!(chain.intermediates().count(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerCertificates(Arc<[Bytes]>);

impl PeerCertificates {
    /// Creates a chain from certificates in DER, leaf first.
    pub fn new<T: Into<Bytes>>(chain: impl IntoIterator<Item = T>) -> Self {
        Self(chain.into_iter().map(Into::into).collect())
    }

    /// Returns the certificate of the client itself.
    pub fn leaf(&self) -> Option<&[u8]> {
        self.0.first().map(|der| &**der)
    }

    /// Returns the other certificates, in the order in which the client sent them.
    pub fn intermediates(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().skip(1).map(|der| &**der)
    }
}
