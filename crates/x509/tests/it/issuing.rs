//! Certificates are issued as kube-controller-manager issues them.

use kubewright_x509::{
    Authority, Certificate, CertificateRequest, ExtendedKeyUsage, KeyUsage, SigningKey, Template,
    Validity,
};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, KeyUsagePurpose};

use crate::fixture;

const VALIDITY: Validity = Validity {
    not_before: 1_700_000_000,
    not_after: 1_700_003_600,
};

fn authority() -> Authority {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let certificate = params.self_signed(&key).unwrap().pem();
    Authority::from_pem(certificate.as_bytes(), key.serialize_pem().as_bytes()).unwrap()
}

fn request() -> CertificateRequest {
    CertificateRequest::from_pem(fixture!("rsa.csr.pem")).unwrap()
}

#[test]
fn a_certificate_has_what_the_request_asks_for() {
    let (authority, request) = (authority(), request());
    let template = Template {
        key_usage: KeyUsage::DIGITAL_SIGNATURE | KeyUsage::KEY_ENCIPHERMENT,
        extended_key_usages: vec![ExtendedKeyUsage::ClientAuth],
        ..Template::for_request(&request, VALIDITY)
    };
    let issued = authority.issue(&template).unwrap();
    // Go writes the organizations as one set, whose order is that of their encodings.
    assert_eq!(issued.subject().to_string(), "CN=alice,O=ops,O=devs");
    assert_eq!(issued.issuer().common_name(), "ca");
    assert_eq!(issued.alt_names(), request.alt_names());
    assert_eq!(issued.validity(), VALIDITY);
    assert_eq!(issued.public_key(), request.public_key());
    assert_eq!(issued.extended_key_usages(), [ExtendedKeyUsage::ClientAuth]);
    assert!(!issued.is_ca());
    let read = Certificate::from_pem(issued.to_pem().as_bytes()).unwrap();
    assert_eq!(read.der(), issued.der());
}

#[test]
fn serial_numbers_differ() {
    let (authority, request) = (authority(), request());
    let template = Template::for_request(&request, VALIDITY);
    let [one, two] = [(); 2].map(|()| authority.issue(&template).unwrap());
    assert_ne!(one.der(), two.der());
}

#[test]
fn keys_are_read_in_every_format() {
    let rsa = SigningKey::from_pem(fixture!("rsa.key.pem")).unwrap();
    let pkcs1 = SigningKey::from_pem(fixture!("rsa.pkcs1.pem")).unwrap();
    assert_eq!(rsa.public_key_der(), pkcs1.public_key_der());
    assert_eq!(rsa.public_key_der(), request().public_key().der());
    let sec1 = SigningKey::from_pem(fixture!("p256.sec1.pem")).unwrap();
    let request = CertificateRequest::from_pem(fixture!("p256.csr.pem")).unwrap();
    assert_eq!(sec1.public_key_der(), request.public_key().der());
    assert_eq!(format!("{sec1:?}"), "SigningKey(ECDSA P-256)");
}

#[test]
fn a_key_of_another_certificate_is_refused() {
    let certificate = authority().certificate().clone();
    let key = SigningKey::from_pem(fixture!("rsa.key.pem")).unwrap();
    let error = Authority::new(certificate, key).unwrap_err();
    assert_eq!(
        error.to_string(),
        "x509: provided PrivateKey doesn't match parent's PublicKey"
    );
}
