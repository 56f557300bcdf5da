//! Conversion by a webhook, which gets all objects in one request and whose reply is checked.
//!
//! The endpoint is a URL or a service, which is resolved when it is called.

mod reply;

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use kubewright_apiserver::{boxed_async, random_uid};
use kubewright_machinery::{Status, gvk::GroupVersion, status};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use serde_json::{Value, json};

use crate::outgoing::{self, Endpoint, Outgoing};
use kubewright_custom_kinds::Conversion;

/// The time limit of a call.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The webhook of a CRD.
pub(crate) struct Webhook {
    endpoint: Endpoint,
    outgoing: Outgoing,
    review_versions: Vec<String>,
}

impl Webhook {
    /// Reads `spec.conversion.webhook`.
    pub(crate) fn new(webhook: &Value, outgoing: &Outgoing) -> Self {
        let versions = webhook["conversionReviewVersions"].as_array();
        let versions = versions.into_iter().flatten();
        Self {
            endpoint: Endpoint::read(&webhook["clientConfig"]),
            outgoing: outgoing.clone(),
            review_versions: versions
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Creates a webhook that takes reviews of version 1.
    pub(super) fn at(endpoint: Endpoint, outgoing: &Outgoing) -> Self {
        Self {
            endpoint,
            outgoing: outgoing.clone(),
            review_versions: vec!["v1".to_owned()],
        }
    }

    async fn convert_all(
        &self,
        objects: &[Value],
        api_version: &str,
    ) -> Result<Vec<Value>, String> {
        let version = self
            .review_versions
            .iter()
            .find(|v| matches!(v.as_str(), "v1" | "v1beta1"));
        let version = version.ok_or("no supported conversion review versions")?;
        let uid = random_uid();
        let review_version = format!("apiextensions.k8s.io/{version}");
        let request = json!({
            "kind": "ConversionReview",
            "apiVersion": review_version,
            "request": {"uid": uid, "desiredAPIVersion": api_version, "objects": objects},
        });
        let failed = |e: String| failed(objects, &e);
        let document = Bytes::from(request.to_string());
        let answer = self.outgoing.post(&self.endpoint, document, TIMEOUT).await;
        let answer = answer.and_then(|answer| outgoing::decode(&answer));
        let answer = answer.map_err(failed)?;
        let converted = reply::converted_objects(answer, version, &uid).map_err(failed)?;
        checked(objects, converted, api_version)
    }
}

#[boxed_async]
impl Conversion for Webhook {
    async fn convert(&self, objects: Vec<Value>, api_version: &str) -> Result<Vec<Value>, Status> {
        let converted = self.convert_all(&objects, api_version).await;
        converted.map_err(status::unknown)
    }
}

/// Returns the error for objects that were not converted.
pub(super) fn failed(objects: &[Value], why: &str) -> String {
    format!(
        "conversion webhook for {} failed: {why}",
        kind_text(objects)
    )
}

/// Checks converted objects against those that were sent.
pub(super) fn checked(
    objects: &[Value],
    converted: Vec<Value>,
    api_version: &str,
) -> Result<Vec<Value>, String> {
    reply::check(&kind_text(objects), objects, converted, api_version)
}

/// Checks that the CA bundle of a CRD, if it has one, holds certificates.
pub(super) fn ca_bundle_is_sound(conversion: &Value) -> bool {
    match decode_bundle(&conversion["webhook"]["clientConfig"]) {
        None => true,
        Some(bundle) if bundle.iter().all(u8::is_ascii_whitespace) => true,
        Some(bundle) => {
            let certificates: Vec<_> = CertificateDer::pem_slice_iter(&bundle).collect();
            !certificates.is_empty() && certificates.iter().all(Result::is_ok)
        }
    }
}

fn decode_bundle(client: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(client["caBundle"].as_str()?).ok()
}

/// Returns the kind of the objects, for error messages.
fn kind_text(objects: &[Value]) -> String {
    let text = |key: &str| {
        let first = objects.first().and_then(|object| object[key].as_str());
        first.unwrap_or_default().to_owned()
    };
    let version = GroupVersion::parse(&text("apiVersion")).unwrap_or_default();
    // Of several objects, the list is converted.
    let suffix = if objects.len() > 1 { "List" } else { "" };
    format!("{version}, Kind={}{suffix}", text("kind"))
}
