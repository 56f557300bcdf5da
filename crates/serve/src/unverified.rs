//! [`connect_unverified`]: TLS without verification of the server's certificate.

use std::{
    io,
    sync::{Arc, LazyLock},
};

use rustls::{
    ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;

/// Starts TLS on a connection as a client that accepts any certificate, for HTTP/1.1.
///
/// Kubelets do so for probes, and API servers for requests that they forward to pods: the address of the pod is all that they
/// know of it. Use it for nothing else.
///
/// # Errors
///
/// Fails if the handshake does.
pub async fn connect_unverified<S>(
    stream: S,
    host: &str,
) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static + use<S>>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    static CONFIG: LazyLock<Option<Arc<ClientConfig>>> = LazyLock::new(|| config().ok());
    let config = CONFIG.clone();
    let config = config.ok_or_else(|| io::Error::other("no version of TLS can be used"))?;
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    TlsConnector::from(config).connect(name, stream).await
}

fn config() -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(NoVerifier(provider)));
    Ok(Arc::new(builder.with_no_client_auth()))
}

/// Accepts any certificate of a server that has its key.
#[derive(Debug)]
struct NoVerifier(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerifier {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::generate_simple_self_signed;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::Tls;

    #[tokio::test]
    async fn a_certificate_for_another_host_is_accepted() {
        let pair = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (certificate, key) = (pair.cert.pem(), pair.signing_key.serialize_pem());
        let tls = Tls::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap();
        let (near, far) = tokio::io::duplex(1 << 14);
        let server =
            tokio::spawn(async move { tls.accept(far).await.unwrap().write_all(b"hi").await });
        let mut client = connect_unverified(near, "10.244.0.5").await.unwrap();
        let mut text = [0; 2];
        client.read_exact(&mut text).await.unwrap();
        assert_eq!(&text, b"hi");
        server.await.unwrap().unwrap();
    }
}
