//! [`AdmissionResponse`]: the response to a review.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use kubewright_machinery::{
    Status,
    status::{Details, Reason},
};
use serde::Serialize;

use crate::patch::PatchOperation;

/// The response to an admission review. [`Handler`](crate::Handler)s return it; defaulters and validators do not need it.
///
/// ```
/// use kubewright_webhook::AdmissionResponse;
///
/// let response = AdmissionResponse::denied("no ship leaves on a Friday").warning("the harbour closes soon");
/// assert!(!response.is_allowed());
/// assert_eq!(response.code(), 403);
/// assert_eq!(response.warnings(), ["the harbour closes soon"]);
/// ```
#[derive(Clone, Debug)]
pub struct AdmissionResponse {
    allowed: bool,
    /// The reason of a rejection.
    status: Option<Box<Status>>,
    patch: Vec<PatchOperation>,
    warnings: Vec<String>,
    audit_annotations: BTreeMap<String, String>,
}

impl AdmissionResponse {
    /// Allows the request.
    pub fn allowed() -> Self {
        Self {
            allowed: true,
            status: None,
            patch: Vec::new(),
            warnings: Vec::new(),
            audit_annotations: BTreeMap::new(),
        }
    }

    /// Allows the request and changes the object. Only valid for mutating webhooks.
    pub fn patched(patch: Vec<PatchOperation>) -> Self {
        Self {
            patch,
            ..Self::allowed()
        }
    }

    /// Rejects the request with 403 and a message.
    pub fn denied(message: impl Into<String>) -> Self {
        let mut status = Status::failure(403, Reason::Forbidden, message);
        status.status.clear();
        Self::rejected(status)
    }

    /// Rejects the request with an HTTP status code and a message, for requests that cannot be handled.
    pub fn errored(code: u16, message: impl Into<String>) -> Self {
        let mut status = Status::failure(code, Reason::Unknown, message);
        status.status.clear();
        Self::rejected(status)
    }

    /// Rejects the request with a status, whose code, reason and details are passed on to the client.
    pub fn rejected(status: Status) -> Self {
        Self {
            allowed: false,
            status: Some(Box::new(status)),
            ..Self::allowed()
        }
    }

    /// Adds a warning, which the user sees whether or not the request is allowed.
    #[must_use]
    pub fn warning(mut self, text: impl Into<String>) -> Self {
        self.warnings.push(text.into());
        self
    }

    /// Adds an annotation of the audit event, whose key the server prefixes with the name of the webhook.
    #[must_use]
    pub fn audit_annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.audit_annotations.insert(key.into(), value.into());
        self
    }

    /// Reports whether the request is allowed.
    pub fn is_allowed(&self) -> bool {
        self.allowed
    }

    /// Returns the HTTP status code: 200 unless the request is rejected.
    pub fn code(&self) -> u16 {
        let code = self.status.as_ref().map_or(0, |status| status.code);
        if code == 0 { 200 } else { code }
    }

    /// Returns the status of a rejection.
    pub fn status(&self) -> Option<&Status> {
        self.status.as_deref()
    }

    /// Returns the changes of the object.
    pub fn patch(&self) -> &[PatchOperation] {
        &self.patch
    }

    /// Returns the warnings.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'static str>,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    status: Outcome<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    audit_annotations: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
}

/// A status inside a review, which has neither kind nor version.
#[derive(Serialize)]
struct Outcome<'a> {
    metadata: Empty,
    #[serde(skip_serializing_if = "str::is_empty")]
    status: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Details>,
    code: u16,
}

#[derive(Serialize)]
struct Empty {}

/// Encodes the review that responds to `uid`. The response to a body that is not a review has no version.
pub(crate) fn encode(
    response: &AdmissionResponse,
    uid: &str,
    api_version: Option<&'static str>,
) -> Bytes {
    let status = response.status();
    let text = |of: fn(&Status) -> &str| status.map_or("", of);
    let patch = match response.patch.is_empty() {
        true => None,
        false => serde_json::to_vec(&response.patch).ok(),
    };
    let review = Review {
        kind: api_version.map(|_| "AdmissionReview"),
        api_version,
        response: Response {
            uid,
            allowed: response.allowed,
            status: Outcome {
                metadata: Empty {},
                status: text(|status| &status.status),
                message: text(|status| &status.message),
                reason: text(|status| match status.reason.is_unknown() {
                    true => "",
                    false => status.reason.as_str(),
                }),
                details: status.and_then(|status| status.details.as_deref()),
                code: response.code(),
            },
            patch_type: patch.as_ref().map(|_| "JSONPatch"),
            patch: patch.map(|patch| STANDARD.encode(patch)),
            audit_annotations: &response.audit_annotations,
            warnings: &response.warnings,
        },
    };
    let mut body = serde_json::to_vec(&review).unwrap_or_default();
    body.push(b'\n');
    body.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(response: &AdmissionResponse, version: Option<&'static str>) -> String {
        String::from_utf8(encode(response, "u", version).to_vec()).unwrap()
    }

    #[test]
    fn responses_equal_those_of_controller_runtime() {
        assert_eq!(
            text(&AdmissionResponse::allowed(), Some("admission.k8s.io/v1")),
            concat!(
                r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","#,
                r#""response":{"uid":"u","allowed":true,"status":{"metadata":{},"code":200}}}"#,
                "\n"
            )
        );
        let denied = AdmissionResponse::denied("no").warning("careful");
        assert_eq!(
            text(&denied, None),
            concat!(
                r#"{"response":{"uid":"u","allowed":false,"status":{"metadata":{},"message":"no","#,
                r#""reason":"Forbidden","code":403},"warnings":["careful"]}}"#,
                "\n"
            )
        );
        let errored = AdmissionResponse::errored(400, "what?");
        assert!(text(&errored, None).contains(r#"{"metadata":{},"message":"what?","code":400}"#));
    }

    #[test]
    fn a_patch_is_encoded_with_its_type() {
        let patch = PatchOperation::Remove { path: "/a".into() };
        let text = text(&AdmissionResponse::patched(vec![patch]), None);
        let encoded = STANDARD.encode(r#"[{"op":"remove","path":"/a"}]"#);
        let expected = format!(r#""patch":"{encoded}","patchType":"JSONPatch""#);
        assert!(text.contains(&expected), "{text}");
    }
}
