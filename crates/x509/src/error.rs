//! [`Error`].

/// A document that cannot be read, a signature that does not verify, or a certificate that cannot be issued.
///
/// The text is that of Go's `crypto/x509`, which the API server of Kubernetes shows:
///
/// ```
/// use kubewright_x509::CertificateRequest;
///
/// let error = CertificateRequest::from_der(&[0x30, 0x05, 0x02]).unwrap_err();
/// assert_eq!(error.to_string(), "asn1: syntax error: data truncated");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns an error about bytes that are not ASN.1.
    pub(crate) fn syntax(text: &str) -> Self {
        Self(format!("asn1: syntax error: {text}"))
    }

    /// Returns an error about ASN.1 of another type.
    pub(crate) fn structure(text: impl std::fmt::Display) -> Self {
        Self(format!("asn1: structure error: {text}"))
    }
}
