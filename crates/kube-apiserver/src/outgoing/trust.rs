//! The certificates of endpoints that are trusted, by the rules of Go.

use std::sync::{Arc, LazyLock};

use kubewright_machinery::time::Time;
use rustls::{
    CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
    client::{
        WantsClientCert, WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
    server::ParsedCertificate,
};

/// Returns a TLS configuration that trusts the certificates of a `caBundle`, and those that they have signed. With an
/// empty bundle, it trusts the certificates of the system.
pub(super) fn client_config(
    ca_bundle: &[u8],
    insecure: bool,
    identity: Option<&Identity>,
) -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    let mut bundle = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(ca_bundle).flatten() {
        roots.add(certificate.clone())?;
        bundle.push(certificate);
    }
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?;
    if insecure {
        let verifier = Arc::new(AnyCertificate(provider));
        let builder = builder.dangerous();
        return presenting(builder.with_custom_certificate_verifier(verifier), identity);
    }
    if ca_bundle.is_empty() {
        return presenting(builder.with_root_certificates(system_roots()), identity);
    }
    if bundle.is_empty() {
        let why = "unable to load root certificates: unable to parse bytes as PEM block";
        return Err(Error::General(why.to_owned()));
    }
    let signed = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|e| Error::General(e.to_string()))?;
    let verifier = Arc::new(BundleVerifier { signed, bundle });
    let builder = builder.dangerous();
    presenting(builder.with_custom_certificate_verifier(verifier), identity)
}

/// A certificate that a client presents.
#[derive(Debug)]
pub(crate) struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Reads a certificate chain and its key, both PEM.
    ///
    /// # Errors
    ///
    /// Returns the reason if one of them cannot be read.
    pub(crate) fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, String> {
        let chain = CertificateDer::pem_slice_iter(certificate);
        let chain: Vec<_> = chain.collect::<Result<_, _>>().map_err(|e| e.to_string())?;
        if chain.is_empty() {
            return Err("there is no certificate".to_owned());
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|e| e.to_string())?;
        Ok(Self { chain, key })
    }
}

fn presenting(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    identity: Option<&Identity>,
) -> Result<ClientConfig, Error> {
    match identity {
        Some(own) => builder.with_client_auth_cert(own.chain.clone(), own.key.clone_key()),
        None => Ok(builder.with_no_client_auth()),
    }
}

/// Accepts every certificate, for `insecureSkipTLSVerify`.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Returns the certificates that the system trusts. They are read once.
fn system_roots() -> Arc<RootCertStore> {
    static ROOTS: LazyLock<Arc<RootCertStore>> = LazyLock::new(|| {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Arc::new(roots)
    });
    ROOTS.clone()
}

/// Returns Go's message for an untrusted certificate, if that is the failure.
pub(super) fn describe(error: &std::io::Error) -> String {
    let inner = error.get_ref().and_then(|e| e.downcast_ref::<Error>());
    if matches!(inner, Some(Error::InvalidCertificate(reason)) if is_about_issuer(reason)) {
        return "tls: failed to verify certificate: x509: certificate signed by unknown authority"
            .to_owned();
    }
    if let Some(Error::InvalidCertificate(CertificateError::NotValidForNameContext {
        expected,
        presented,
    })) = inner
    {
        return format!(
            "tls: failed to verify certificate: x509: {}",
            wrong_name(expected, presented)
        );
    }
    if let Some(Error::InvalidCertificate(reason)) = inner
        && let Some(period) = outside_period(reason)
    {
        return format!(
            "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: {period}"
        );
    }
    format!("tls: {error}")
}

/// Returns how the time is outside of the validity of a certificate, in the words of Go.
fn outside_period(reason: &CertificateError) -> Option<String> {
    let (time, how, bound) = match reason {
        CertificateError::ExpiredContext { time, not_after } => (time, "after", not_after),
        CertificateError::NotValidYetContext { time, not_before } => (time, "before", not_before),
        _ => return None,
    };
    let text = |time: &UnixTime| {
        let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        Time::from_unix(seconds, 0).to_seconds()
    };
    Some(format!(
        "current time {} is {how} {}",
        text(time),
        text(bound)
    ))
}

/// Returns the words of Go for a certificate of another host.
fn wrong_name(expected: &ServerName<'_>, presented: &[String]) -> String {
    let of_kind = |kind: &str| -> Vec<&str> {
        let inside = presented.iter().filter_map(|name| {
            let name = name.strip_prefix(kind)?.strip_prefix('(')?;
            Some(name.strip_suffix(')')?.trim_matches('"'))
        });
        inside.collect()
    };
    let expected_name = expected.to_str();
    let (names, none) = match expected {
        ServerName::IpAddress(_) => (
            of_kind("IpAddress"),
            format!(
                "cannot validate certificate for {expected_name} because it doesn't contain any IP SANs"
            ),
        ),
        _ => (
            of_kind("DnsName"),
            format!("certificate is not valid for any names, but wanted to match {expected_name}"),
        ),
    };
    match names.is_empty() {
        true => none,
        false => format!(
            "certificate is valid for {}, not {expected_name}",
            names.join(", ")
        ),
    }
}

