//! Certificates that an operator issues for itself.

use std::time::Duration;

use kubewright_x509::{
    AltNames, Authority, Certificate, ExtendedKeyUsage, KeyUsage, Name, PublicKey, SigningKey,
    Template, Validity, pem,
};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256,
};

use super::CertificateError;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// The lifetime of a certificate authority.
const AUTHORITY_LIFETIME: Duration = DAY.saturating_mul(365);

/// The lifetime of a serving certificate. It is shorter than the remaining lifetime of an authority at its replacement.
const SERVING_LIFETIME: Duration = DAY.saturating_mul(90);

/// The age of a new certificate's validity, to tolerate clock skew.
const BACKDATE: Duration = DAY;

/// An authority and a serving certificate with their keys, in PEM.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Issued {
    /// The PEM certificates that clients must trust: the authority first, then its predecessors.
    pub(super) authorities: Vec<String>,
    pub(super) authority_key: String,
    pub(super) certificate: String,
    pub(super) key: String,
}

impl Issued {
    /// Issues a new authority and a certificate for DNS names. `predecessors` stay trusted until they expire.
    pub(super) fn new(
        names: &[String],
        predecessors: &[String],
        now: i64,
    ) -> Result<Self, CertificateError> {
        let (authority, authority_key) = new_authority(now)?;
        let mut issued = Self {
            authorities: vec![authority],
            authority_key,
            certificate: String::new(),
            key: String::new(),
        };
        issued.trust(predecessors, now);
        issued.issue(names, now)?;
        Ok(issued)
    }

    /// Reports whether the certificates and keys match.
    pub(super) fn is_usable(&self) -> bool {
        self.authority().is_ok() && self.serving().is_ok()
    }

    /// Returns a replacement if two thirds of a certificate's lifetime have passed, if it is not valid yet, because a replica had
    /// another idea of the time, or if the names have changed. `served` are
    /// authorities whose certificates a server may still present.
    pub(super) fn renewed(
        &self,
        names: &[String],
        served: &[String],
        now: i64,
    ) -> Result<Option<Self>, CertificateError> {
        let authority = self.authority()?;
        if is_due(authority.certificate().validity(), now) {
            let mut predecessors = self.authorities.clone();
            predecessors.extend(served.iter().cloned());
            return Self::new(names, &predecessors, now).map(Some);
        }
        let mut next = self.clone();
        next.trust(served, now);
        let serving = self.serving()?;
        if is_due(serving.validity(), now)
            || serving.alt_names().dns != names
            || serving.issuer() != authority.certificate().subject()
        {
            next.issue(names, now)?;
        }
        Ok((next != *self).then_some(next))
    }

    /// Returns the bundle that clients must trust.
    pub(super) fn bundle(&self) -> String {
        self.authorities.concat()
    }

    fn authority(&self) -> Result<Authority, CertificateError> {
        let certificate = self.authorities.first().map_or("", String::as_str);
        let authority = Authority::from_pem(certificate.as_bytes(), self.authority_key.as_bytes())?;
        Ok(authority)
    }

    fn serving(&self) -> Result<Certificate, CertificateError> {
        Ok(Certificate::from_pem(self.certificate.as_bytes())?)
    }

    /// Adds authorities to the bundle that have not expired.
    fn trust(&mut self, authorities: &[String], now: i64) {
        for pem in authorities {
            let certificate = Certificate::from_pem(pem.as_bytes());
            let expired = certificate.map_or(true, |it| it.validity().not_after < now);
            if !expired && !self.authorities.contains(pem) {
                self.authorities.push(pem.clone());
            }
        }
    }

    /// Replaces the serving certificate.
    fn issue(&mut self, names: &[String], now: i64) -> Result<(), CertificateError> {
        let authority = self.authority()?;
        let key_pem = new_key()?.serialize_pem();
        let key = SigningKey::from_pem(key_pem.as_bytes())?;
        let wanted = validity(SERVING_LIFETIME, now);
        let certificate = authority.issue(&Template {
            subject: &Name::new("webhook", [""; 0]),
            alt_names: &AltNames {
                dns: names.to_vec(),
                ..AltNames::default()
            },
            public_key: &PublicKey::from_der(key.public_key_der())?,
            validity: Validity {
                not_after: wanted
                    .not_after
                    .min(authority.certificate().validity().not_after),
                ..wanted
            },
            key_usage: KeyUsage::DIGITAL_SIGNATURE,
            extended_key_usages: vec![ExtendedKeyUsage::ServerAuth],
        })?;
        self.certificate = certificate.to_pem();
        self.key = key_pem;
        Ok(())
    }
}

/// Splits a bundle into its certificates.
pub(super) fn certificates(bundle: &[u8]) -> Vec<String> {
    pem::blocks(bundle)
        .filter(|block| block.label == "CERTIFICATE")
        .map(|block| pem::encode(&block.label, &block.contents))
        .collect()
}

/// Reports whether two thirds of a lifetime have passed, or none of it.
fn is_due(validity: Validity, now: i64) -> bool {
    if now < validity.not_before {
        return true;
    }
    let lifetime = validity.not_after.saturating_sub(validity.not_before);
    now >= validity.not_before.saturating_add(lifetime / 3 * 2)
}

fn validity(lifetime: Duration, now: i64) -> Validity {
    Validity {
        not_before: now.saturating_sub_unsigned(BACKDATE.as_secs()),
        not_after: now.saturating_add_unsigned(lifetime.as_secs()),
    }
}

/// Returns a new authority and its key. Its name contains the time, so that authorities have different names.
fn new_authority(now: i64) -> Result<(String, String), CertificateError> {
    let key = new_key()?;
    let time = |second: i64| {
        let since_1970 = Duration::from_secs(u64::try_from(second).unwrap_or_default());
        std::time::UNIX_EPOCH + since_1970
    };
    let Validity {
        not_before,
        not_after,
    } = validity(AUTHORITY_LIFETIME, now);
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    let name = format!("webhook-ca@{now}");
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = time(not_before).into();
    params.not_after = time(not_after).into();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyCertSign,
    ];
    let certificate = params.self_signed(&key).map_err(failed)?;
    let certificate = Certificate::from_der(certificate.der())?;
    Ok((certificate.to_pem(), key.serialize_pem()))
}

fn new_key() -> Result<KeyPair, CertificateError> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(failed)
}

fn failed(error: rcgen::Error) -> CertificateError {
    CertificateError::Generate(error.to_string())
}
