//! Conversion by a webhook, which gets all objects in one request and whose reply is checked.
//!
//! Service references cannot be resolved: CRDs that use one are accepted, and reading another version fails with a message
//! that explains this.

mod call;
mod reply;

use async_trait::async_trait;
use base64::{Engine, engine::general_purpose::STANDARD};
use kubewright_machinery::{Status, gvk::GroupVersion, status};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use serde_json::{Value, json};

use super::convert::Conversion;
use crate::outgoing::Client;

/// The webhook of a CRD.
pub(crate) struct Webhook {
    target: Target,
    client: Client,
    review_versions: Vec<String>,
}

enum Target {
    Url(String),
    Service(String),
}

impl Webhook {
    /// Reads `spec.conversion.webhook`.
    ///
    /// # Errors
    ///
    /// Returns the message for the client if the endpoint cannot be called.
    pub(crate) fn new(webhook: &Value) -> Self {
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
            client: Client::new(decode_bundle(client).unwrap_or_default()),
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
        let answer = call::post(&self.client, url, &request)
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

/// Returns an id that ties a reply to its request.
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
