//! Conversion by an endpoint of the user's, called with all objects at once and held to its word.
//!
//! Service references are resolved by nobody yet: definitions that use one are accepted, and reading another version fails
//! with a text that says so.

mod call;
mod location;
mod reply;
mod trust;

use async_trait::async_trait;
use base64::{Engine, engine::general_purpose::STANDARD};
use kubewright_machinery::{Status, gvk::GroupVersion, status};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use serde_json::{Value, json};

use super::convert::Conversion;

/// The endpoint of a definition.
pub struct Webhook {
    target: Target,
    /// Certificates that the endpoint may be signed by, in PEM.
    ca_bundle: Vec<u8>,
    review_versions: Vec<String>,
}

enum Target {
    Url(String),
    Service(String),
}

impl Webhook {
    /// From `spec.conversion.webhook`.
    pub fn new(webhook: &Value) -> Self {
        let client = &webhook["clientConfig"];
        let target = match client["url"].as_str() {
            Some(url) => Target::Url(url.to_owned()),
            None => {
                let text = |key: &str| client["service"][key].as_str().unwrap_or_default();
                Target::Service(format!("{}/{}", text("namespace"), text("name")))
            }
        };
        let versions = webhook["conversionReviewVersions"]
            .as_array()
            .into_iter()
            .flatten();
        Self {
            target,
            ca_bundle: decode_bundle(client).unwrap_or_default(),
            review_versions: versions
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
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
        let uid = request_uid();
        let review_version = format!("apiextensions.k8s.io/{version}");
        let request = json!({
            "kind": "ConversionReview",
            "apiVersion": review_version,
            "request": {"uid": uid, "desiredAPIVersion": api_version, "objects": objects},
        });
        let url = match &self.target {
            Target::Url(url) => url,
            Target::Service(service) => {
                return Err(failed(
                    objects,
                    &format!(
                        "the service {service} cannot be resolved by this server; give clientConfig.url"
                    ),
                ));
            }
        };
        let failed = |e: String| failed(objects, &e);
        let answer = call::post(url, &self.ca_bundle, &request)
            .await
            .map_err(failed)?;
        let converted = reply::converted_objects(answer, version, &uid).map_err(failed)?;
        checked(objects, converted, api_version)
    }
}

#[async_trait]
impl Conversion for Webhook {
    async fn convert(&self, objects: Vec<Value>, api_version: &str) -> Result<Vec<Value>, Status> {
        let converted = self.convert_all(&objects, api_version).await;
        converted.map_err(status::unknown)
    }
}

/// What is said of objects that were not converted.
pub(super) fn failed(objects: &[Value], why: &str) -> String {
    format!(
        "conversion webhook for {} failed: {why}",
        kind_text(objects)
    )
}

/// Holds what became of objects against those that were sent.
pub(super) fn checked(
    objects: &[Value],
    converted: Vec<Value>,
    api_version: &str,
) -> Result<Vec<Value>, String> {
    reply::check(&kind_text(objects), objects, converted, api_version)
}

/// Whether the bundle of a definition, if it has one, holds certificates.
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

/// An id by which the answer is known to belong to the question.
fn request_uid() -> String {
    let hex = format!("{:032x}", rand::random::<u128>());
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-")
}

/// The kind of the objects, as messages name it.
fn kind_text(objects: &[Value]) -> String {
    let text = |key: &str| {
        let first = objects.first().and_then(|object| object[key].as_str());
        first.unwrap_or_default().to_owned()
    };
    let version = GroupVersion::parse(&text("apiVersion")).unwrap_or_default();
    // Of a list, the list is converted.
    let suffix = if objects.len() > 1 { "List" } else { "" };
    format!("{version}, Kind={}{suffix}", text("kind"))
}
