//! [`SelfSigned`]: a certificate authority and a serving certificate, generated on the spot (ECDSA on P-256).
//!
//! The authority's key is discarded, so nothing else can ever be signed with it.

use std::{
    io,
    path::Path,
    time::{Duration, SystemTime},
};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};

use crate::write_secret_file;

/// The validity of generated certificates.
const VALIDITY: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// The time before `now` at which the validity begins, since clocks differ.
const BACKDATE: Duration = Duration::from_secs(3600);

/// A serving certificate, signed by a certificate authority generated for it alone.
///
/// ```
/// use std::time::SystemTime;
///
/// use kubewright_cluster::SelfSigned;
///
/// let certificate = SelfSigned::generate(["localhost", "127.0.0.1"], SystemTime::now()).unwrap();
/// assert!(certificate.ca_pem.starts_with("-----BEGIN CERTIFICATE-----"));
/// ```
#[derive(Clone)]
pub struct SelfSigned {
    /// The certificate of the authority, which clients must trust.
    pub ca_pem: String,
    /// The serving certificate.
    pub certificate_pem: String,
    /// The private key of the serving certificate.
    pub key_pem: String,
}

/// A certificate could not be generated: one of the names is not a DNS name.
#[derive(Debug, thiserror::Error)]
#[error("cannot generate a certificate: {0}")]
pub struct CertificateError(#[source] rcgen::Error);

impl SelfSigned {
    /// Generates a certificate for DNS names and IP addresses that is valid for ten years from `now`.
    ///
    /// # Errors
    ///
    /// Fails if a name is not a DNS name.
    pub fn generate<N: Into<String>>(
        names: impl IntoIterator<Item = N>,
        now: SystemTime,
    ) -> Result<Self, CertificateError> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        make(names, now).map_err(CertificateError)
    }

    /// Writes `tls.crt` and `tls.key` to a directory, as files that only their owner can read.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written.
    pub fn write_to(&self, directory: &Path) -> io::Result<()> {
        write_secret_file(&directory.join("tls.crt"), &self.certificate_pem)?;
        write_secret_file(&directory.join("tls.key"), &self.key_pem)
    }
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
    use kubewright_serve::Tls;

    use super::*;

    #[test]
    fn a_server_can_use_the_certificate() {
        let names = ["localhost", "127.0.0.1", "::1"];
        let generated = SelfSigned::generate(names, SystemTime::now()).unwrap();
        assert_ne!(generated.ca_pem, generated.certificate_pem);
        let (chain, key) = (&generated.certificate_pem, &generated.key_pem);
        Tls::from_pem(chain.as_bytes(), key.as_bytes()).unwrap();
    }

    #[test]
    fn invalid_names_are_an_error() {
        assert!(SelfSigned::generate(["gr\u{fc}n"], SystemTime::UNIX_EPOCH).is_err());
    }
}
