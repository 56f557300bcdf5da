//! [`CertificateAuthority`]: generates and signs certificates of servers and users (ECDSA on P-256).

use std::{
    fmt, io,
    net::IpAddr,
    path::Path,
    time::{Duration, SystemTime},
};

use kubewright_x509::{
    AltNames, Authority, ExtendedKeyUsage, KeyUsage, Name, PublicKey, SigningKey, Template,
    Validity,
};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256,
};

use crate::write_secret_file;

/// The validity of generated certificates.
const VALIDITY: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// The age of a new certificate's validity, to tolerate clock skew.
const BACKDATE: Duration = Duration::from_secs(3600);

/// A certificate authority with its private key.
///
/// ```
/// use std::time::SystemTime;
///
/// use kubewright_cluster::CertificateAuthority;
///
/// let now = SystemTime::now();
/// let authority = CertificateAuthority::generate("my-ca", now).unwrap();
/// let server = authority.sign_server(["localhost", "127.0.0.1"], now).unwrap();
/// let alice = authority.sign_user("alice", ["dev"], now).unwrap();
/// assert!(alice.certificate_pem.starts_with("-----BEGIN CERTIFICATE-----"));
/// # let _ = server;
/// ```
#[derive(Clone)]
pub struct CertificateAuthority {
    authority: Authority,
    certificate_pem: String,
    key_pem: String,
}

/// A certificate and its private key.
///
/// ```
/// # use std::time::SystemTime;
/// # use kubewright_cluster::CertificateAuthority;
/// # let directory = std::env::temp_dir().join(format!("kubewright-certified-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory).unwrap();
/// let authority = CertificateAuthority::generate("my-ca", SystemTime::now()).unwrap();
/// let alice = authority.sign_user("alice", ["dev"], SystemTime::now()).unwrap();
/// alice.write_to(&directory).unwrap();
/// assert!(directory.join("tls.key").exists());
/// # std::fs::remove_dir_all(&directory).unwrap();
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct CertifiedKey {
    /// The certificate.
    pub certificate_pem: String,
    /// The private key.
    pub key_pem: String,
}

/// A serving certificate, signed by a certificate authority generated for it alone, whose key is discarded.
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

/// A certificate could not be generated: one of the names is not a DNS name, or an authority cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot generate a certificate: {0}")]
pub struct CertificateError(String);

