//! `AdmissionReview`: the request that is sent, and the checks of the response.

use std::collections::BTreeMap;

use kubewright_catalog::generated::admission_v1::ADMISSION_REVIEW;
use kubewright_machinery::{
    go::{self, base64},
    json::Read,
};
use kubewright_schema::{Node, decode_typed};
use serde::Serialize;
use serde_json::{Map, Value};

use super::hook::ReviewVersion;
use crate::outgoing::{check_registered, excerpt, quoted_excerpt};

const GROUP: &str = "admission.k8s.io";
const KIND: &str = "AdmissionReview";

/// The role of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Mutating,
    Validating,
}

/// A response that is as it must be.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Response {
    pub(super) allowed: bool,
    /// The `Status` of a denial, or `null`.
    pub(super) status: Value,
    pub(super) patch: Vec<u8>,
    pub(super) patch_type: String,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) warnings: Vec<String>,
}

/// Returns the document that is sent. `request` has all fields but the uid and the objects.
pub(super) fn document(
    version: ReviewVersion,
    uid: &str,
    request: Map<String, Value>,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Vec<u8> {
    /// Objects may be large: they are written where they are.
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Review<'a> {
        kind: &'a str,
        api_version: String,
        request: Request<'a>,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Request<'a> {
        uid: &'a str,
        #[serde(flatten)]
        fields: Map<String, Value>,
        object: Option<&'a Value>,
        old_object: Option<&'a Value>,
    }

    let review = Review {
        kind: KIND,
        api_version: format!("{GROUP}/{}", version.as_str()),
        request: Request {
            uid,
            fields: request,
            object,
            old_object: old,
        },
    };
    // A JSON value can always be encoded.
    serde_json::to_vec(&review).unwrap_or_default()
}

/// Decodes an answer as an `AdmissionReview` of a version.
///
/// # Errors
///
/// Returns the message for an answer of another type, or whose fields do not fit theirs.
pub(super) fn decode(answer: Value, version: ReviewVersion) -> Result<Value, String> {
    check_registered(&answer, GROUP, KIND, version.as_str())?;
    let node = Node::from_value(answer).map_err(|e| excerpt(&e.to_string()))?;
    let review = decode_typed(node, &ADMISSION_REVIEW);
    Ok(review.map_err(|e| excerpt(&e.to_string()))?.value)
}

/// Checks a review that was decoded.
///
/// # Errors
///
/// Returns the message for a response that breaks the rules of its version.
pub(super) fn verify(
    review: &Value,
    version: ReviewVersion,
    uid: &str,
    role: Role,
) -> Result<Response, String> {
    let response = &review["response"];
    if response.is_null() {
        return Err("webhook response was absent".into());
    }
    let patch = base64::decode(response["patch"].text(), base64::Encoding::Standard);
    let patch = patch.map_err(|e| e.to_string())?;
    let patch_type = response["patchType"].as_str();
    if version == ReviewVersion::V1 {
        let given = response["uid"].text();
        if given != uid {
            let (uid, given) = (go::quote(uid), quoted_excerpt(given));
            return Err(format!("expected response.uid={uid}, got {given}"));
        }
        let (api_version, kind) = (review["apiVersion"].text(), review["kind"].text());
        if (api_version, kind) != ("admission.k8s.io/v1", KIND) {
            let (group, given) = api_version.split_once('/').unwrap_or(("", api_version));
            return Err(format!(
                "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {}/{}, Kind={}",
                excerpt(group),
                excerpt(given),
                excerpt(kind)
            ));
        }
        check_patch(&patch, patch_type, role)?;
    }
    let (patch, patch_type) = match (role, version, patch.is_empty()) {
        (Role::Validating, ..) => (Vec::new(), ""),
        (Role::Mutating, ReviewVersion::V1Beta1, false) => (patch, "JSONPatch"),
        (Role::Mutating, ReviewVersion::V1Beta1, true) => (patch, ""),
        (Role::Mutating, ReviewVersion::V1, _) => (patch, patch_type.unwrap_or_default()),
    };
    let annotations = response["auditAnnotations"].entries().into_iter();
    Ok(Response {
        allowed: response["allowed"].flag(),
        status: response["status"].clone(),
        patch,
        patch_type: patch_type.to_owned(),
        annotations: annotations
            .map(|(key, value)| (key.to_owned(), value.text().to_owned()))
            .collect(),
        warnings: response["warnings"].texts().map(str::to_owned).collect(),
    })
}

fn check_patch(patch: &[u8], patch_type: Option<&str>, role: Role) -> Result<(), String> {
    let problem = match (role, patch.is_empty(), patch_type) {
        (Role::Mutating, false, None) => {
            "webhook returned response.patch but not response.patchType"
        }
        (Role::Mutating, true, Some(_)) => {
            "webhook returned response.patchType but not response.patch"
        }
        (Role::Mutating, _, Some("")) => "webhook returned invalid response.patchType of \"\"",
        (Role::Validating, false, _) => "validating webhook may not return response.patch",
        (Role::Validating, true, Some(_)) => "validating webhook may not return response.patchType",
        _ => return Ok(()),
    };
    Err(problem.to_owned())
}

#[cfg(test)]
mod tests;
