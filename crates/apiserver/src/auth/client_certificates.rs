//! [`ClientCertificates`]: users that are identified by a certificate, and [`TrustedAuthorities`], which sign them.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use jiff::Timestamp;
use kubewright_derive::boxed_async;
use kubewright_serve::PeerCertificates;
use kubewright_x509::{Certificate, ExtendedKeyUsage};
use ring::digest::{SHA256, digest};
use rustls::{
    CertificateError, RootCertStore,
    pki_types::{CertificateDer, UnixTime, pem::PemObject},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use thiserror::Error;

use super::{
    Authenticated, AuthenticationError, Authenticator, Credentials, VerifiedCredentials,
    authenticator::add_group,
};
use crate::{clock::SharedClock, request::UserInfo};

/// The attribute of a subject that holds the uid of the user.
const UID: &str = "1.3.6.1.4.1.57683.2";
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// The time for which the verification of a chain counts. The validity of the client's own certificate is always checked.
const REVERIFY: Duration = Duration::from_secs(30);

/// Certificate authorities that are trusted to identify clients. Clones share them.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::{SystemClock, auth::TrustedAuthorities};
/// # let key = rcgen::KeyPair::generate().unwrap();
/// # let mut params = rcgen::CertificateParams::default();
/// # params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
/// # let pem = params.self_signed(&key).unwrap().pem();
///
/// let authorities = TrustedAuthorities::from_pem(pem.as_bytes(), Arc::new(SystemClock)).unwrap();
/// assert_eq!(authorities.pem(), pem.as_bytes());
/// assert!(TrustedAuthorities::from_pem(b"no certificate", Arc::new(SystemClock)).is_err());
/// ```
#[derive(Clone)]
pub struct TrustedAuthorities {
    shared: Arc<Shared>,
}

struct Shared {
    pem: Vec<u8>,
    bundle: Vec<CertificateDer<'static>>,
    verifier: Arc<dyn ClientCertVerifier>,
    clock: SharedClock,
    seen: VerifiedCredentials<Verified>,
}

/// A certificate whose chain was verified.
struct Verified {
    certificate: Certificate,
    at: Timestamp,
    /// The user, or the reason why there is none. `None` if the subject has no common name.
    user: Result<Option<Arc<UserInfo>>, String>,
}

/// Certificates of authorities that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AuthorityError {
    /// The text is not PEM.
    #[error("cannot read the certificate authorities as PEM: {0}")]
    Pem(String),
    /// The text has no certificate.
    #[error("the text holds no CERTIFICATE block")]
    Empty,
    /// A certificate cannot be used as an authority.
    #[error("cannot trust this certificate authority: {0}")]
    Certificate(String),
}

/// Authenticates users by the certificate of their TLS connection: its common name is the user, its organizations are the
/// groups.
///
/// The chain must lead to one of the authorities, and the certificate must be usable by clients. A request with a
/// certificate that is not trusted is rejected, also where anonymous requests are not.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use std::sync::Arc;
///
/// use kubewright_apiserver::{SystemClock, auth::{ClientCertificates, Credentials, TrustedAuthorities}};
/// use kubewright_serve::PeerCertificates;
/// # use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
/// # let mut ca = CertificateParams::default();
/// # ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
/// # let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate().unwrap()).unwrap();
/// # let mut alice = CertificateParams::default();
/// # alice.distinguished_name = rcgen::DistinguishedName::new();
/// # alice.distinguished_name.push(DnType::CommonName, "alice");
/// # alice.distinguished_name.push(DnType::OrganizationName, "dev");
/// # let alice = alice.signed_by(&KeyPair::generate().unwrap(), &ca).unwrap();
/// # let (ca_pem, certificate) = (ca.pem(), alice.der().to_vec());
///
/// let authorities = TrustedAuthorities::from_pem(ca_pem.as_bytes(), Arc::new(SystemClock)).unwrap();
/// let authenticator = ClientCertificates::new(authorities);
/// let (mut parts, ()) = http::Request::new(()).into_parts();
/// parts.extensions.insert(PeerCertificates::new([certificate]));
/// let known = Credentials::new(&parts, &[]).authenticate(&authenticator).await.unwrap().unwrap();
/// assert_eq!((known.user.name.as_str(), known.user.groups[0].as_str()), ("alice", "dev"));
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct ClientCertificates {
    authorities: TrustedAuthorities,
}

impl TrustedAuthorities {
    /// Reads the certificates of authorities. The clock decides whether certificates are valid.
    ///
    /// # Errors
    ///
    /// Fails if there is none, or one of them cannot be used.
    pub fn from_pem(pem: &[u8], clock: SharedClock) -> Result<Self, AuthorityError> {
        let bundle = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
        let bundle = bundle.map_err(|e| AuthorityError::Pem(e.to_string()))?;
        if bundle.is_empty() {
            return Err(AuthorityError::Empty);
        }
        let unusable = |e: String| AuthorityError::Certificate(e);
        let mut roots = RootCertStore::empty();
        for certificate in &bundle {
            let added = roots.add(certificate.clone());
            added.map_err(|e| unusable(e.to_string()))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier.build().map_err(|e| unusable(e.to_string()))?;
        Ok(Self {
            shared: Arc::new(Shared {
                pem: pem.to_vec(),
                bundle,
                verifier,
                clock,
                seen: VerifiedCredentials::new(),
            }),
        })
    }

    /// Returns the certificates as PEM.
    pub fn pem(&self) -> &[u8] {
        &self.shared.pem
    }

    /// Returns whether the two have a certificate in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        let others = &other.shared.bundle;
        self.shared.bundle.iter().any(|own| others.contains(own))
    }

