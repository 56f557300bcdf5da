//! Decodes the body of an admission review, in either version.

use std::borrow::Cow;

use serde::Deserialize;

use super::{AdmissionRequest, Parts};

/// The group of the reviews.
const GROUP: &str = "admission.k8s.io";

/// The kind of the reviews.
const KIND: &str = "AdmissionReview";

/// A decoded review.
pub(crate) struct Decoded<'a> {
    /// The `apiVersion` of the response.
    pub(crate) api_version: &'static str,
    pub(crate) request: AdmissionRequest<'a>,
}

/// The wire format of both versions.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    #[serde(borrow, default)]
    api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    request: Option<AdmissionRequest<'a>>,
}

/// Decodes a review. Without a version or a kind, it is treated as `admission.k8s.io/v1`.
pub(crate) fn decode(body: &[u8]) -> Result<Decoded<'_>, String> {
    // The text is validated as a whole, which is faster than string by string.
    let review = match std::str::from_utf8(body) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(body),
    };
    checked(review.map_err(|error| unparsable(&error))?)
}

/// Decodes a review whose objects were extracted. The objects are not validated.
pub(crate) fn decode_parts<'a>(parts: &'a Parts<'a>) -> Result<Decoded<'a>, String> {
    let review = serde_json::from_str(&parts.rest);
    let mut decoded = checked(review.map_err(|error| unparsable(&error))?)?;
    decoded.request.set_objects(parts.object, parts.old_object);
    Ok(decoded)
}

/// Returns the message for a text that is not JSON.
pub(crate) fn unparsable(error: &serde_json::Error) -> String {
    format!("couldn't get version/kind; json parse error: {error}")
}

/// Checks the version and the kind.
fn checked(review: Review<'_>) -> Result<Decoded<'_>, String> {
    let kind = match &*review.kind {
        "" => KIND,
        kind => kind,
    };
    let api_version = match &*review.api_version {
        "" | "admission.k8s.io/v1" | "admission.k8s.io/" => "admission.k8s.io/v1",
        "admission.k8s.io/v1beta1" => "admission.k8s.io/v1beta1",
        version => return Err(unregistered(kind, version)),
    };
    if kind != KIND {
        return Err(unregistered(kind, api_version));
    }
    Ok(Decoded {
        api_version,
        request: review.request.unwrap_or_default(),
    })
}

fn unregistered(kind: &str, version: &str) -> String {
    format!("no kind {kind:?} is registered for version {version:?} in scheme {GROUP:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(body: &str) -> Result<&'static str, String> {
        let whole = decode(body.as_bytes()).map(|decoded| decoded.api_version);
        if let Some(parts) = Parts::of(body.as_bytes()) {
            let parts = decode_parts(&parts).map(|decoded| decoded.api_version);
            assert_eq!(parts, whole);
        }
        whole
    }

    #[test]
    fn both_versions_and_reviews_without_one_are_read() {
        let review = |version: &str| {
            format!(r#"{{"apiVersion":"{version}","kind":"AdmissionReview","request":{{}}}}"#)
        };
        for name in ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"] {
            assert_eq!(version(&review(name)), Ok(name));
        }
        assert_eq!(version(r#"{"request":{}}"#), Ok("admission.k8s.io/v1"));
        assert_eq!(version("{}"), Ok("admission.k8s.io/v1"));
        assert_eq!(
            version(&review("admission.k8s.io/v2")),
            Err(r#"no kind "AdmissionReview" is registered for version "admission.k8s.io/v2" in scheme "admission.k8s.io""#.to_owned())
        );
    }

    #[test]
    fn other_kinds_and_other_texts_are_errors() {
        let pod = version(r#"{"apiVersion":"v1","kind":"Pod"}"#).unwrap_err();
        assert!(pod.starts_with(r#"no kind "Pod" is registered for version "v1""#));
        let text = version("hello").unwrap_err();
        assert!(text.starts_with("couldn't get version/kind; json parse error: "));
    }
}
