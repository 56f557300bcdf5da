//! Certificates in files, which others replace.

use std::{path::Path, time::Duration};

use super::{CertificateError, Presented, ReadMetrics};

/// The file names of a mounted TLS Secret.
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";

/// The time between two looks at the files, as in controller-runtime.
const INTERVAL: Duration = Duration::from_secs(10);

/// Reads a certificate and its key.
pub(super) async fn read(directory: &Path) -> Result<(Vec<u8>, Vec<u8>), CertificateError> {
    let read = async |file: &'static str| {
        let content = tokio::fs::read(directory.join(file)).await;
        content.map_err(|source| CertificateError::File {
            directory: directory.display().to_string(),
            file,
            source,
        })
    };
    Ok((read(CERTIFICATE).await?, read(KEY).await?))
}

/// Looks for other contents for ever. The old certificate stays in use while the new one is not usable, for
/// example because only one of the files has been written.
pub(super) async fn follow(directory: &Path, presented: &Presented, metrics: &ReadMetrics) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let replaced = match read(directory).await {
            Ok((certificate, key)) => presented.replace(&certificate, &key),
            Err(error) => Err(error),
        };
        match metrics.count(replaced) {
            Ok(true) => tracing::info!(directory = %directory.display(), "certificate replaced"),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "cannot replace the certificate"),
        }
    }
}
