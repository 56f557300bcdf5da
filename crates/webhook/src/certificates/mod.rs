//! [`Certificates`]: the source of a webhook server's certificate, and its replacement.

mod bundles;
mod files;
mod generated;
mod issue;
mod managed;
mod metrics;
mod presented;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use files::Files;
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
    Directory(Files),
    Managed(Box<ManagedCertificates>),
    Pem { certificate: Vec<u8>, key: Vec<u8> },
    Generated(Vec<String>),
}

/// An unusable certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("the certificate in {directory} cannot be used: {file}: {source}")]
    File {
        /// The directory.
        directory: String,
        /// The name of the file.
        file: String,
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
    /// The Secret was modified concurrently at every attempt.
    #[error("the Secret {0} was modified concurrently at every attempt to write it")]
    Contended(String),
}

impl Certificates {
    /// Reads the certificate `tls.crt` and the key `tls.key` from a directory, such as a mounted TLS Secret, every ten seconds.
    pub fn directory(path: impl Into<PathBuf>) -> Self {
        Self::of(Source::Directory(Files::of(path.into())))
    }

    /// Sets the names of the files in a directory (default: `tls.crt` and `tls.key`). Other certificates are not in files.
    ///
    /// ```
    /// use kubewright_webhook::Certificates;
    ///
    /// let certificates = Certificates::directory("/etc/webhook").file_names("server.pem", "server.key");
    /// # let _ = certificates;
    /// ```
    #[must_use]
    pub fn file_names(mut self, certificate: impl Into<String>, key: impl Into<String>) -> Self {
        if let Source::Directory(files) = &mut self.source {
            files.certificate = certificate.into();
            files.key = key.into();
        }
        self
    }

    /// Issues certificates, stores them in a Secret, and replaces them before they expire.
    pub fn managed(managed: ManagedCertificates) -> Self {
        Self::of(Source::Managed(Box::new(managed)))
    }

    /// Uses a PEM certificate chain and its PEM key, which never change.
    pub fn pem(certificate: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        Self::of(Source::Pem {
            certificate: certificate.into(),
            key: key.into(),
        })
    }

    /// Issues certificates for DNS names under an authority that is not published, for clients that do not verify them. They are
    /// replaced every 30 days.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// use kubewright_webhook::Certificates;
    ///
    /// let presented = Certificates::generated(["localhost"]).obtain().await.unwrap();
    /// assert!(presented.certificate().starts_with(b"-----BEGIN CERTIFICATE-----"));
    /// # });
    /// ```
    pub fn generated<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::of(Source::Generated(
            names.into_iter().map(Into::into).collect(),
        ))
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

    /// Returns the first certificate, for use with another server. [`keep`](Self::keep) replaces it later.
    ///
    /// # Errors
    ///
    /// Fails if the certificate cannot be read or is unusable.
    pub async fn obtain(&self) -> Result<Presented, CertificateError> {
        match &self.source {
            Source::Directory(files) => {
                let read = files.read().await;
                let presented =
                    read.and_then(|(certificate, key)| Presented::new(&certificate, &key));
                self.metrics.count(presented)
            }
            Source::Managed(managed) => managed.obtain().await,
            Source::Pem { certificate, key } => Presented::new(certificate, key),
            Source::Generated(names) => generated::issue(names),
        }
    }

    /// Replaces the certificate whenever a new one is available. Never returns.
    pub async fn keep(&self, presented: &Presented) {
        match &self.source {
            Source::Directory(files) => files.follow(presented, &self.metrics).await,
            Source::Managed(managed) => managed.keep(presented).await,
            Source::Pem { .. } => std::future::pending().await,
            Source::Generated(names) => generated::keep(names, presented).await,
        }
    }
}