    /// Returns the common name of a client whose certificate is trusted.
    pub(super) fn common_name(
        &self,
        peer: &PeerCertificates,
    ) -> Result<String, AuthenticationError> {
        let verified = self.shared.verified(peer)?;
        Ok(verified.certificate.subject().common_name().to_owned())
    }
}

impl fmt::Debug for TrustedAuthorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.shared.bundle.len();
        write!(f, "TrustedAuthorities({count} certificates)")
    }
}

impl Shared {
    /// Verifies a chain, or remembers that it was verified not long ago.
    fn verified(&self, peer: &PeerCertificates) -> Result<Arc<Verified>, AuthenticationError> {
        let now = self.clock.now();
        let chain = peer.leaf().into_iter().chain(peer.intermediates());
        let fingerprint = self.seen.fingerprint(chain);
        if let Some(verified) = self.seen.get(&fingerprint)
            && verified.is_current(now)
        {
            return Ok(verified);
        }
        let leaf = peer.leaf().unwrap_or_default();
        let failed = |name: &str, reason: String| {
            AuthenticationError::new(format!("verifying certificate {name} failed: {reason}"))
        };
        let certificate = Certificate::from_der(leaf).map_err(|e| failed("", e.to_string()))?;
        self.verify(peer, leaf, &certificate, now)
            .map_err(|reason| failed(&certificate.subject().to_string(), reason))?;
        let verified = Arc::new(Verified {
            user: user(&certificate, leaf),
            certificate,
            at: now,
        });
        self.seen.insert(fingerprint, verified.clone());
        Ok(verified)
    }

    fn verify(
        &self,
        peer: &PeerCertificates,
        leaf: &[u8],
        certificate: &Certificate,
        now: Timestamp,
    ) -> Result<(), String> {
        let leaf = CertificateDer::from(leaf);
        let intermediates: Vec<_> = peer.intermediates().map(CertificateDer::from).collect();
        // Times before 1970 are before every certificate.
        let since_epoch = SystemTime::from(now).duration_since(SystemTime::UNIX_EPOCH);
        let time = UnixTime::since_unix_epoch(since_epoch.unwrap_or_default());
        let verdict = self
            .verifier
            .verify_client_cert(&leaf, &intermediates, time);
        match verdict {
            Ok(_) => Ok(()),
            // As in Go, a certificate of the bundle vouches for itself.
            Err(_) if self.bundle.contains(&leaf) => match certificate.is_valid_at(now.as_second())
            {
                false => Err(describe(&CertificateError::Expired)),
                true if certificate.allows(ExtendedKeyUsage::ClientAuth) => Ok(()),
                true => Err(describe(&CertificateError::InvalidPurpose)),
            },
            Err(rustls::Error::InvalidCertificate(reason)) => Err(describe(&reason)),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Verified {
    fn is_current(&self, now: Timestamp) -> bool {
        let age = now.duration_since(self.at);
        !age.is_negative()
            && age.unsigned_abs() < REVERIFY
            && self.certificate.is_valid_at(now.as_second())
    }
}

impl ClientCertificates {
    /// Accepts certificates that the authorities have signed.
    pub fn new(authorities: TrustedAuthorities) -> Self {
        Self { authorities }
    }
}

#[boxed_async]
impl Authenticator for ClientCertificates {
    async fn authenticate(
        &self,
        credentials: &Credentials<'_>,
    ) -> Result<Option<Authenticated>, AuthenticationError> {
        let Some(peer) = credentials.peer else {
            return Ok(None);
        };
        match &self.authorities.shared.verified(peer)?.user {
            Ok(user) => Ok(user.clone().map(Into::into)),
            Err(error) => Err(AuthenticationError::new(error)),
        }
    }
}

/// Returns the user that a certificate names, or `None` if it names none.
fn user(certificate: &Certificate, der: &[u8]) -> Result<Option<Arc<UserInfo>>, String> {
    let subject = certificate.subject();
    if subject.common_name().is_empty() {
        return Ok(None);
    }
    let mut uids = Vec::new();
    for attribute in subject.attributes().iter().filter(|a| a.oid == UID) {
        match &attribute.value {
            Some(uid) => uids.push(uid.as_str()),
            None => return Err("unable to parse UID into a string".to_owned()),
        }
    }
    let uid = match uids.as_slice() {
        [] => "",
        [""] => return Err("UID cannot be an empty string".to_owned()),
        [uid] => uid,
        uids => {
            let uids = uids.join(" ");
            return Err(format!("expected 1 UID, but found multiple: [{uids}]"));
        }
    };
    let hex: String = digest(&SHA256, der)
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut user = UserInfo {
        name: subject.common_name().to_owned(),
        uid: uid.to_owned(),
        groups: subject.organizations().map(str::to_owned).collect(),
        extra: vec![(CREDENTIAL_ID.to_owned(), vec![format!("X509SHA256={hex}")])],
    };
    add_group(&mut user);
    Ok(Some(Arc::new(user)))
}

/// Returns the words of Go for a chain that is not trusted.
fn describe(reason: &CertificateError) -> String {
    match reason {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "x509: certificate signed by unknown authority".to_owned()
        }
        CertificateError::Expired
        | CertificateError::NotValidYet
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYetContext { .. } => {
            "x509: certificate has expired or is not yet valid".to_owned()
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "x509: certificate specifies an incompatible key usage".to_owned()
        }
        reason => format!("x509: {reason}"),
    }
}

#[cfg(test)]
mod tests;