impl CertificateAuthority {
    /// Generates an authority that is valid for ten years from `now`.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot provide random numbers.
    pub fn generate(common_name: &str, now: SystemTime) -> Result<Self, CertificateError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(failed)?;
        let mut ca = CertificateParams::default();
        ca.distinguished_name = DistinguishedName::new();
        ca.distinguished_name.push(DnType::CommonName, common_name);
        ca.not_before = now.checked_sub(BACKDATE).unwrap_or(now).into();
        ca.not_after = now.checked_add(VALIDITY).unwrap_or(now).into();
        ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        ca.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
        ];
        let certificate = ca.self_signed(&key).map_err(failed)?;
        Self::from_pem(&certificate.pem(), &key.serialize_pem())
    }

    /// Reads an authority and its private key.
    ///
    /// # Errors
    ///
    /// Fails if one of them cannot be parsed, or if the key does not match the certificate.
    pub fn from_pem(certificate_pem: &str, key_pem: &str) -> Result<Self, CertificateError> {
        let authority = Authority::from_pem(certificate_pem.as_bytes(), key_pem.as_bytes());
        Ok(Self {
            authority: authority.map_err(failed)?,
            certificate_pem: certificate_pem.to_owned(),
            key_pem: key_pem.to_owned(),
        })
    }

    /// Returns the certificate of the authority, which peers must trust.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// Returns the private key of the authority. With it, anyone can impersonate any user.
    pub fn key_pem(&self) -> &str {
        &self.key_pem
    }

    /// Returns the underlying authority, which can sign other kinds of certificates.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Signs a certificate of a server with DNS names and IP addresses, valid for ten years from `now`.
    ///
    /// # Errors
    ///
    /// Fails if a name is not a DNS name.
    pub fn sign_server<N: Into<String>>(
        &self,
        names: impl IntoIterator<Item = N>,
        now: SystemTime,
    ) -> Result<CertifiedKey, CertificateError> {
        let mut alt_names = AltNames::default();
        for name in names {
            let name = name.into();
            match name.parse::<IpAddr>() {
                Ok(address) => alt_names.ips.push(address),
                Err(_) if is_dns_name(&name) => alt_names.dns.push(name),
                Err(_) => return Err(CertificateError(format!("{name:?} is not a DNS name"))),
            }
        }
        let subject = Name::new("kubewright", [""; 0]);
        self.sign(&subject, &alt_names, ExtendedKeyUsage::ServerAuth, now)
    }

    /// Signs a client certificate of a user, valid for ten years from `now`. The common name is the user's name, and the
    /// organizations are the groups.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot provide random numbers.
    pub fn sign_user<G: Into<String>>(
        &self,
        name: &str,
        groups: impl IntoIterator<Item = G>,
        now: SystemTime,
    ) -> Result<CertifiedKey, CertificateError> {
        let (subject, none) = (Name::new(name, groups), AltNames::default());
        self.sign(&subject, &none, ExtendedKeyUsage::ClientAuth, now)
    }

    fn sign(
        &self,
        subject: &Name,
        alt_names: &AltNames,
        usage: ExtendedKeyUsage,
        now: SystemTime,
    ) -> Result<CertifiedKey, CertificateError> {
        let key_pem = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)
            .map_err(failed)?
            .serialize_pem();
        let key = SigningKey::from_pem(key_pem.as_bytes()).map_err(failed)?;
        let public_key = PublicKey::from_der(key.public_key_der()).map_err(failed)?;
        let now = now.duration_since(SystemTime::UNIX_EPOCH);
        let now = i64::try_from(now.unwrap_or_default().as_secs()).map_err(failed)?;
        let certificate = self.authority.issue(&Template {
            subject,
            alt_names,
            public_key: &public_key,
            validity: Validity {
                not_before: now.saturating_sub_unsigned(BACKDATE.as_secs()),
                not_after: now.saturating_add_unsigned(VALIDITY.as_secs()),
            },
            key_usage: KeyUsage::DIGITAL_SIGNATURE,
            extended_key_usages: vec![usage],
        });
        Ok(CertifiedKey {
            certificate_pem: certificate.map_err(failed)?.to_pem(),
            key_pem,
        })
    }
}

impl CertifiedKey {
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
        let authority = CertificateAuthority::generate("kubewright-ca", now)?;
        let server = authority.sign_server(names, now)?;
        Ok(Self {
            ca_pem: authority.certificate_pem,
            certificate_pem: server.certificate_pem,
            key_pem: server.key_pem,
        })
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

/// Omits the private key.
impl fmt::Debug for CertificateAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = self.authority.certificate().subject();
        write!(f, "CertificateAuthority({subject})")
    }
}

/// Omits the private key.
impl fmt::Debug for CertifiedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertifiedKey").finish_non_exhaustive()
    }
}

fn failed(error: impl fmt::Display) -> CertificateError {
    CertificateError(error.to_string())
}

/// Reports whether a certificate can contain a DNS name.
fn is_dns_name(name: &str) -> bool {
    let allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'*' | b'_');
    !name.is_empty() && name.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use kubewright_serve::Tls;
    use kubewright_x509::Certificate;

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

    #[test]
    fn a_user_has_all_its_groups() {
        let now = SystemTime::now();
        let authority = CertificateAuthority::generate("ca", now).unwrap();
        let alice = authority.sign_user("alice", ["ops", "dev"], now).unwrap();
        let certificate = Certificate::from_pem(alice.certificate_pem.as_bytes()).unwrap();
        assert_eq!(certificate.subject().common_name(), "alice");
        let mut groups: Vec<&str> = certificate.subject().organizations().collect();
        groups.sort_unstable();
        assert_eq!(groups, ["dev", "ops"]);
        assert!(!certificate.is_ca());
        let secret = format!("{authority:?} {alice:?}");
        assert!(!secret.contains("PRIVATE"), "{secret}");
    }

    #[test]
    fn an_authority_needs_the_matching_key() {
        let now = SystemTime::now();
        let [one, two] =
            ["one", "two"].map(|name| CertificateAuthority::generate(name, now).unwrap());
        let same = CertificateAuthority::from_pem(one.certificate_pem(), one.key_pem());
        assert!(same.is_ok());
        let mixed = CertificateAuthority::from_pem(one.certificate_pem(), two.key_pem());
        assert!(mixed.is_err());
    }
}
