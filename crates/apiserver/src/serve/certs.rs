//! Certificates: made for the occasion, or loaded from PEM.
//!
//! [`SelfSigned`] makes a certificate authority and a serving certificate under it (ECDSA on P-256). The authority's key
//! is thrown away, so nothing else can ever be signed with it. The cryptography is ring's, named explicitly: nothing here
//! depends on, or sets, a default for the process.

use std::{sync::Arc, time::Duration, time::SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use thiserror::Error;

/// How long made certificates are valid.
const VALIDITY: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// How far their validity reaches back, for clocks that differ.
const BACKDATE: Duration = Duration::from_secs(3600);

/// A serving certificate with an authority of its own.
#[derive(Clone)]
pub struct SelfSigned {
    /// The authority's certificate, which clients must trust.
    pub ca_pem: String,
    /// The serving certificate.
    pub certificate_pem: String,
    /// Its private key.
    pub key_pem: String,
}

/// Why there is no certificate.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// It could not be made: a name is not a name.
    #[error("cannot make a certificate: {0}")]
    Make(String),
    /// The text is not PEM, or holds something else.
    #[error("cannot read PEM: {0}")]
    Pem(String),
    /// Certificate and key do not make a server.
    #[error("cannot serve with this certificate: {0}")]
    Config(#[from] rustls::Error),
}

impl SelfSigned {
    /// Makes a certificate for those DNS names and IP addresses, valid from now on.
    pub fn generate<N: Into<String>>(
        names: impl IntoIterator<Item = N>,
        now: SystemTime,
    ) -> Result<Self, CertificateError> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        make(names, now).map_err(|e| CertificateError::Make(e.to_string()))
    }

    /// What a server needs.
    pub fn server_config(&self) -> Result<Arc<ServerConfig>, CertificateError> {
        server_config(self.certificate_pem.as_bytes(), self.key_pem.as_bytes())
    }
}

/// A server's configuration from a PEM certificate chain and a PEM key, for HTTP/2 and HTTP/1.1.
pub fn server_config(
    certificates: &[u8],
    key: &[u8],
) -> Result<Arc<ServerConfig>, CertificateError> {
    let pem = |e: rustls::pki_types::pem::Error| CertificateError::Pem(e.to_string());
    let chain: Vec<_> = CertificateDer::pem_slice_iter(certificates)
        .collect::<Result<_, _>>()
        .map_err(pem)?;
    if chain.is_empty() {
        return Err(CertificateError::Pem(
            "there is no certificate in it".to_owned(),
        ));
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(pem)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.ticketer = rustls::crypto::ring::Ticketer::new()?;
    Ok(Arc::new(config))
}

fn make(names: Vec<String>, now: SystemTime) -> Result<SelfSigned, rcgen::Error> {
    let ca_key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut ca = params(Vec::new(), "kubewright-ca", now)?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
    ];
    let ca_pem = ca.self_signed(&ca_key)?.pem();
    let issuer = Issuer::new(ca, ca_key);

    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut leaf = params(names, "kubewright", now)?;
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf.use_authority_key_identifier_extension = true;
    let certificate_pem = leaf.signed_by(&key, &issuer)?.pem();
    Ok(SelfSigned {
        ca_pem,
        certificate_pem,
        key_pem: key.serialize_pem(),
    })
}

fn params(
    names: Vec<String>,
    common_name: &str,
    now: SystemTime,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    params.not_before = now.checked_sub(BACKDATE).unwrap_or(now).into();
    params.not_after = now.checked_add(VALIDITY).unwrap_or(now).into();
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_made_and_loaded() {
        let made =
            SelfSigned::generate(["localhost", "127.0.0.1", "::1"], SystemTime::now()).unwrap();
        assert!(made.ca_pem.starts_with("-----BEGIN CERTIFICATE-----"));
        assert_ne!(made.ca_pem, made.certificate_pem);
        let config = made.server_config().unwrap();
        assert_eq!(
            config.alpn_protocols,
            [b"h2".to_vec(), b"http/1.1".to_vec()]
        );
    }

    #[test]
    fn what_is_no_certificate_is_an_error() {
        let made = SelfSigned::generate(["a"], SystemTime::UNIX_EPOCH).unwrap();
        let key = made.key_pem.as_bytes();
        assert!(matches!(
            server_config(b"", key),
            Err(CertificateError::Pem(_))
        ));
        assert!(matches!(
            server_config(made.ca_pem.as_bytes(), b"x"),
            Err(CertificateError::Pem(_))
        ));
        let other = SelfSigned::generate(["a"], SystemTime::UNIX_EPOCH).unwrap();
        assert!(matches!(
            server_config(other.certificate_pem.as_bytes(), key),
            Err(CertificateError::Config(_))
        ));
        assert!(matches!(
            SelfSigned::generate(["gr\u{fc}n"], SystemTime::UNIX_EPOCH),
            Err(CertificateError::Make(_))
        ));
    }
}
