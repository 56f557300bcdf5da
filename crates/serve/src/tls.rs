//! [`Tls`]: the certificate and key of a server.
//!
//! The cryptography is ring's, named explicitly: nothing here depends on, or sets, a default for the process.

use std::sync::Arc;

use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use thiserror::Error;

use crate::BoxError;

/// The TLS configuration of a [`Server`](crate::Server).
///
/// ```
/// use kubewright_serve::Tls;
/// use rcgen::{CertifiedKey, generate_simple_self_signed};
///
/// let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
/// let tls = Tls::from_pem(cert.pem().as_bytes(), signing_key.serialize_pem().as_bytes());
/// assert!(tls.is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct Tls(pub(crate) Arc<ServerConfig>);

/// A certificate or key that a server cannot use.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The text is not valid PEM, or has no certificate or key in it.
    #[error("cannot read the {part} as PEM: {message}")]
    Pem {
        /// The input: `certificate` or `private key`.
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
        let unreadable = |part, message: String| TlsError::Pem { part, message };
        let chain: Vec<_> = CertificateDer::pem_slice_iter(certificates)
            .collect::<Result<_, _>>()
            .map_err(|e| unreadable("certificate", e.to_string()))?;
        if chain.is_empty() {
            let message = "no certificate found".to_owned();
            return Err(unreadable("certificate", message));
        }
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|e| unreadable("private key", e.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(unusable)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config.ticketer = rustls::crypto::ring::Ticketer::new().map_err(unusable)?;
        Ok(Self(Arc::new(config)))
    }
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
        assert_eq!(tls.0.alpn_protocols, [b"h2".to_vec(), b"http/1.1".to_vec()]);
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
