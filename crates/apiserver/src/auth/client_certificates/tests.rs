use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, DnValue,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, date_time_ymd,
};

use super::*;
use crate::{auth::RequestHeaders, clock::Clock};

/// A clock that stands still.
struct Stopped(Mutex<Timestamp>);

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        *self.0.lock()
    }
}

fn clock(date: &str) -> Arc<Stopped> {
    Arc::new(Stopped(Mutex::new(date.parse().unwrap())))
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut ca = params(&[(DnType::CommonName, name)]);
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.extended_key_usages.clear();
    CertifiedIssuer::self_signed(ca, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate for clients that is valid in 2030.
fn params(subject: &[(DnType, &str)]) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    for (attribute, value) in subject {
        let value = DnValue::Utf8String((*value).to_owned());
        params.distinguished_name.push(attribute.clone(), value);
    }
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.not_before = date_time_ymd(2030, 1, 1);
    params.not_after = date_time_ymd(2031, 1, 1);
    params
}

fn signed(params: CertificateParams, ca: &CertifiedIssuer<'_, KeyPair>) -> Vec<u8> {
    let key = KeyPair::generate().unwrap();
    params.signed_by(&key, ca).unwrap().der().to_vec()
}

fn alice() -> CertificateParams {
    params(&[
        (DnType::OrganizationName, "dev"),
        (DnType::CommonName, "alice"),
    ])
}

fn trusting(ca: &CertifiedIssuer<'_, KeyPair>, clock: Arc<Stopped>) -> TrustedAuthorities {
    TrustedAuthorities::from_pem(ca.pem().as_bytes(), clock).unwrap()
}

async fn answer(
    authenticator: &dyn Authenticator,
    chain: &[Vec<u8>],
    headers: &[(&'static str, &'static str)],
) -> Result<Option<String>, String> {
    let mut request = http::Request::get("/");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (mut parts, ()) = request.body(()).unwrap().into_parts();
    if !chain.is_empty() {
        parts
            .extensions
            .insert(PeerCertificates::new(chain.to_vec()));
    }
    let known = authenticator
        .authenticate(&Credentials::new(&parts, &[]))
        .await;
    known
        .map(|known| known.map(|known| known.user.name.clone()))
        .map_err(|error| error.to_string())
}

#[tokio::test]
async fn the_subject_is_the_user() {
    let ca = authority("ca");
    let users = ClientCertificates::new(trusting(&ca, clock("2030-06-01T00:00:00Z")));
    let uid = DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]);
    let certificate = params(&[
        (uid, "u-1"),
        (DnType::OrganizationName, "dev"),
        (DnType::CommonName, "alice"),
    ]);
    let certificate = signed(certificate, &ca);
    let (mut parts, ()) = http::Request::new(()).into_parts();
    parts
        .extensions
        .insert(PeerCertificates::new([certificate.clone()]));
    let credentials = Credentials::new(&parts, &[]);
    let known = users.authenticate(&credentials).await.unwrap().unwrap();
    assert_eq!(
        (known.user.name.as_str(), known.user.uid.as_str()),
        ("alice", "u-1")
    );
    assert_eq!(known.user.groups, ["dev", "system:authenticated"]);
    let (key, values) = &known.user.extra[0];
    assert_eq!(key, CREDENTIAL_ID);
    assert_eq!(values[0].len(), "X509SHA256=".len() + 64);
    let again = users.authenticate(&credentials).await.unwrap().unwrap();
    assert!(Arc::ptr_eq(&known.user, &again.user), "verified once");
    assert_eq!(answer(&users, &[], &[]).await, Ok(None));
    let nameless = signed(params(&[(DnType::OrganizationName, "dev")]), &ca);
    assert_eq!(answer(&users, &[nameless], &[]).await, Ok(None));
}

#[tokio::test]
async fn certificates_that_are_not_trusted_are_errors() {
    let (ca, other) = (authority("ca"), authority("ca"));
    let users = ClientCertificates::new(trusting(&ca, clock("2030-06-01T00:00:00Z")));
    let unknown = "x509: certificate signed by unknown authority";
    let server_only = {
        let mut params = alice();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params
    };
    let old = {
        let mut params = alice();
        params.not_after = date_time_ymd(2030, 2, 1);
        params
    };
    for (certificate, reason) in [
        (signed(alice(), &other), unknown),
        (
            signed(server_only, &ca),
            "x509: certificate specifies an incompatible key usage",
        ),
        (
            signed(old, &ca),
            "x509: certificate has expired or is not yet valid",
        ),
    ] {
        let error = answer(&users, &[certificate], &[]).await.unwrap_err();
        let expected = format!("verifying certificate CN=alice,O=dev failed: {reason}");
        assert_eq!(error, expected);
    }
    let garbage = answer(&users, &[b"garbage".to_vec()], &[]).await;
    assert!(garbage.unwrap_err().starts_with("verifying certificate"));
}

#[tokio::test]
async fn any_usage_and_no_usage_are_usable_by_clients() {
    let ca = authority("ca");
    let users = ClientCertificates::new(trusting(&ca, clock("2030-06-01T00:00:00Z")));
    let mut unrestricted = alice();
    unrestricted.extended_key_usages.clear();
    let found = answer(&users, &[signed(unrestricted, &ca)], &[]).await;
    assert_eq!(found, Ok(Some("alice".to_owned())));
}

