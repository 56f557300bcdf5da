//! Printers of the `certificates.k8s.io` group.

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::columns::{AGE, NAME, text};
use super::text::labels;
use super::{Column, PrintOptions, Printer, age, fields, row};

/// The printer of a kind of this group.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    Some(match kind {
        "CertificateSigningRequest" => &CERTIFICATE_SIGNING_REQUEST,
        "ClusterTrustBundle" => &CLUSTER_TRUST_BUNDLE,
        "PodCertificateRequest" => &POD_CERTIFICATE_REQUEST,
        _ => return None,
    })
}

static CERTIFICATE_SIGNING_REQUEST: Printer = Printer::new(
    &[
        NAME,
        AGE,
        SIGNER_NAME,
        text("Requestor", "The user who made the request."),
        text(
            "RequestedDuration",
            "How long the certificate should be valid.",
        ),
        text(
            "Condition",
            "Whether the request is pending, approved, denied, failed or issued.",
        ),
    ],
    certificate_signing_request,
);

static CLUSTER_TRUST_BUNDLE: Printer = Printer::new(&[NAME, SIGNER_NAME], cluster_trust_bundle);

static POD_CERTIFICATE_REQUEST: Printer = Printer::new(
    &[
        NAME,
        text("PodName", "The pod the certificate is for."),
        text("ServiceAccountName", "The service account the pod runs as."),
        text("NodeName", "The node the pod runs on."),
        SIGNER_NAME,
        text(
            "State",
            "Whether the request is pending, denied, failed or issued.",
        ),
        text(
            "UnverifiedUserAnnotations",
            "Annotations for the signer, not checked by anyone.",
        ),
    ],
    pod_certificate_request,
);

const SIGNER_NAME: Column = text("SignerName", "The signer that is meant to sign.");

fn certificate_signing_request(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let spec = &object["spec"];
    let duration = spec["expirationSeconds"].as_i64();
    row![
        fields::name(object),
        age::of(object, options),
        spec["signerName"].text_or("<none>"),
        spec["username"].text(),
        duration.map_or_else(|| "<none>".to_owned(), age::seconds),
        request_condition(&object["status"]),
    ]
}

fn request_condition(status: &Value) -> String {
    let has = |ty: &str| fields::condition(&status["conditions"], ty).is_some();
    let mut condition = if has("Denied") {
        "Denied"
    } else if has("Approved") {
        "Approved"
    } else {
        "Pending"
    }
    .to_owned();
    if has("Failed") {
        condition.push_str(",Failed");
    }
    if !status["certificate"].text().is_empty() {
        condition.push_str(",Issued");
    }
    condition
}

fn cluster_trust_bundle(object: &Value, _: &PrintOptions) -> Vec<Value> {
    row![
        fields::name(object),
        object["spec"]["signerName"].text_or("<none>")
    ]
}

fn pod_certificate_request(object: &Value, _: &PrintOptions) -> Vec<Value> {
    let spec = &object["spec"];
    let state = object["status"]["conditions"]
        .items()
        .iter()
        .map(|condition| condition["type"].text())
        .rfind(|ty| matches!(*ty, "Issued" | "Denied" | "Failed"));
    row![
        fields::name(object),
        spec["podName"].text(),
        spec["serviceAccountName"].text(),
        spec["nodeName"].text(),
        spec["signerName"].text(),
        state.unwrap_or("Pending"),
        labels(&spec["unverifiedUserAnnotations"]),
    ]
}
