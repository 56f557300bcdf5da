//! `certificatesigningrequest-cleaner-controller`: deletes requests that are no longer needed.
//!
//! kube-controller-manager checks once an hour; here every request is checked when it expires.

use std::time::Duration;

use k8s_openapi::{
    api::certificates::v1::CertificateSigningRequest, apimachinery::pkg::apis::meta::v1::Time,
};
use kubewright_controller::{Action, Context, Controller, Manager, ManagerError, Request, Result};
use kubewright_x509::Certificate;

use super::{APPROVED, DENIED, FAILED, is_issued, watch};
use crate::names::Name;

const HOUR: i64 = 3600;
/// The time that a request with an outcome is kept: issued, denied or failed.
const KEEP_DECIDED: i64 = HOUR;
/// The time that a request without an outcome is kept: pending, or approved and not issued.
const KEEP_UNDECIDED: i64 = 24 * HOUR;

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    Controller::builder()
        .named(Name::RequestCleaner.as_str())
        .watch(watch())
        .build(manager, reconcile)?;
    Ok(())
}

async fn reconcile(context: Context, request: Request) -> Result<Action> {
    let csr: Option<CertificateSigningRequest> = context.client().get_live(request.key()).await?;
    let Some(csr) = csr else {
        return Ok(Action::done());
    };
    let Some(end) = end(&csr) else {
        return Ok(Action::done());
    };
    let left = end.saturating_sub(context.now().as_second());
    if let Ok(left @ 0..) = u64::try_from(left) {
        // It is over after that second.
        return Ok(Action::requeue_after(Duration::from_secs(left + 1)));
    }
    tracing::info!(
        csr = request.name(),
        "deleting a certificate signing request whose time is over"
    );
    match context.client().delete(&csr).await {
        Err(error) if error.is_conflict() => Ok(Action::done()),
        deleted => Ok(deleted.map(|_| Action::done())?),
    }
}

/// Returns the last second in which a request is kept, if it has an end.
fn end(csr: &CertificateSigningRequest) -> Option<i64> {
    let status = csr.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref());
    let conditions = conditions.unwrap_or_default();
    if conditions.is_empty() {
        return after(csr.metadata.creation_timestamp.as_ref(), KEEP_UNDECIDED);
    }
    let ends = conditions.iter().filter_map(|condition| {
        let since = condition.last_update_time.as_ref();
        match condition.type_.as_str() {
            DENIED | FAILED => after(since, KEEP_DECIDED),
            APPROVED if is_issued(csr) => [after(since, KEEP_DECIDED), expiry(csr)]
                .into_iter()
                .flatten()
                .min(),
            APPROVED => after(since, KEEP_UNDECIDED),
            _ => None,
        }
    });
    ends.min()
}

fn after(since: Option<&Time>, seconds: i64) -> Option<i64> {
    since.map(|Time(since)| since.as_second().saturating_add(seconds))
}

/// Returns the last second in which the certificate is valid.
fn expiry(csr: &CertificateSigningRequest) -> Option<i64> {
    let certificate = csr.status.as_ref()?.certificate.as_ref()?;
    let certificate = Certificate::from_pem(&certificate.0).ok()?;
    Some(certificate.validity().not_after)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn end_of(status: Value) -> Option<i64> {
        let csr = json!({
            "metadata": {"creationTimestamp": "1970-01-01T00:00:10Z"},
            "spec": {"request": "", "signerName": "s"}, "status": status,
        });
        end(&serde_json::from_value(csr).unwrap())
    }

    fn condition(kind: &str) -> Value {
        json!({"type": kind, "status": "True", "lastUpdateTime": "1970-01-01T00:01:00Z"})
    }

    #[test]
    fn the_end_depends_on_the_outcome() {
        let with = |kind: &str, certificate: &str| {
            end_of(json!({"conditions": [condition(kind)], "certificate": certificate}))
        };
        assert_eq!(end_of(json!({})), Some(10 + 24 * HOUR));
        assert_eq!(with(DENIED, ""), Some(60 + HOUR));
        assert_eq!(with(FAILED, ""), Some(60 + HOUR));
        assert_eq!(with(APPROVED, ""), Some(60 + 24 * HOUR));
        assert_eq!(with(APPROVED, "eA=="), Some(60 + HOUR));
        assert_eq!(with("Odd", ""), None);
    }

    #[test]
    fn the_first_end_of_several_counts() {
        let conditions = json!([condition(APPROVED), condition(FAILED)]);
        assert_eq!(end_of(json!({"conditions": conditions})), Some(60 + HOUR));
    }
}
