//! Certificates in answers: what they say is compared, not their keys and signatures.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use x509_parser::{extensions::GeneralName, pem::Pem, prelude::X509Certificate};

/// The start of a PEM file of certificates.
const BEGIN: &str = "-----BEGIN CERTIFICATE-----";

/// Describes a text that has certificates, which may be encoded in base64.
pub(super) fn described(text: &str) -> Option<Value> {
    let decoded = match text.starts_with(BEGIN) {
        true => text.to_owned(),
        false => String::from_utf8(STANDARD.decode(text).ok()?).ok()?,
    };
    if !decoded.starts_with(BEGIN) {
        return None;
    }
    let mut all = Vec::new();
    for block in Pem::iter_from_buffer(decoded.as_bytes()) {
        let block = block.ok()?;
        all.push(one(&block.parse_x509().ok()?));
    }
    Some(json!({ "certificates": all }))
}

fn one(certificate: &X509Certificate<'_>) -> Value {
    // A root of somebody else's making has nothing to compare.
    if certificate.is_ca() {
        return "an authority".into();
    }
    let validity = certificate.validity();
    let seconds = validity.not_after.timestamp() - validity.not_before.timestamp();
    let usage = certificate.key_usage().ok().flatten();
    let extended = certificate.extended_key_usage().ok().flatten();
    let names = certificate.subject_alternative_name().ok().flatten();
    let names = names.iter().flat_map(|names| &names.value.general_names);
    json!({
        "subject": certificate.subject().to_string(),
        "seconds": seconds,
        "usage": usage.map(|u| u.value.to_string()),
        "client": extended.as_ref().is_some_and(|u| u.value.client_auth),
        "server": extended.as_ref().is_some_and(|u| u.value.server_auth),
        "names": names.map(GeneralName::to_string).collect::<Vec<_>>(),
    })
}
