//! Validation of certificate signing requests.

use std::collections::BTreeSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use kubewright_machinery::{
    field::{self, ErrorList, Path},
    go,
    validation::names,
};
use kubewright_x509::{Certificate, CertificateRequest, pem};
use serde_json::Value;

use crate::{checks, json::Read, meta};

const DECISIONS: [&str; 3] = ["Approved", "Denied", "Failed"];
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// The signer of certificates without rules, which only old objects may name.
const LEGACY_SIGNER: &str = "kubernetes.io/legacy-unknown";
/// The longest domain of a signer.
const MAX_DOMAIN: usize = 253;
/// The longest name of a signer: a domain, a label and a subdomain.
const MAX_SIGNER: usize = MAX_DOMAIN + 1 + 63 + 1 + 253;

/// The endpoint of an update.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    Main,
    Status,
    Approval,
}

/// Reads the encoded request of a CertificateSigningRequest. Its signature is not verified.
///
/// # Errors
///
/// Fails with the message of Go's parser if it is malformed.
pub fn parse_request(csr: &Value) -> Result<CertificateRequest, kubewright_x509::Error> {
    CertificateRequest::from_pem(&decoded(&csr["spec"]["request"]))
}

pub(super) fn validate_create(csr: &Value) -> ErrorList {
    validate(csr, &Value::Null)
}

/// Validates an update. Faults that the stored object has, too, are tolerated.
pub(super) fn validate_change(new: &Value, old: &Value, endpoint: Endpoint) -> ErrorList {
    let mut errors = meta::common(new, old, false);
    errors.extend(validate(new, old));
    let path = Path::new("status").child("conditions");
    let count = |csr: &Value, kind: &str| {
        let all = csr["status"]["conditions"].items().iter();
        all.filter(|c| c["type"] == kind).count()
    };
    for kind in DECISIONS {
        if count(new, kind) < count(old, kind) {
            let message = format!("updates may not remove a condition of type \"{kind}\"");
            errors.push(field::forbidden(&path, message));
        }
    }
    if endpoint != Endpoint::Approval {
        for kind in ["Approved", "Denied"] {
            if count(new, kind) > count(old, kind) {
                let message = format!("updates may not add a condition of type \"{kind}\"");
                errors.push(field::forbidden(&path, message));
            }
        }
    }
    let (after, before) = (&new["status"]["certificate"], &old["status"]["certificate"]);
    if after.text() != before.text() {
        let path = Path::new("status").child("certificate");
        if endpoint != Endpoint::Status {
            let message = "updates may not set certificate content";
            errors.push(field::forbidden(&path, message));
        } else if !before.is_blank() {
            let message = "updates may not modify existing certificate content";
            errors.push(field::forbidden(&path, message));
        }
    }
    errors.extend(meta::validate_update(new, old));
    errors
}

/// Validates a request. `old` is the stored one, or null.
fn validate(csr: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::validate(csr, false, |_, _| Vec::new());
    let (spec, path) = (&csr["spec"], Path::new("spec"));
    let verified = parse_request(csr).and_then(|request| request.verify());
    if let Err(error) = verified {
        let path = path.child("request");
        errors.push(field::invalid(&path, &spec["request"], error.to_string()));
    }
    validate_usages(
        spec["usages"].items(),
        old["spec"]["usages"].items(),
        &path.child("usages"),
        &mut errors,
    );
    let (signer, path_of_signer) = (spec["signerName"].text(), path.child("signerName"));
    if signer == LEGACY_SIGNER && old["spec"]["signerName"] != LEGACY_SIGNER {
        let message = "the legacy signerName is not allowed via this API version";
        errors.push(field::invalid_str(&path_of_signer, signer, message));
    } else {
        validate_signer(signer, &path_of_signer, &mut errors);
    }
    let seconds = &spec["expirationSeconds"];
    if seconds.is_set() && seconds.int() < 600 {
        let path = path.child("expirationSeconds");
        let message = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.push(field::invalid(&path, seconds, message));
    }
    let path = Path::new("status");
    validate_conditions(
        csr["status"]["conditions"].items(),
        old["status"]["conditions"].items(),
        &path.child("conditions"),
        &mut errors,
    );
    let (after, before) = (&csr["status"]["certificate"], &old["status"]["certificate"]);
    let tolerated = old.is_set()
        && (after.text() == before.text() || check_certificate(&decoded(before)).is_err());
    if !tolerated && let Err(message) = check_certificate(&decoded(after)) {
        let path = path.child("certificate");
        errors.push(field::invalid_str(&path, "<certificate data>", message));
    }
    errors
}

