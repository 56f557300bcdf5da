//! [`Certificates`]: where the certificate of a webhook server comes from, and how it is replaced.

mod files;
mod presented;

use std::path::PathBuf;

use kubewright_serve::TlsError;

pub(crate) use presented::Presented;

/// The source of a server's certificate.
///
/// ```
/// use kubewright_webhook::Certificates;
///
/// // A mounted TLS Secret, such as one of cert-manager. A new certificate is used without a restart.
/// let certificates = Certificates::directory("/tmp/k8s-webhook-server/serving-certs");
/// # let _ = certificates;
/// ```
#[derive(Clone, Debug)]
pub struct Certificates(Source);

#[derive(Clone, Debug)]
enum Source {
    Directory(PathBuf),
    Pem { certificate: Vec<u8>, key: Vec<u8> },
}

/// A certificate that a server cannot use.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("the certificate in {directory} cannot be used: {file}: {source}")]
    File {
        /// The directory.
        directory: String,
        /// The name of the file.
        file: &'static str,
        /// The error.
        source: std::io::Error,
    },
    /// The certificate or the key is not valid.
    #[error("the certificate cannot be used: {0}")]
    Tls(#[from] TlsError),
    /// The certificate cannot be parsed.
    #[error("the certificate cannot be used: {0}")]
    X509(#[from] kubewright_x509::Error),
}

impl Certificates {
    /// Takes the certificate `tls.crt` and the key `tls.key` of a directory, the file names of a mounted TLS Secret. They are
    /// read again every ten seconds.
    pub fn directory(path: impl Into<PathBuf>) -> Self {
        Self(Source::Directory(path.into()))
    }

    /// Takes a PEM certificate chain and its PEM key, which never change.
    pub fn pem(certificate: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        Self(Source::Pem {
            certificate: certificate.into(),
            key: key.into(),
        })
    }

    /// Returns the first certificate.
    pub(crate) async fn obtain(&self) -> Result<Presented, CertificateError> {
        match &self.0 {
            Source::Directory(path) => {
                let (certificate, key) = files::read(path).await?;
                Presented::new(&certificate, &key)
            }
            Source::Pem { certificate, key } => Presented::new(certificate, key),
        }
    }

    /// Replaces the certificate whenever there is a new one. Does not end.
    pub(crate) async fn keep(&self, presented: &Presented) {
        match &self.0 {
            Source::Directory(path) => files::follow(path, presented).await,
            Source::Pem { .. } => std::future::pending().await,
        }
    }
}