/// Accepts what a certificate of the bundle has signed, and, as Go does, the certificates of the bundle themselves, whether
/// or not they may sign others.
#[derive(Debug)]
struct BundleVerifier {
    signed: Arc<WebPkiServerVerifier>,
    bundle: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for BundleVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verdict = self.signed.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verdict {
            // The period of validity has been checked before anybody looked for the issuer.
            Err(Error::InvalidCertificate(reason))
                if is_about_issuer(&reason) && self.bundle.iter().any(|c| c == end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}

/// Reports whether a certificate was rejected because of its issuer: unknown, another of the same name, or itself as an
/// authority.
fn is_about_issuer(reason: &CertificateError) -> bool {
    match reason {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => true,
        CertificateError::Other(other) => other.0.to_string() == "CaUsedAsEndEntity",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{
        BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose,
        IsCa, KeyPair, date_time_ymd,
    };
    use rustls::{ClientConnection, ServerConfig, ServerConnection};

    use super::*;

    fn params(name: &str) -> CertificateParams {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params
    }

    /// Connects to a server with that certificate, and says how the handshake ends.
    fn handshake(
        certificate: &CertificateDer<'static>,
        key: &KeyPair,
        bundle: &str,
    ) -> Result<(), String> {
        let server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.clone()],
                rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            )
            .unwrap();
        let mut server = ServerConnection::new(Arc::new(server)).unwrap();
        let config = client_config(bundle.as_bytes(), false, None).map_err(|e| e.to_string())?;
        let name = ServerName::try_from("hook.example.com").unwrap();
        let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
        while client.is_handshaking() {
            let mut wire = Vec::new();
            client.write_tls(&mut wire).unwrap();
            server.read_tls(&mut wire.as_slice()).unwrap();
            let _ = server.process_new_packets();
            let mut wire = Vec::new();
            server.write_tls(&mut wire).unwrap();
            client.read_tls(&mut wire.as_slice()).unwrap();
            client
                .process_new_packets()
                .map_err(|e| describe(&std::io::Error::other(e)))?;
        }
        Ok(())
    }

    fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
        let mut ca = CertificateParams::new([]).unwrap();
        ca.distinguished_name.push(DnType::CommonName, name);
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(ca, KeyPair::generate().unwrap()).unwrap()
    }

    #[test]
    fn a_leaf_of_the_bundle_is_trusted() {
        let (ca, key) = (authority("ca"), KeyPair::generate().unwrap());
        let leaf = params("hook.example.com").signed_by(&key, &ca).unwrap();
        assert_eq!(handshake(leaf.der(), &key, &leaf.pem()), Ok(()));
        assert_eq!(handshake(leaf.der(), &key, &ca.pem()), Ok(()));
        let namesake = authority("rcgen self signed cert");
        let leaf = params("hook.example.com")
            .signed_by(&key, &namesake)
            .unwrap();
        assert_eq!(handshake(leaf.der(), &key, &leaf.pem()), Ok(()));
        let own = params("hook.example.com").self_signed(&key).unwrap();
        assert_eq!(handshake(own.der(), &key, &own.pem()), Ok(()));
        let mut sovereign = params("hook.example.com");
        sovereign.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let sovereign = sovereign.self_signed(&key).unwrap();
        assert_eq!(handshake(sovereign.der(), &key, &sovereign.pem()), Ok(()));
    }

    #[test]
    fn others_are_not() {
        const UNKNOWN: &str =
            "tls: failed to verify certificate: x509: certificate signed by unknown authority";
        let (ca, key) = (authority("ca"), KeyPair::generate().unwrap());
        let leaf = params("hook.example.com").signed_by(&key, &ca).unwrap();
        let sibling = params("hook.example.com").signed_by(&key, &ca).unwrap();
        for bundle in [authority("other").pem(), sibling.pem(), String::new()] {
            let refused = handshake(leaf.der(), &key, &bundle).unwrap_err();
            assert_eq!(refused, UNKNOWN);
        }
        let named = params("other.example.com").signed_by(&key, &ca).unwrap();
        let refused = handshake(named.der(), &key, &ca.pem()).unwrap_err();
        assert_eq!(
            refused,
            "tls: failed to verify certificate: x509: certificate is valid for other.example.com, not hook.example.com"
        );
        assert!(handshake(named.der(), &key, &named.pem()).is_err());
        let mut old = params("hook.example.com");
        old.not_before = date_time_ymd(2020, 1, 1);
        old.not_after = date_time_ymd(2021, 1, 1);
        let old = old.signed_by(&key, &ca).unwrap();
        assert!(handshake(old.der(), &key, &old.pem()).is_err());
        let refused = handshake(old.der(), &key, &ca.pem()).unwrap_err();
        let expected = "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time ";
        assert!(refused.starts_with(expected), "{refused}");
        assert!(
            refused.ends_with(" is after 2021-01-01T00:00:00Z"),
            "{refused}"
        );
    }
}