fn validate_usages(usages: &[Value], before: &[Value], path: &Path, errors: &mut ErrorList) {
    if usages.is_empty() {
        errors.push(field::required(path, ""));
    }
    let unknown = |usage: &Value| !USAGES.contains(&usage.text());
    if !before.iter().any(unknown) {
        for (i, usage) in usages
            .iter()
            .enumerate()
            .filter(|(_, usage)| unknown(usage))
        {
            errors.push(field::not_supported(&path.index(i), usage.text(), &USAGES));
        }
    }
    let mut seen = BTreeSet::new();
    if before.iter().any(|usage| !seen.insert(usage.text())) {
        return;
    }
    let mut seen = BTreeSet::new();
    for (i, usage) in usages.iter().enumerate() {
        if !seen.insert(usage.text()) {
            errors.push(field::duplicate(&path.index(i), usage));
        }
    }
}

fn validate_signer(name: &str, path: &Path, errors: &mut ErrorList) {
    if name.is_empty() {
        errors.push(field::required(path, ""));
        return;
    }
    let parts: Vec<&str> = name.split('/').collect();
    let [domain, rest] = parts.as_slice() else {
        let message =
            "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.push(field::invalid_str(path, name, message));
        return;
    };
    if domain.len() > MAX_DOMAIN {
        errors.push(field::too_long(path, MAX_DOMAIN));
    }
    validate_labels(domain, names::is_dns1123_label, path, errors);
    if !domain.contains('.') {
        let message = "should be a domain with at least two segments separated by dots";
        errors.push(field::invalid_str(path, domain, message));
    }
    validate_labels(rest, names::is_dns1123_subdomain, path, errors);
    if name.len() > MAX_SIGNER {
        errors.push(field::too_long(path, MAX_SIGNER));
    }
}

/// Checks the parts of a text between dots, up to the first that is wrong.
fn validate_labels(
    text: &str,
    check: fn(&str) -> Vec<String>,
    path: &Path,
    errors: &mut ErrorList,
) {
    let mut wrong = text.split('.').map(|label| (label, check(label)));
    if let Some((label, found)) = wrong.find(|(_, found)| !found.is_empty()) {
        let label = go::quote(label);
        let texts = found
            .iter()
            .map(|m| format!("validating label {label}: {m}"));
        checks::messages(text, texts.collect(), path, errors);
    }
}

fn validate_conditions(
    conditions: &[Value],
    before: &[Value],
    path: &Path,
    errors: &mut ErrorList,
) {
    let has = |kind: &str| before.iter().any(|c| c["type"].text() == kind);
    let (contradictory, unnamed) = (has("Approved") && has("Denied"), has(""));
    let mut seen = BTreeSet::new();
    let repetitive = before.iter().any(|c| !seen.insert(c["type"].text()));
    let mut seen = BTreeSet::new();
    for (i, condition) in conditions.iter().enumerate() {
        let at = path.index(i);
        let kind = condition["type"].text();
        if !unnamed {
            checks::required(&condition["type"], &at.child("type"), errors);
        }
        let known: &[&str] = match DECISIONS.contains(&kind) {
            true => &["True"],
            false => &["False", "True", "Unknown"],
        };
        checks::one_of(&condition["status"], known, &at.child("status"), errors);
        let opposite = match kind {
            "Approved" => "Denied",
            "Denied" => "Approved",
            // No condition of this type is remembered.
            _ => "\0",
        };
        if !contradictory && seen.contains(opposite) {
            let message = "Approved and Denied conditions are mutually exclusive";
            errors.push(field::invalid_str(path, kind, message));
        }
        if !seen.insert(kind) && !repetitive {
            errors.push(field::duplicate(&at.child("type"), &condition["type"]));
        }
    }
}

/// Checks that PEM holds only certificates. It may be empty.
fn check_certificate(text: &[u8]) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    let mut blocks = 0;
    for block in pem::blocks(text) {
        if block.label != "CERTIFICATE" {
            let found = go::quote(&block.label);
            return Err(format!(
                "only CERTIFICATE PEM blocks are allowed, found {found}"
            ));
        }
        if block.has_headers {
            return Err("no PEM block headers are permitted".to_owned());
        }
        blocks += 1;
        let certificates = Certificate::all_from_der(&block.contents);
        if certificates.map_err(|error| error.to_string())?.is_empty() {
            return Err("found CERTIFICATE PEM block containing 0 certificates".to_owned());
        }
    }
    match blocks {
        0 => Err("must contain at least one CERTIFICATE PEM block".to_owned()),
        _ => Ok(()),
    }
}

fn decoded(text: &Value) -> Vec<u8> {
    STANDARD.decode(text.text()).unwrap_or_default()
}
