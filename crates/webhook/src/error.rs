//! Errors of defaulters and validators, and their responses.

use kubewright_client::{BoxError, find_source};
use kubewright_controller::ReadError;
use kubewright_machinery::{
    Status,
    gvk::GroupKind,
    status::{self, Reason},
};

use crate::{
    FieldErrors,
    review::{AdmissionRequest, AdmissionResponse},
};

/// The server has no client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this webhook server has no client: run it with a manager, or give it one")]
pub struct NoClient;

/// Returns the response for an error of a defaulter or validator.
///
/// Field errors become a 422 with causes, and a status is passed on. Errors that are not about the object, such as a failed read
/// from a cache, become a 500. Every other error denies the request with its message.
pub(crate) fn rejection(error: &BoxError, request: &AdmissionRequest<'_>) -> AdmissionResponse {
    let error = &**error as &(dyn std::error::Error + 'static);
    if let Some(errors) = find_source::<FieldErrors>(error) {
        let kind = request.kind();
        let kind = GroupKind::new(&*kind.group, &*kind.kind);
        let name = request.name().unwrap_or_default();
        let invalid = status::invalid(&kind, name, errors.as_slice());
        return AdmissionResponse::rejected(invalid);
    }
    if let Some(status) = find_source::<Status>(error) {
        return AdmissionResponse::rejected(status.clone());
    }
    if let Some(status) = kubewright_client::api_status(error) {
        return AdmissionResponse::rejected(passed_on(status));
    }
    let internal = find_source::<ReadError>(error).is_some()
        || find_source::<NoClient>(error).is_some()
        || find_source::<kubewright_client::Error>(error).is_some()
        || find_source::<kube::Error>(error).is_some();
    match internal {
        true => AdmissionResponse::rejected(status::internal(error)),
        false => AdmissionResponse::denied(error.to_string()),
    }
}

/// Returns the parts of a status that clients use.
fn passed_on(status: &kube::core::Status) -> Status {
    let same = serde_json::to_value(status).ok();
    let same = same.and_then(|mut value| {
        value["kind"] = "Status".into();
        value["apiVersion"] = "v1".into();
        serde_json::from_value(value).ok()
    });
    same.unwrap_or_else(|| {
        let reason = Reason::from(status.reason.as_str());
        Status::failure(status.code, reason, &*status.message)
    })
}

/// An error in the configuration of webhooks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// Two webhooks have the same path.
    #[error("two webhooks have the path {0}: give one of them another")]
    Duplicate(String),
    /// A path has characters that are not allowed.
    #[error("the path {0:?} does not match ^((/[a-zA-Z0-9-_]+)+|/)$")]
    Path(String),
}
