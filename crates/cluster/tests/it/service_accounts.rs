//! Service accounts, their tokens and certificates in a cluster with controllers.

use std::time::Duration;

use k8s_openapi::api::{
    authentication::v1::TokenReview,
    certificates::v1::CertificateSigningRequest,
    core::v1::{Pod, Secret},
};
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use kubewright_cluster::{Cluster, Controllers};
use kubewright_controller::wait::wait_for;
use serde_json::{Value, json};

const LONG: Duration = Duration::from_secs(600);

async fn cluster() -> Cluster {
    let cluster = Cluster::builder().controllers(Controllers::default());
    cluster.start().await.unwrap()
}

fn typed<K: serde::de::DeserializeOwned>(object: Value) -> K {
    serde_json::from_value(object).unwrap()
}

fn pod() -> Pod {
    typed(json!({
        "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]},
    }))
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_have_service_accounts_if_the_controller_runs() {
    let with = cluster().await;
    let pods: Api<Pod> = Api::default_namespaced(with.client());
    let created = pods.create(&PostParams::default(), &pod()).await.unwrap();
    let spec = created.spec.unwrap();
    assert_eq!(spec.service_account_name.as_deref(), Some("default"));
    let volume = &spec.volumes.unwrap()[0];
    assert!(volume.name.starts_with("kube-api-access-"), "{volume:?}");

    let without = Cluster::builder().start().await.unwrap();
    let pods: Api<Pod> = Api::default_namespaced(without.client());
    let created = pods.create(&PostParams::default(), &pod()).await.unwrap();
    assert_eq!(created.spec.unwrap().service_account_name, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_a_secret_is_accepted() {
    let cluster = cluster().await;
    let secrets: Api<Secret> = Api::default_namespaced(cluster.client());
    let accounts: Api<k8s_openapi::api::core::v1::ServiceAccount> =
        Api::default_namespaced(cluster.client());
    wait_for(&accounts, "default", LONG, |a| a.is_some())
        .await
        .unwrap();
    let secret: Secret = typed(json!({
        "metadata": {"name": "t", "annotations": {"kubernetes.io/service-account.name": "default"}},
        "type": "kubernetes.io/service-account-token",
    }));
    secrets
        .create(&PostParams::default(), &secret)
        .await
        .unwrap();
    let filled = |secret: Option<&Secret>| {
        secret.is_some_and(|s| {
            s.data
                .as_ref()
                .is_some_and(|data| data.contains_key("token"))
        })
    };
    let secret = wait_for(&secrets, "t", LONG, filled)
        .await
        .unwrap()
        .unwrap();
    let token = String::from_utf8(secret.data.unwrap()["token"].0.clone()).unwrap();
    let reviews: Api<TokenReview> = Api::all(cluster.client());
    let review: TokenReview = typed(json!({"spec": {"token": token}}));
    let review = reviews.create(&PostParams::default(), &review).await;
    let status = review.unwrap().status.unwrap();
    assert_eq!(status.authenticated, Some(true), "{:?}", status.error);
    let user = status.user.unwrap().username;
    assert_eq!(
        user.as_deref(),
        Some("system:serviceaccount:default:default")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_request_is_signed_by_the_authority_of_the_cluster() {
    let cluster = cluster().await;
    let csrs: Api<CertificateSigningRequest> = Api::all(cluster.client());
    let mut params = rcgen::CertificateParams::default();
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, "alice");
    let key = rcgen::KeyPair::generate().unwrap();
    let mut csr: CertificateSigningRequest = typed(json!({
        "metadata": {"name": "alice"}, "spec": {
            "request": "", "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"],
        },
    }));
    csr.spec.request.0 = params
        .serialize_request(&key)
        .unwrap()
        .pem()
        .unwrap()
        .into();
    csrs.create(&PostParams::default(), &csr).await.unwrap();
    let approved = json!({"status": {"conditions": [{"type": "Approved", "status": "True"}]}});
    csrs.patch_subresource(
        "approval",
        "alice",
        &PatchParams::default(),
        &Patch::Merge(approved),
    )
    .await
    .unwrap();
    let issued = |csr: Option<&CertificateSigningRequest>| {
        csr.is_some_and(|csr| csr.status.as_ref().is_some_and(|s| s.certificate.is_some()))
    };
    let csr = wait_for(&csrs, "alice", LONG, issued)
        .await
        .unwrap()
        .unwrap();
    let pem = csr.status.unwrap().certificate.unwrap().0;
    let certificate = kubewright_x509::Certificate::from_pem(&pem).unwrap();
    assert_eq!(certificate.subject().common_name(), "alice");
    let authority = cluster.authority().authority().certificate();
    let issuer = certificate.issuer().common_name();
    assert_eq!(issuer, authority.subject().common_name());
}
