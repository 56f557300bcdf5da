//! [`Files`]: a certificate in files that another program replaces.

use std::{path::PathBuf, time::Duration};

use super::{CertificateError, Presented, ReadMetrics};

/// The polling interval, which is that of controller-runtime.
const INTERVAL: Duration = Duration::from_secs(10);

/// The files of a certificate and its key.
#[derive(Clone, Debug)]
pub(super) struct Files {
    directory: PathBuf,
    pub(super) certificate: String,
    pub(super) key: String,
}

impl Files {
    /// Returns the files of a mounted TLS Secret.
    pub(super) fn of(directory: PathBuf) -> Self {
        Self {
            directory,
            certificate: "tls.crt".to_owned(),
            key: "tls.key".to_owned(),
        }
    }

    /// Reads a certificate and its key.
    pub(super) async fn read(&self) -> Result<(Vec<u8>, Vec<u8>), CertificateError> {
        let read = async |file: &str| {
            let content = tokio::fs::read(self.directory.join(file)).await;
            content.map_err(|source| CertificateError::File {
                directory: self.directory.display().to_string(),
                file: file.to_owned(),
                source,
            })
        };
        Ok((read(&self.certificate).await?, read(&self.key).await?))
    }

    /// Polls the files forever. The old certificate stays in use while the new one is unusable, for example because only one of
    /// the files has been written.
    pub(super) async fn follow(&self, presented: &Presented, metrics: &ReadMetrics) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            let replaced = match self.read().await {
                Ok((certificate, key)) => presented.replace(&certificate, &key),
                Err(error) => Err(error),
            };
            match metrics.count(replaced) {
                Ok(true) => {
                    tracing::info!(directory = %self.directory.display(), "certificate replaced");
                }
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "cannot replace the certificate"),
            }
        }
    }
}
