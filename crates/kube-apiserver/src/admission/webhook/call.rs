//! One call of a webhook, from the review to a verified response.

use std::time::Duration;

use bytes::Bytes;
use kubewright_apiserver::{random_uid, request::Warnings};
use kubewright_machinery::{Status, go, status};
use tokio::time::Instant;

use super::{
    denial,
    hook::{DryRun, Hook},
    review::{self, Response, Role},
};
use crate::{
    admission::{
        matching::{Match, Request},
        versioned::{Versioned, request_value},
    },
    outgoing::{self, Outgoing},
};

/// The outcome of a call that does not allow the request.
#[derive(Debug)]
pub(super) enum CallError {
    /// The webhook gave no answer that counts, so its failure policy decides. `code` is that of the metrics.
    Failed { reason: String, code: u16 },
    /// The webhook denied the request.
    Denied(Status),
    /// The server cannot continue, regardless of the failure policy.
    Internal(Status),
}

impl CallError {
    pub(super) fn failed(reason: impl Into<String>, code: u16) -> Self {
        Self::Failed {
            reason: reason.into(),
            code,
        }
    }

    /// Returns the code that metrics count.
    pub(super) fn code(&self) -> u16 {
        match self {
            Self::Failed { code, .. } => *code,
            Self::Denied(status) => status.code,
            Self::Internal(_) => 0,
        }
    }

    /// Returns the answer to the client, for a webhook whose failure fails the request.
    pub(super) fn into_status(self, hook: &Hook) -> Status {
        match self {
            Self::Failed { reason, .. } => status::internal(format!(
                "failed calling webhook {}: {reason}",
                go::quote(&hook.name)
            )),
            Self::Denied(status) | Self::Internal(status) => status,
        }
    }
}

/// Calls a webhook with the objects in the version that it asks for. Its annotations go to the request.
pub(super) async fn call(
    outgoing: &Outgoing,
    hook: &Hook,
    request: &Request<'_>,
    matched: &Match,
    objects: &Versioned,
    role: Role,
    warnings: &Warnings,
) -> Result<Response, CallError> {
    if request.attributes.dry_run {
        match hook.dry_run {
            DryRun::Supported => {}
            DryRun::Unknown => return Err(CallError::failed("Webhook SideEffects is nil", 400)),
            DryRun::Unsupported => {
                let name = go::quote(&hook.name);
                let text = format!("admission webhook {name} does not support dry run");
                return Err(CallError::Internal(status::bad_request(text)));
            }
        }
    }
    let version = hook.review.ok_or_else(|| {
        let text = "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)";
        CallError::failed(text, 400)
    })?;
    outgoing.check(&hook.endpoint).map_err(|e| {
        let text = format!("could not get REST client: {e}");
        CallError::failed(text, 500)
    })?;
    let uid = random_uid();
    let fields = request_value(request, matched);
    let (object, old) = (objects.object.as_ref(), objects.old.as_ref());
    let document = Bytes::from(review::document(version, &uid, fields, object, old));
    let within = time_left(request, hook.timeout);
    let answer = outgoing.post(&hook.endpoint, document, within).await;
    let answer = answer.map_err(|e| (e, 503)).and_then(|answer| {
        let failed = |e: String| match answer.status.is_success() {
            true => (e, 503),
            false => (e, answer.status.as_u16()),
        };
        let decoded = outgoing::decode(&answer).map_err(failed)?;
        review::decode(decoded, version).map_err(failed)
    });
    let review = answer
        .map_err(|(e, code)| CallError::failed(format!("failed to call webhook: {e}"), code))?;
    let response = review::verify(&review, version, &uid, role)
        .map_err(|e| CallError::failed(format!("received invalid webhook response: {e}"), 503))?;
    let cx = request.cx;
    for (key, value) in &response.annotations {
        let key = format!("{}/{key}", hook.name);
        cx.annotations.add(&key, || value.clone());
    }
    warnings.extend(response.warnings.iter().cloned());
    match response.allowed {
        true => Ok(response),
        false => Err(CallError::Denied(denial::status(
            &hook.name,
            &response.status,
        ))),
    }
}

/// Returns the time that a call may take: its own limit, and no longer than the request.
fn time_left(request: &Request<'_>, limit: Duration) -> Duration {
    match request.cx.deadline {
        Some(deadline) => deadline
            .saturating_duration_since(Instant::now())
            .min(limit),
        None => limit,
    }
}

/// Reports whether the time of the request is up.
pub(super) fn is_over(request: &Request<'_>) -> bool {
    let deadline = request.cx.deadline;
    deadline.is_some_and(|deadline| deadline <= Instant::now())
}

/// Returns the answer to a request whose time is up.
pub(super) fn timed_out() -> Status {
    status::timeout(
        "Timeout: request did not complete within requested timeout",
        0,
    )
}
