//! Secrets with tokens of service accounts.

use std::{error::Error, sync::Arc};

use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use kubewright_builtin_controllers::{Controllers, SecretTokenClaims, TokenGenerator};
use kubewright_controller::wait::{wait_for, wait_for_deletion};
use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::fixture::{Fixture, LONG};

/// Writes the claims instead of signing them.
struct Plain;

impl TokenGenerator for Plain {
    fn generate(
        &self,
        claims: &SecretTokenClaims<'_>,
    ) -> Result<String, Box<dyn Error + Send + Sync>> {
        let SecretTokenClaims {
            namespace,
            account,
            account_uid,
            secret,
            ..
        } = claims;
        Ok(format!("{namespace}/{account}/{account_uid}/{secret}"))
    }
}

async fn start() -> Fixture {
    let controllers = Controllers::parse("serviceaccount-token").unwrap();
    let controllers = controllers
        .root_ca("the authority")
        .token_generator(Arc::new(Plain));
    let fixture = Fixture::without(TestCluster::start().await).with(&controllers);
    fixture.settled().await;
    fixture
}

fn secrets(f: &Fixture) -> Api<Secret> {
    Api::default_namespaced(f.client())
}

fn accounts(f: &Fixture) -> Api<ServiceAccount> {
    Api::default_namespaced(f.client())
}

async fn account(f: &Fixture, secrets: Value) -> String {
    let account = f.create(json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": "web", "namespace": "default"}, "secrets": secrets,
    }));
    account.await.metadata.uid.unwrap()
}

async fn secret(f: &Fixture, annotations: Value) {
    f.create(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {"name": "web-token", "namespace": "default", "annotations": annotations},
    }))
    .await;
}

fn of_web() -> Value {
    json!({"kubernetes.io/service-account.name": "web"})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_filled_with_token_authority_and_namespace() {
    let f = start().await;
    let uid = account(&f, json!([])).await;
    secret(&f, of_web()).await;
    f.settled().await;
    let filled = secrets(&f).get("web-token").await.unwrap();
    let data = filled.data.unwrap();
    let text = |key: &str| String::from_utf8(data[key].0.clone()).unwrap();
    assert_eq!(text("token"), format!("default/web/{uid}/web-token"));
    assert_eq!(text("ca.crt"), "the authority");
    assert_eq!(text("namespace"), "default");
    let annotations = filled.metadata.annotations.unwrap();
    assert_eq!(annotations["kubernetes.io/service-account.uid"], uid);
    // What is removed comes back; what is there stays.
    let patch = Patch::Merge(json!({"data": {"token": null, "namespace": "ZWxzZQ=="}}));
    let params = PatchParams::default();
    secrets(&f)
        .patch("web-token", &params, &patch)
        .await
        .unwrap();
    f.settled().await;
    let data = secrets(&f).get("web-token").await.unwrap().data.unwrap();
    assert!(!data["token"].0.is_empty());
    assert_eq!(data["namespace"].0, b"else");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_without_its_account_is_deleted() {
    let f = start().await;
    secret(&f, of_web()).await;
    wait_for_deletion(&secrets(&f), "web-token", None, LONG)
        .await
        .unwrap();
    // Another account of that name is not the account.
    account(&f, json!([])).await;
    let mut other = of_web();
    other["kubernetes.io/service-account.uid"] = "other".into();
    secret(&f, other).await;
    wait_for_deletion(&secrets(&f), "web-token", None, LONG)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_account_takes_its_secrets_along() {
    let f = start().await;
    account(&f, json!([])).await;
    secret(&f, of_web()).await;
    f.settled().await;
    accounts(&f)
        .delete("web", &DeleteParams::default())
        .await
        .unwrap();
    wait_for_deletion(&secrets(&f), "web-token", None, LONG)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_secret_is_no_longer_listed_by_its_account() {
    let f = start().await;
    account(&f, json!([{"name": "web-token"}, {"name": "other"}])).await;
    secret(&f, of_web()).await;
    f.settled().await;
    secrets(&f)
        .delete("web-token", &DeleteParams::default())
        .await
        .unwrap();
    let one = |account: Option<&ServiceAccount>| {
        account.is_some_and(|account| account.secrets.as_ref().is_some_and(|s| s.len() == 1))
    };
    let account = wait_for(&accounts(&f), "web", LONG, one)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(account.secrets.unwrap()[0].name.as_deref(), Some("other"));
}

#[tokio::test(flavor = "multi_thread")]
async fn other_secrets_are_left_alone() {
    let f = start().await;
    f.create(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": "plain", "namespace": "default", "annotations": of_web()},
    }))
    .await;
    f.settled().await;
    assert!(secrets(&f).get("plain").await.unwrap().data.is_none());
}
