//! Requests are read and verified as Go does.

use kubewright_x509::{CertificateRequest, pem};
use proptest::prelude::*;

use crate::fixture;

fn read(text: &[u8]) -> CertificateRequest {
    CertificateRequest::from_pem(text).unwrap()
}

fn der(text: &[u8]) -> Vec<u8> {
    pem::blocks(text).next().unwrap().contents
}

#[test]
fn names_and_addresses_are_read() {
    let request = read(fixture!("rsa.csr.pem"));
    assert_eq!(request.subject().common_name(), "alice");
    let groups: Vec<&str> = request.subject().organizations().collect();
    assert_eq!(groups, ["devs", "ops"]);
    let names = request.alt_names();
    assert_eq!(names.dns, ["a.example"]);
    assert_eq!(names.ips, ["10.0.0.1".parse::<std::net::IpAddr>().unwrap()]);
    assert_eq!(names.emails, ["a@example.com"]);
    assert_eq!(names.uris, ["spiffe://example.com/a"]);
}

#[test]
fn signatures_of_the_usual_algorithms_verify() {
    for (name, text) in [
        ("rsa", &fixture!("rsa.csr.pem")[..]),
        ("p256", fixture!("p256.csr.pem")),
        ("p384", fixture!("p384.csr.pem")),
        ("ed25519", fixture!("ed25519.csr.pem")),
        ("pss", fixture!("pss.csr.pem")),
        ("sha1", fixture!("sha1.csr.pem")),
        ("rsa1024", fixture!("rsa1024.csr.pem")),
    ] {
        assert_eq!(read(text).verify(), Ok(()), "{name}");
    }
}

#[test]
fn weak_and_unknown_algorithms_are_refused() {
    for (text, error) in [
        (
            &fixture!("md5.csr.pem")[..],
            "x509: cannot verify signature: insecure algorithm MD5-RSA",
        ),
        (
            fixture!("rsa512.csr.pem"),
            "crypto/rsa: 512-bit keys are insecure (see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)",
        ),
        // Go verifies this one; there is no implementation of the curve here.
        (
            fixture!("p521.csr.pem"),
            "x509: cannot verify signature: algorithm unimplemented",
        ),
    ] {
        assert_eq!(read(text).verify().unwrap_err().to_string(), error);
    }
}

#[test]
fn a_changed_request_does_not_verify() {
    for (text, subject, error) in [
        (
            &fixture!("rsa.csr.pem")[..],
            b"alice",
            "crypto/rsa: verification error",
        ),
        (
            fixture!("p256.csr.pem"),
            b"nodes",
            "x509: ECDSA verification failure",
        ),
        (
            fixture!("ed25519.csr.pem"),
            b"ed255",
            "x509: Ed25519 verification failure",
        ),
    ] {
        let mut bytes = der(text);
        let at = bytes.windows(5).position(|window| window == subject);
        bytes[at.unwrap()] = b'x';
        let request = CertificateRequest::from_der(&bytes).unwrap();
        assert_eq!(request.verify().unwrap_err().to_string(), error);
    }
}

#[test]
fn only_a_block_of_the_right_label_is_a_request() {
    let wrong = "PEM block type must be CERTIFICATE REQUEST";
    let other = pem::encode("NEW CERTIFICATE REQUEST", &der(fixture!("rsa.csr.pem")));
    for text in [&b""[..], b"text", other.as_bytes()] {
        let error = CertificateRequest::from_pem(text).unwrap_err();
        assert_eq!(error.to_string(), wrong);
    }
    let mut more = der(fixture!("p256.csr.pem"));
    more.push(0);
    let error = CertificateRequest::from_der(&more).unwrap_err();
    assert_eq!(error.to_string(), "asn1: syntax error: trailing data");
}

/// Returns whether a byte is of the parameters that follow `sha256WithRSAEncryption`: the signature does not cover them, and Go ignores
/// them.
fn is_ignored(request: &[u8], at: usize) -> bool {
    const RSA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b";
    const NULL: &[u8] = b"\x05\x00";
    let before = &request[..at];
    before.ends_with(RSA) && request[at..].starts_with(NULL)
}

proptest! {
    #[test]
    fn changed_bytes_never_panic_and_never_verify(at in 0usize..2000, to in any::<u8>()) {
        for text in [&fixture!("rsa.csr.pem")[..], fixture!("p256.csr.pem"), fixture!("pss.csr.pem")] {
            let mut bytes = der(text);
            let at = at % bytes.len();
            if bytes[at] == to || is_ignored(&bytes, at) {
                continue;
            }
            bytes[at] = to;
            if let Ok(request) = CertificateRequest::from_der(&bytes) {
                prop_assert!(request.verify().is_err(), "byte {} is {}", at, to);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = CertificateRequest::from_der(&bytes);
        let _ = kubewright_x509::Certificate::from_der(&bytes);
        let _ = kubewright_x509::SigningKey::from_pkcs8(&bytes);
        let _ = pem::blocks(&bytes).count();
    }
}
