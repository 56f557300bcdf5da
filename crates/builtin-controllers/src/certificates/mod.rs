//! Certificate signing requests: approval for kubelets, signing, and removal of old requests.
//!
//! | module | controller |
//! |---|---|
//! | `approving` | approves requests of kubelets for client certificates, if they may have one |
//! | `signing` | issues certificates for approved requests, by the rules in `signers` and `policy` |
//! | `cleaning` | deletes requests that are no longer needed |

mod approving;
mod cleaning;
mod policy;
mod signers;
mod signing;

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kubewright_controller::{Error, Handler, Result, Watch};
use kubewright_x509::CertificateRequest;

pub(crate) use approving::add_to as add_approving_to;
pub(crate) use cleaning::add_to as add_cleaning_to;
pub(crate) use signing::add_to as add_signing_to;

/// The types of the conditions that the API server knows.
const APPROVED: &str = "Approved";
const DENIED: &str = "Denied";
const FAILED: &str = "Failed";

/// Watches all requests. They are read from the server when they are worked on.
fn watch() -> Watch {
    Watch::of::<CertificateSigningRequest>(Handler::for_object()).metadata_only()
}

fn has_condition(csr: &CertificateSigningRequest, kind: &str) -> bool {
    let status = csr.status.iter();
    let mut conditions = status.flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == kind)
}

fn is_issued(csr: &CertificateSigningRequest) -> bool {
    let certificate = csr.status.as_ref().and_then(|s| s.certificate.as_ref());
    certificate.is_some_and(|certificate| !certificate.0.is_empty())
}

/// Reads the encoded request. The server has verified it, so an error is not retried.
fn parse(csr: &CertificateSigningRequest) -> Result<CertificateRequest> {
    let request = CertificateRequest::from_pem(&csr.spec.request.0);
    Ok(request.map_err(Error::terminal)?)
}

fn usages(csr: &CertificateSigningRequest) -> Vec<&str> {
    let usages = csr.spec.usages.iter().flatten();
    usages.map(String::as_str).collect()
}
