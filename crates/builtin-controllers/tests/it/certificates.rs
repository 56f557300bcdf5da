//! Certificate signing requests on a cluster: approval, signing, removal.

use std::time::Duration;

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::{Api, api::PostParams};
use kubewright_builtin_controllers::Controllers;
use kubewright_controller::wait::{wait_for, wait_for_deletion};
use kubewright_testing::TestCluster;
use kubewright_x509::{Authority, Certificate, ExtendedKeyUsage};
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, KeyPair};
use serde_json::{Value, json};

use crate::fixture::{Fixture, LONG};

const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
const KUBELET: &str = "kubernetes.io/kube-apiserver-client-kubelet";

fn authority() -> Authority {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap().pem();
    Authority::from_pem(certificate.as_bytes(), key.serialize_pem().as_bytes()).unwrap()
}

async fn start(list: &str) -> Fixture {
    let controllers = Controllers::parse(list).unwrap().authority(authority());
    let fixture = Fixture::without(TestCluster::start().await).with(&controllers);
    fixture.settled().await;
    fixture
}

fn requests(f: &Fixture) -> Api<CertificateSigningRequest> {
    Api::all(f.client())
}

async fn request(f: &Fixture, signer: &str, organization: &str, name: &str, usages: &[&str]) {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::OrganizationName, organization);
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().unwrap();
    let pem = params.serialize_request(&key).unwrap().pem().unwrap();
    let mut csr: CertificateSigningRequest = serde_json::from_value(json!({
        "metadata": {"name": "r"},
        "spec": {"request": "", "signerName": signer, "usages": usages, "expirationSeconds": 3600},
    }))
    .unwrap();
    csr.spec.request.0 = pem.into_bytes();
    requests(f)
        .create(&PostParams::default(), &csr)
        .await
        .unwrap();
}

/// Adds a decision, as `kubectl certificate` does.
async fn decide(f: &Fixture, decision: &str) {
    let mut csr = requests(f).get("r").await.unwrap();
    let condition: Value = json!({"type": decision, "status": "True", "reason": "Test"});
    let conditions = &mut csr.status.get_or_insert_default().conditions;
    let condition = serde_json::from_value(condition).unwrap();
    conditions.get_or_insert_default().push(condition);
    requests(f)
        .replace_subresource("approval", "r", &PostParams::default(), &csr)
        .await
        .unwrap();
}

fn has(csr: &CertificateSigningRequest, kind: &str) -> bool {
    let status = csr.status.iter();
    let mut conditions = status.flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == kind)
}

fn certificate(csr: &CertificateSigningRequest) -> Option<Certificate> {
    let pem = csr.status.as_ref()?.certificate.as_ref()?;
    Some(Certificate::from_pem(&pem.0).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_request_is_signed() {
    let f = start("csrsigning").await;
    request(&f, CLIENT, "devs", "alice", &["client auth"]).await;
    f.settled().await;
    assert!(certificate(&requests(&f).get("r").await.unwrap()).is_none());
    decide(&f, "Approved").await;
    let issued = |csr: Option<&CertificateSigningRequest>| csr.and_then(certificate).is_some();
    let csr = wait_for(&requests(&f), "r", LONG, issued)
        .await
        .unwrap()
        .unwrap();
    let certificate = certificate(&csr).unwrap();
    assert_eq!(certificate.subject().to_string(), "CN=alice,O=devs");
    assert_eq!(certificate.issuer().common_name(), "ca");
    assert_eq!(
        certificate.extended_key_usages(),
        [ExtendedKeyUsage::ClientAuth]
    );
    let validity = certificate.validity();
    assert_eq!(validity.not_after - validity.not_before, 3600 + 300);
    let managers = csr.metadata.managed_fields.unwrap_or_default();
    assert!(
        managers
            .iter()
            .all(|m| m.manager.as_deref() == Some("kube-controller-manager"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_request_and_one_to_another_signer_are_left_alone() {
    let f = start("csrsigning,csrapproving").await;
    request(&f, "example.com/own", "devs", "alice", &["client auth"]).await;
    decide(&f, "Approved").await;
    f.settled().await;
    let csr = requests(&f).get("r").await.unwrap();
    assert!(certificate(&csr).is_none() && !has(&csr, "Failed"));
    let f = start("csrsigning,csrapproving").await;
    request(&f, CLIENT, "devs", "alice", &["client auth"]).await;
    decide(&f, "Denied").await;
    f.settled().await;
    let csr = requests(&f).get("r").await.unwrap();
    assert!(certificate(&csr).is_none() && !has(&csr, "Approved"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_breaks_the_rules_of_its_signer_fails() {
    let f = start("csrsigning").await;
    request(&f, CLIENT, "devs", "alice", &["server auth"]).await;
    decide(&f, "Approved").await;
    f.settled().await;
    let csr = requests(&f).get("r").await.unwrap();
    let conditions = csr.status.unwrap().conditions.unwrap();
    let failed = conditions.iter().find(|c| c.type_ == "Failed").unwrap();
    assert_eq!(failed.reason.as_deref(), Some("SignerValidationFailure"));
    let message = "invalid usage for client certificate: server auth";
    assert_eq!(failed.message.as_deref(), Some(message));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubelet_gets_its_certificate_without_anybody() {
    let f = start("csrsigning,csrapproving").await;
    let usages = ["digital signature", "client auth"];
    request(&f, KUBELET, "system:nodes", "system:node:n1", &usages).await;
    f.settled().await;
    let csr = requests(&f).get("r").await.unwrap();
    let conditions = csr.status.as_ref().unwrap().conditions.as_ref().unwrap();
    assert_eq!(conditions[0].reason.as_deref(), Some("AutoApproved"));
    // The requester has another name than the node.
    let message = "Auto approving kubelet client certificate after SubjectAccessReview.";
    assert_eq!(conditions[0].message.as_deref(), Some(message));
    assert!(certificate(&csr).is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_are_never_approved_automatically() {
    let f = start("csrapproving").await;
    request(
        &f,
        CLIENT,
        "system:nodes",
        "system:node:n1",
        &["client auth"],
    )
    .await;
    f.settled().await;
    assert!(!has(&requests(&f).get("r").await.unwrap(), "Approved"));
}

#[tokio::test(start_paused = true)]
async fn old_requests_are_deleted() {
    for (decision, kept, gone) in [(None, 23, 2), (Some("Denied"), 0, 2)] {
        let f = start("csrcleaner").await;
        request(&f, CLIENT, "devs", "alice", &["client auth"]).await;
        if let Some(decision) = decision {
            decide(&f, decision).await;
        }
        f.settled().await;
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        f.cluster.time().advance(hours(kept)).await;
        assert!(requests(&f).get_opt("r").await.unwrap().is_some());
        f.cluster.time().advance(hours(gone)).await;
        wait_for_deletion(&requests(&f), "r", None, LONG)
            .await
            .unwrap();
    }
}
