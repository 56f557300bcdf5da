//! [`WebhookCertificates`]: where the certificate of an operator's webhooks comes from.

use crate::Error;

use super::PROJECT_FILE;

/// The source of the certificate that a deployed operator serves its webhooks with.
///
/// ```
/// use kubewright_scaffold::WebhookCertificates;
///
/// assert_eq!(WebhookCertificates::default(), WebhookCertificates::Operator);
/// assert_eq!(WebhookCertificates::parse("cert-manager")?, WebhookCertificates::CertManager);
/// assert!(WebhookCertificates::parse("luck").is_err());
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WebhookCertificates {
    /// The operator issues it, keeps it in a Secret, and sets the `caBundle`.
    #[default]
    Operator,
    /// cert-manager issues it and sets the `caBundle`.
    CertManager,
    /// A Secret from another source is mounted. The `caBundle` is part of an overlay.
    Files,
}

impl WebhookCertificates {
    /// Returns the source with a name: `operator`, `cert-manager` or `files`.
    ///
    /// # Errors
    ///
    /// Fails if there is none with that name.
    pub fn parse(name: &str) -> Result<Self, Error> {
        match name {
            "operator" => Ok(Self::Operator),
            "cert-manager" => Ok(Self::CertManager),
            "files" => Ok(Self::Files),
            _ => Err(Error::new(
                format_args!("\"webhook_certificates\" in {PROJECT_FILE} is {name:?}"),
                "use \"operator\", \"cert-manager\" or \"files\"",
            )),
        }
    }
}