#[tokio::test]
async fn intermediates_of_the_handshake_complete_the_chain() {
    let ca = authority("ca");
    let mut middle = params(&[(DnType::CommonName, "middle")]);
    middle.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    middle.extended_key_usages.clear();
    let middle = CertifiedIssuer::signed_by(middle, KeyPair::generate().unwrap(), &ca).unwrap();
    let users = ClientCertificates::new(trusting(&ca, clock("2030-06-01T00:00:00Z")));
    let leaf = signed(alice(), &middle);
    let alone = answer(&users, std::slice::from_ref(&leaf), &[]).await;
    assert!(alone.unwrap_err().ends_with("unknown authority"));
    let chain = [leaf, middle.der().to_vec()];
    assert_eq!(
        answer(&users, &chain, &[]).await,
        Ok(Some("alice".to_owned()))
    );
}

#[tokio::test]
async fn a_certificate_ends_although_it_was_verified_before() {
    let (ca, clock) = (authority("ca"), clock("2030-12-31T23:59:59Z"));
    let users = ClientCertificates::new(trusting(&ca, clock.clone()));
    let chain = [signed(alice(), &ca)];
    assert!(answer(&users, &chain, &[]).await.is_ok());
    *clock.0.lock() = "2031-01-01T00:00:01Z".parse().unwrap();
    let error = answer(&users, &chain, &[]).await.unwrap_err();
    assert!(
        error.ends_with("has expired or is not yet valid"),
        "{error}"
    );
}

#[tokio::test]
async fn a_certificate_of_the_bundle_vouches_for_itself() {
    let key = KeyPair::generate().unwrap();
    let mut own = alice();
    own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let own = own.self_signed(&key).unwrap();
    let trusted = |date| {
        let clock = clock(date);
        TrustedAuthorities::from_pem(own.pem().as_bytes(), clock).unwrap()
    };
    let chain = [own.der().to_vec()];
    let users = ClientCertificates::new(trusted("2030-06-01T00:00:00Z"));
    assert_eq!(
        answer(&users, &chain, &[]).await,
        Ok(Some("alice".to_owned()))
    );
    let later = ClientCertificates::new(trusted("2032-06-01T00:00:00Z"));
    assert!(answer(&later, &chain, &[]).await.is_err());
    let mut server = alice();
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let server = server.self_signed(&key).unwrap();
    let clock = clock("2030-06-01T00:00:00Z");
    let trusted = TrustedAuthorities::from_pem(server.pem().as_bytes(), clock).unwrap();
    let users = ClientCertificates::new(trusted);
    assert!(answer(&users, &[server.der().to_vec()], &[]).await.is_err());
}

#[tokio::test]
async fn a_subject_has_one_uid_or_none() {
    let ca = authority("ca");
    let users = ClientCertificates::new(trusting(&ca, clock("2030-06-01T00:00:00Z")));
    let uid = DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]);
    let empty = params(&[(uid, ""), (DnType::CommonName, "alice")]);
    let error = answer(&users, &[signed(empty, &ca)], &[])
        .await
        .unwrap_err();
    assert_eq!(error, "UID cannot be an empty string");
}

#[tokio::test]
async fn headers_count_only_from_a_proxy_with_a_certificate() {
    let (proxies, users) = (authority("proxies"), authority("users"));
    let date = "2030-06-01T00:00:00Z";
    let proxy = signed(params(&[(DnType::CommonName, "front-proxy")]), &proxies);
    let mallory = signed(params(&[(DnType::CommonName, "mallory")]), &users);
    let headers = RequestHeaders::new(trusting(&proxies, clock(date)));
    let remote = &[("x-remote-user", "alice")];
    assert_eq!(answer(&headers, &[], remote).await, Ok(None));
    let forged = answer(&headers, &[mallory], remote).await;
    assert!(forged.unwrap_err().ends_with("unknown authority"));
    let chain = [proxy];
    assert_eq!(answer(&headers, &chain, &[]).await, Ok(None));
    let found = answer(&headers, &chain, remote).await;
    assert_eq!(found, Ok(Some("alice".to_owned())));
    let allowed = headers.clone().allow_names(["front-proxy"]);
    assert!(answer(&allowed, &chain, remote).await.is_ok());
    let others = headers.allow_names(["another"]);
    let error = answer(&others, &chain, remote).await.unwrap_err();
    assert_eq!(
        error,
        "x509: subject with cn=front-proxy is not in the allowed list"
    );
}

#[test]
fn bundles_with_a_common_certificate_overlap() {
    let (one, two) = (authority("one"), authority("two"));
    let both = format!("{}{}", one.pem(), two.pem());
    let bundle = |pem: &str| {
        let clock = clock("2030-06-01T00:00:00Z");
        TrustedAuthorities::from_pem(pem.as_bytes(), clock).unwrap()
    };
    assert!(bundle(&both).overlaps(&bundle(&two.pem())));
    assert!(!bundle(&one.pem()).overlaps(&bundle(&two.pem())));
}
