//! The rules of the built-in signers.

use std::collections::BTreeSet;

use kubewright_x509::CertificateRequest;

/// Signs certificates of clients of the API.
pub(super) const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
/// Signs certificates with which kubelets call the API.
pub(super) const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
/// Signs certificates with which kubelets serve.
const KUBELET_SERVING: &str = "kubernetes.io/kubelet-serving";
/// Signs anything; only old objects can name it.
const LEGACY: &str = "kubernetes.io/legacy-unknown";

const NODES: &str = "system:nodes";
const NODE_PREFIX: &str = "system:node:";

/// The answer of a signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Validity {
    /// The signer is not a built-in one.
    NotOurs,
    /// The request may be signed.
    Valid,
    /// The request will never be signed.
    Invalid(String),
}

/// Validates a request by the rules of its signer.
pub(super) fn validate(signer: &str, request: &CertificateRequest, usages: &[&str]) -> Validity {
    let outcome = match signer {
        CLIENT => check_client_usages(usages),
        KUBELET_CLIENT => check_kubelet_client(request, usages),
        KUBELET_SERVING => check_kubelet_serving(request, usages),
        LEGACY => Ok(()),
        _ => return Validity::NotOurs,
    };
    match outcome {
        Ok(()) => Validity::Valid,
        Err(problem) => Validity::Invalid(problem),
    }
}

/// Checks a request of a kubelet for a certificate to call the API with.
pub(super) fn check_kubelet_client(
    request: &CertificateRequest,
    usages: &[&str],
) -> Result<(), String> {
    check_organization(request)?;
    let names = request.alt_names();
    for (what, allowed) in [
        ("DNS", names.dns.is_empty()),
        ("Email", names.emails.is_empty()),
        ("IP", names.ips.is_empty()),
        ("URI", names.uris.is_empty()),
    ] {
        if !allowed {
            return Err(format!("{what} subjectAltNames are not allowed"));
        }
    }
    check_common_name(request)?;
    check_usages(usages, "client auth")
}

fn check_kubelet_serving(request: &CertificateRequest, usages: &[&str]) -> Result<(), String> {
    check_organization(request)?;
    let names = request.alt_names();
    if names.dns.is_empty() && names.ips.is_empty() {
        return Err("DNS or IP subjectAltName is required".to_owned());
    }
    if !names.emails.is_empty() {
        return Err("Email subjectAltNames are not allowed".to_owned());
    }
    if !names.uris.is_empty() {
        return Err("URI subjectAltNames are not allowed".to_owned());
    }
    check_usages(usages, "server auth")?;
    check_common_name(request)
}

fn check_organization(request: &CertificateRequest) -> Result<(), String> {
    match request.subject().organizations().eq([NODES]) {
        true => Ok(()),
        false => Err(format!("subject organization is not {NODES}")),
    }
}

fn check_common_name(request: &CertificateRequest) -> Result<(), String> {
    match request.subject().common_name().starts_with(NODE_PREFIX) {
        true => Ok(()),
        false => Err(format!(
            "subject common name does not begin with {NODE_PREFIX}"
        )),
    }
}

/// Key encipherment is for RSA, and optional.
fn check_usages(usages: &[&str], purpose: &'static str) -> Result<(), String> {
    let usages: BTreeSet<&str> = usages.iter().copied().collect();
    let without = BTreeSet::from(["digital signature", purpose]);
    let with = BTreeSet::from(["digital signature", "key encipherment", purpose]);
    if usages == with || usages == without {
        return Ok(());
    }
    let wanted: Vec<&str> = with.into_iter().collect();
    Err(format!("usages did not match [{}]", wanted.join(" ")))
}

