//! [`Presented`]: the certificate that a server currently presents.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use kubewright_serve::Tls;
use kubewright_x509::{Certificate, Validity};
use parking_lot::Mutex;

use super::CertificateError;

/// The certificate that a server currently presents. Existing connections keep an older one.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use kubewright_webhook::Certificates;
/// # let key = rcgen::KeyPair::generate().unwrap();
/// # let certificate = rcgen::CertificateParams::default().self_signed(&key).unwrap();
/// # let (certificate, key) = (certificate.pem(), key.serialize_pem());
///
/// let presented = Certificates::pem(certificate, key).obtain().await.unwrap();
/// let tls = presented.tls();
/// # let _ = tls;
/// # });
/// ```
pub struct Presented {
    tls: Tls,
    current: Mutex<Current>,
    /// The lead of the clients over the clock of this machine, in seconds.
    ahead: AtomicI64,
}

struct Current {
    certificate: Vec<u8>,
    key: Vec<u8>,
    validity: Validity,
}

impl Presented {
    pub(super) fn new(certificate: &[u8], key: &[u8]) -> Result<Self, CertificateError> {
        Ok(Self {
            tls: Tls::from_pem(certificate, key)?,
            current: Mutex::new(Current::new(certificate, key)?),
            ahead: AtomicI64::new(0),
        })
    }

    /// Replaces the certificate. Returns whether it changed.
    pub(super) fn replace(&self, certificate: &[u8], key: &[u8]) -> Result<bool, CertificateError> {
        let mut current = self.current.lock();
        if current.certificate == certificate && current.key == key {
            return Ok(false);
        }
        let next = Current::new(certificate, key)?;
        self.tls.replace_certificate(certificate, key)?;
        *current = next;
        Ok(true)
    }

    /// Returns the certificate as PEM.
    pub fn certificate(&self) -> Vec<u8> {
        self.current.lock().certificate.clone()
    }

    /// Returns the TLS configuration, which always uses the current certificate.
    pub fn tls(&self) -> Tls {
        self.tls.clone()
    }

    /// Sets how far the clients are ahead of the clock of this machine, in seconds.
    pub(super) fn set_ahead(&self, seconds: i64) {
        self.ahead.store(seconds, Relaxed);
    }

    /// Checks whether clients accept the certificate at a time of this machine, in seconds since 1970.
    ///
    /// # Errors
    ///
    /// Returns the reason.
    pub fn check(&self, now: i64) -> Result<(), String> {
        let validity = self.current.lock().validity;
        match now.saturating_add(self.ahead.load(Relaxed)) {
            now if now < validity.not_before => Err("the certificate is not valid yet".to_owned()),
            now if now > validity.not_after => Err("the certificate has expired".to_owned()),
            _ => Ok(()),
        }
    }
}

impl Current {
    fn new(certificate: &[u8], key: &[u8]) -> Result<Self, CertificateError> {
        Ok(Self {
            validity: Certificate::from_pem(certificate)?.validity(),
            certificate: certificate.to_vec(),
            key: key.to_vec(),
        })
    }
}
