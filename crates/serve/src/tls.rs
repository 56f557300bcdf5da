//! [`Tls`]: the certificate and key of a server.
//!
//! The cryptography is ring's, named explicitly: nothing here depends on, or sets, a default for the process.

use std::{fmt, io, sync::Arc};

use parking_lot::RwLock;
use rustls::{
    RootCertStore, ServerConfig,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier, danger::ClientCertVerifier},
    sign::CertifiedKey,
};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

use crate::{BoxError, any_certificate::AnyCertificate};

/// The TLS configuration of a [`Server`](crate::Server). Clones share the certificate.
///
/// ```
/// use kubewright_serve::Tls;
/// use rcgen::{CertifiedKey, generate_simple_self_signed};
///
/// let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
/// let (certificate, key) = (cert.pem(), signing_key.serialize_pem());
/// let tls = Tls::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap();
///
/// // Later, without a restart:
/// tls.replace_certificate(certificate.as_bytes(), key.as_bytes()).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Tls {
    pub(crate) config: Arc<ServerConfig>,
    identity: Arc<Identity>,
}

/// A certificate or key that a server cannot use.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The text is not valid PEM, or has no certificate or key in it.
    #[error("cannot read the {part} as PEM: {message}")]
    Pem {
        /// The input: `certificate`, `private key` or `certificate authority`.
        part: &'static str,
        /// A description of the problem.
        message: String,
    },
    /// The certificate and the key do not work together.
    #[error("cannot serve with this certificate: {0}")]
    Certificate(#[source] BoxError),
}

impl Tls {
    /// Reads a PEM certificate chain and a PEM private key, and offers HTTP/2 and HTTP/1.1.
    ///
    /// # Errors
    ///
    /// Fails if either is not PEM, or if the key does not belong to the certificate.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let provider = provider();
        let identity = Identity(RwLock::new(certified_key(certificates, key, &provider)?));
        let identity = Arc::new(identity);
        let config = config(identity.clone(), provider, None)?;
        Ok(Self { config, identity })
    }

    /// Asks clients for a certificate, without requiring one.
    ///
    /// `authorities` are PEM certificates whose names tell clients which of their certificates to present; if there are
    /// none, clients may present any certificate. The certificates are not verified: services find them as
    /// [`PeerCertificates`](crate::PeerCertificates) in the extensions of requests.
    ///
    /// # Errors
    ///
    /// Fails if `authorities` has something that is not a certificate.
    pub fn request_client_certificates(self, authorities: &[u8]) -> Result<Self, TlsError> {
        let mut names = RootCertStore::empty();
        for certificate in certificates_of("certificate authority", authorities)? {
            let added = names.add(certificate);
            added.map_err(|e| unreadable("certificate authority", e))?;
        }
        let provider = provider();
        let verifier = AnyCertificate {
            authorities: names.subjects(),
            provider: provider.clone(),
        };
        Ok(Self {
            config: config(self.identity.clone(), provider, Some(Arc::new(verifier)))?,
            identity: self.identity,
        })
    }

    /// Requires clients to present a certificate that one of these authorities has signed (PEM). The handshake fails without.
    ///
    /// # Errors
    ///
    /// Fails if `authorities` has no certificate, or something that is not one.
    pub fn require_client_certificates(self, authorities: &[u8]) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates_of("certificate authority", authorities)? {
            let added = roots.add(certificate);
            added.map_err(|e| unreadable("certificate authority", e))?;
        }
        let provider = provider();
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
        let verifier = verifier
            .build()
            .map_err(|e| unreadable("certificate authority", e))?;
        Ok(Self {
            config: config(self.identity.clone(), provider, Some(verifier))?,
            identity: self.identity,
        })
    }

    /// Offers HTTP/1.1 only.
    pub fn without_http2(mut self) -> Self {
        let mut config = ServerConfig::clone(&self.config);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        self.config = Arc::new(config);
        self
    }

    /// Accepts a connection that does not come from the listener of a [`Server`](crate::Server).
    ///
    /// # Errors
    ///
    /// Fails if the handshake does.
    pub async fn accept<S>(
        &self,
        stream: S,
    ) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static + use<S>>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        TlsAcceptor::from(self.config.clone()).accept(stream).await
    }

    /// Replaces the certificate and its key. Connections that exist already keep the old one.
    ///
    /// # Errors
    ///
    /// Fails as [`from_pem`](Self::from_pem) does, and then leaves the certificate as it was.
    pub fn replace_certificate(&self, certificates: &[u8], key: &[u8]) -> Result<(), TlsError> {
        let replacement = certified_key(certificates, key, &provider())?;
        *self.identity.0.write() = replacement;
        Ok(())
    }
}

/// The certificate that a server presents at the moment.
struct Identity(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Identity {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().clone())
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn config(
    identity: Arc<Identity>,
    provider: Arc<CryptoProvider>,
    clients: Option<Arc<dyn ClientCertVerifier>>,
) -> Result<Arc<ServerConfig>, TlsError> {
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let builder = match clients {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_cert_resolver(identity);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.ticketer = rustls::crypto::ring::Ticketer::new().map_err(unusable)?;
    Ok(Arc::new(config))
}

fn certified_key(
    certificates: &[u8],
    key: &[u8],
    provider: &CryptoProvider,
) -> Result<Arc<CertifiedKey>, TlsError> {
    let chain = certificates_of("certificate", certificates)?;
    if chain.is_empty() {
        return Err(unreadable("certificate", "no certificate found"));
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|e| unreadable("private key", e))?;
    let certified = CertifiedKey::from_der(chain, key, provider).map_err(unusable)?;
    Ok(Arc::new(certified))
}

fn certificates_of(
    part: &'static str,
    pem: &[u8],
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>();
    certificates.map_err(|e| unreadable(part, e))
}

fn unreadable(part: &'static str, message: impl ToString) -> TlsError {
    let message = message.to_string();
    TlsError::Pem { part, message }
}

fn unusable(error: rustls::Error) -> TlsError {
    TlsError::Certificate(error.into())
}

#[cfg(test)]
mod tests {
    use rcgen::{CertifiedKey, generate_simple_self_signed};

    use super::*;

    fn pem() -> (String, String) {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        (cert.pem(), signing_key.serialize_pem())
    }

    #[test]
    fn a_certificate_and_its_key_are_accepted() {
        let (certificate, key) = pem();
        let tls = Tls::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap();
        assert_eq!(
            tls.config.alpn_protocols,
            [b"h2".to_vec(), b"http/1.1".to_vec()]
        );
    }

    #[test]
    fn unusable_input_is_an_error() {
        let ((certificate, key), (_, other_key)) = (pem(), pem());
        let error = |certificate: &str, key: &str| {
            Tls::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap_err()
        };
        let no_certificate = error("", &key);
        assert!(matches!(
            no_certificate,
            TlsError::Pem {
                part: "certificate",
                ..
            }
        ));
        let no_key = error(&certificate, "x");
        assert!(matches!(
            no_key,
            TlsError::Pem {
                part: "private key",
                ..
            }
        ));
        let mismatch = error(&certificate, &other_key);
        assert!(matches!(mismatch, TlsError::Certificate(_)));
    }
}