fn check_client_usages(usages: &[&str]) -> Result<(), String> {
    const PURPOSE: &str = "client auth";
    let optional = ["digital signature", "key encipherment"];
    let unknown = |usage: &&&str| **usage != PURPOSE && !optional.contains(*usage);
    if let Some(usage) = usages.iter().find(unknown) {
        return Err(format!("invalid usage for client certificate: {usage}"));
    }
    match usages.contains(&PURPOSE) {
        true => Ok(()),
        false => Err(format!(
            "missing required usage for client certificate: {PURPOSE}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    use super::*;

    fn request(organization: &str, name: &str, names: Vec<SanType>) -> CertificateRequest {
        let mut params = CertificateParams::default();
        let subject = &mut params.distinguished_name;
        *subject = rcgen::DistinguishedName::new();
        subject.push(DnType::OrganizationName, organization);
        subject.push(DnType::CommonName, name);
        params.subject_alt_names = names;
        let key = KeyPair::generate().unwrap();
        let der = params.serialize_request(&key).unwrap();
        CertificateRequest::from_der(der.der()).unwrap()
    }

    fn dns() -> SanType {
        SanType::DnsName("n1.example".try_into().unwrap())
    }

    fn email() -> SanType {
        SanType::Rfc822Name("n1@example.com".try_into().unwrap())
    }

    fn uri() -> SanType {
        SanType::URI("spiffe://example.com/n1".try_into().unwrap())
    }

    fn problem(signer: &str, request: &CertificateRequest, usages: &[&str]) -> String {
        match validate(signer, request, usages) {
            Validity::Valid => String::new(),
            Validity::Invalid(problem) => problem,
            Validity::NotOurs => panic!("{signer} is ours"),
        }
    }

    #[test]
    fn kubelets_get_client_certificates_for_themselves_only() {
        let usages = ["digital signature", "client auth"];
        let rsa = ["client auth", "key encipherment", "digital signature"];
        let node = "system:node:n1";
        let ip = SanType::IpAddress([10, 0, 0, 1].into());
        for (organization, name, names, usages, expected) in [
            (NODES, node, vec![], &usages[..], ""),
            (NODES, node, vec![], &rsa, ""),
            (
                "devs",
                node,
                vec![],
                &usages,
                "subject organization is not system:nodes",
            ),
            (
                NODES,
                "n1",
                vec![],
                &usages,
                "subject common name does not begin with system:node:",
            ),
            (
                NODES,
                node,
                vec![dns()],
                &usages,
                "DNS subjectAltNames are not allowed",
            ),
            (
                NODES,
                node,
                vec![email()],
                &usages,
                "Email subjectAltNames are not allowed",
            ),
            (
                NODES,
                node,
                vec![ip],
                &usages,
                "IP subjectAltNames are not allowed",
            ),
            (
                NODES,
                node,
                vec![uri()],
                &usages,
                "URI subjectAltNames are not allowed",
            ),
            (
                NODES,
                node,
                vec![],
                &["client auth"],
                "usages did not match [client auth digital signature key encipherment]",
            ),
        ] {
            let request = request(organization, name, names);
            assert_eq!(problem(KUBELET_CLIENT, &request, usages), expected);
        }
    }

    #[test]
    fn kubelets_serve_under_names_and_addresses() {
        let usages = ["digital signature", "server auth"];
        let node = "system:node:n1";
        let client = ["digital signature", "client auth"];
        for (organization, name, names, usages, expected) in [
            (NODES, node, vec![dns()], usages, ""),
            (
                NODES,
                node,
                vec![],
                usages,
                "DNS or IP subjectAltName is required",
            ),
            (
                "devs",
                node,
                vec![dns()],
                usages,
                "subject organization is not system:nodes",
            ),
            (
                NODES,
                "n1",
                vec![dns()],
                usages,
                "subject common name does not begin with system:node:",
            ),
            (
                NODES,
                node,
                vec![dns(), email()],
                usages,
                "Email subjectAltNames are not allowed",
            ),
            (
                NODES,
                node,
                vec![dns(), uri()],
                usages,
                "URI subjectAltNames are not allowed",
            ),
            (
                NODES,
                node,
                vec![dns()],
                client,
                "usages did not match [digital signature key encipherment server auth]",
            ),
        ] {
            let request = request(organization, name, names);
            assert_eq!(problem(KUBELET_SERVING, &request, &usages), expected);
        }
    }

    #[test]
    fn clients_get_certificates_for_clients() {
        let request = request("devs", "alice", vec![dns()]);
        for (usages, expected) in [
            (&["client auth"][..], ""),
            (
                &["key encipherment", "client auth", "digital signature"],
                "",
            ),
            (
                &["client auth", "server auth"],
                "invalid usage for client certificate: server auth",
            ),
            (
                &["digital signature"],
                "missing required usage for client certificate: client auth",
            ),
        ] {
            assert_eq!(problem(CLIENT, &request, usages), expected);
        }
        assert_eq!(problem(LEGACY, &request, &["any"]), "");
        assert_eq!(validate("example.com/s", &request, &[]), Validity::NotOurs);
    }
}
