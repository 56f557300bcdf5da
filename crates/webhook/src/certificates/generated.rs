//! Certificates that clients do not verify.

use std::time::Duration;

use jiff::Timestamp;

use super::{CertificateError, Presented, issue::Issued};

/// The interval of replacements, well within the lifetime of a certificate.
const INTERVAL: Duration = Duration::from_secs(30 * 24 * 3600);

/// Issues a certificate.
pub(super) fn issue(names: &[String]) -> Result<Presented, CertificateError> {
    let issued = new(names)?;
    Presented::new(issued.certificate.as_bytes(), issued.key.as_bytes())
}

/// Replaces the certificate before it expires. Never returns.
pub(super) async fn keep(names: &[String], presented: &Presented) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let replaced = new(names).and_then(|issued| {
            presented.replace(issued.certificate.as_bytes(), issued.key.as_bytes())
        });
        if let Err(error) = replaced {
            tracing::warn!(%error, "cannot replace the generated certificate");
        }
    }
}

fn new(names: &[String]) -> Result<Issued, CertificateError> {
    Issued::new(names, &[], Timestamp::now().as_second())
}
