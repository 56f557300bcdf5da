//! The certificate of the webhook server: the roles of an operator that keeps its own, or the objects of cert-manager.

use kubewright_operator::Model;
use serde_json::{Value, json};

use super::{
    super::{naming::Naming, rbac},
    SERVICE, Settings,
};
use crate::project::WebhookCertificates;

/// The directory that a Secret with the certificate of the server is mounted at.
pub(in super::super) const SERVING_CERTS: &str = "/tmp/k8s-webhook-server/serving-certs";

/// The role of an operator that keeps its certificates.
const ROLE: &str = "webhook-certificates-role";

/// Returns the roles that let the operator keep its certificates, if it does: for the Secret in its namespace, and for the
/// objects that hold the `caBundle`.
pub(in super::super) fn roles(model: &Model, settings: &Settings, naming: &Naming) -> Vec<Value> {
    match settings.webhook_certificates {
        WebhookCertificates::Operator => {
            // kustomize does not know names in rules.
            let service = naming.installed_name(SERVICE);
            let rules = model.webhook_rules(&naming.namespace, &service);
            let rules = rules.into_iter().map(|rule| rule.role(ROLE));
            rbac::roles_of(&rules.collect::<Vec<_>>(), naming)
        }
        WebhookCertificates::CertManager | WebhookCertificates::Files => Vec::new(),
    }
}

/// Returns the issuer and the certificate of the server, if cert-manager issues it.
pub(in super::super) fn certificate(settings: &Settings, naming: &Naming) -> Vec<Value> {
    if settings.webhook_certificates != WebhookCertificates::CertManager {
        return Vec::new();
    }
    let metadata = |name: &str| {
        json!({
            "name": naming.name(name),
            "namespace": naming.namespace,
            "labels": naming.labels(),
        })
    };
    let host = format!(
        "{}.{}.svc",
        naming.installed_name(SERVICE),
        naming.installed_namespace()
    );
    vec![
        json!({
            "apiVersion": "cert-manager.io/v1",
            "kind": "Issuer",
            "metadata": metadata("selfsigned-issuer"),
            "spec": {"selfSigned": {}},
        }),
        json!({
            "apiVersion": "cert-manager.io/v1",
            "kind": "Certificate",
            "metadata": metadata("serving-cert"),
            "spec": {
                "dnsNames": [host, format!("{host}.cluster.local")],
                "issuerRef": {"kind": "Issuer", "name": naming.installed_name("selfsigned-issuer")},
                "secretName": secret(naming),
            },
        }),
    ]
}

/// Returns the annotation by which cert-manager puts its authority into an object, if it issues the certificate.
pub(in super::super) fn annotations(settings: &Settings, naming: &Naming) -> Option<Value> {
    let (namespace, name) = (
        naming.installed_namespace(),
        naming.installed_name("serving-cert"),
    );
    let issued = settings.webhook_certificates == WebhookCertificates::CertManager;
    issued.then(|| json!({"cert-manager.io/inject-ca-from": format!("{namespace}/{name}")}))
}

/// Returns the name of the Secret with the certificate.
pub(super) fn secret(naming: &Naming) -> String {
    naming.installed_name("webhook-server-cert")
}
