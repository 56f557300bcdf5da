//! [`Certificates`]: where the certificate of a webhook server comes from, and how it is replaced.

mod bundles;
mod files;
mod issue;
mod managed;
mod metrics;
mod presented;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use kubewright_serve::TlsError;

pub use managed::ManagedCertificates;
pub(crate) use metrics::ReadMetrics;
pub use presented::Presented;

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
pub struct Certificates {
    source: Source,
    metrics: ReadMetrics,
}

#[derive(Clone, Debug)]
enum Source {
    Directory(PathBuf),
    Managed(Box<ManagedCertificates>),
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
    /// A certificate could not be generated.
    #[error("a certificate cannot be generated: {0}")]
    Generate(String),
    /// The Secret that holds the certificate cannot be read or written.
    #[error("the Secret {name} cannot be used: {source}")]
    Secret {
        /// The namespace and the name of the Secret.
        name: String,
        /// The error of the request.
        source: Box<kube::Error>,
    },
    /// Others wrote the Secret again and again.
    #[error("the Secret {0} was changed by others each time it was written")]
    Contended(String),
}

impl Certificates {
    /// Takes the certificate `tls.crt` and the key `tls.key` of a directory, the file names of a mounted TLS Secret. They are
    /// read again every ten seconds.
    pub fn directory(path: impl Into<PathBuf>) -> Self {
        Self::of(Source::Directory(path.into()))
    }

    /// Issues certificates and keeps them in a Secret. They are replaced before they expire.
    pub fn managed(managed: ManagedCertificates) -> Self {
        Self::of(Source::Managed(Box::new(managed)))
    }

    /// Takes a PEM certificate chain and its PEM key, which never change.
    pub fn pem(certificate: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        Self::of(Source::Pem {
            certificate: certificate.into(),
            key: key.into(),
        })
    }

    fn of(source: Source) -> Self {
        Self {
            source,
            metrics: ReadMetrics::default(),
        }
    }

    /// Counts reads in these metrics.
    pub(crate) fn with_metrics(mut self, metrics: &ReadMetrics) -> Self {
        self.metrics = metrics.clone();
        if let Source::Managed(managed) = &mut self.source {
            managed.metrics = metrics.clone();
        }
        self
    }

    /// Returns the first certificate, for a server of one's own. [`keep`](Self::keep) replaces it later.
    ///
    /// # Errors
    ///
    /// Fails if the certificate cannot be read or used.
    pub async fn obtain(&self) -> Result<Presented, CertificateError> {
        match &self.source {
            Source::Directory(path) => {
                let read = files::read(path).await;
                let presented =
                    read.and_then(|(certificate, key)| Presented::new(&certificate, &key));
                self.metrics.count(presented)
            }
            Source::Managed(managed) => managed.obtain().await,
            Source::Pem { certificate, key } => Presented::new(certificate, key),
        }
    }

    /// Replaces the certificate whenever there is a new one. Does not end.
    pub async fn keep(&self, presented: &Presented) {
        match &self.source {
            Source::Directory(path) => files::follow(path, presented, &self.metrics).await,
            Source::Managed(managed) => managed.keep(presented).await,
            Source::Pem { .. } => std::future::pending().await,
        }
    }
}
