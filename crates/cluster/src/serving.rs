//! [`ServingCertificate`]: the certificate of an endpoint.

use std::{fs, path::PathBuf, time::Duration};

use kubewright_serve::Tls;

use crate::{CertifiedKey, Error};

/// The interval at which certificate files are checked for changes.
const RELOAD_INTERVAL: Duration = Duration::from_secs(10);

/// The serving certificate of a cluster.
///
/// ```
/// use kubewright_cluster::{Cluster, ServingCertificate};
///
/// let builder = Cluster::builder().serving_certificate(ServingCertificate::Files {
///     certificate: "apiserver.crt".into(),
///     key: "apiserver.key".into(),
/// });
/// # let _ = builder;
/// ```
#[derive(Clone, Debug, Default)]
pub enum ServingCertificate {
    /// A certificate for the address, signed by the cluster's authority.
    #[default]
    Generated,
    /// This certificate, followed by any intermediate certificates.
    Pem(CertifiedKey),
    /// The certificate in these PEM files. After they change, new connections use the new certificate.
    Files {
        /// The file of the certificate chain.
        certificate: PathBuf,
        /// The file of the private key.
        key: PathBuf,
    },
}

impl ServingCertificate {
    /// Returns the configured certificate, or `None` if one has to be generated.
    pub(crate) fn read(&self) -> Result<Option<CertifiedKey>, Error> {
        let file = |path: &PathBuf| -> Result<String, Error> {
            fs::read_to_string(path).map_err(|source| Error::ReadFile {
                path: path.clone(),
                source,
            })
        };
        match self {
            Self::Generated => Ok(None),
            Self::Pem(own) => Ok(Some(own.clone())),
            Self::Files { certificate, key } => Ok(Some(CertifiedKey {
                certificate_pem: file(certificate)?,
                key_pem: file(key)?,
            })),
        }
    }

    /// Replaces the certificate whenever its files change. Invalid files are ignored.
    pub(crate) async fn keep_current(self, tls: Tls, mut last: CertifiedKey) {
        loop {
            tokio::time::sleep(RELOAD_INTERVAL).await;
            let current = match self.read() {
                Ok(Some(current)) if current != last => current,
                Ok(_) => continue,
                Err(error) => {
                    tracing::warn!(%error, "cannot reload the serving certificate");
                    continue;
                }
            };
            let (chain, key) = (&current.certificate_pem, &current.key_pem);
            match tls.replace_certificate(chain.as_bytes(), key.as_bytes()) {
                Ok(()) => tracing::info!("serving certificate reloaded"),
                Err(error) => tracing::warn!(%error, "cannot use the new serving certificate"),
            }
            last = current;
        }
    }
}
