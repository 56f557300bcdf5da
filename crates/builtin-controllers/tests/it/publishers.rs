//! The objects that every namespace has.

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use kubewright_controller::wait::{wait_for, wait_for_deletion};
use serde_json::json;

use crate::fixture::{Fixture, LONG};

const ROOT_CA: &str = "kube-root-ca.crt";

fn accounts(f: &Fixture, namespace: &str) -> Api<ServiceAccount> {
    Api::namespaced(f.client(), namespace)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_namespace_has_its_service_account() {
    let f = Fixture::start("serviceaccount").await;
    for namespace in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        let account = accounts(&f, namespace).get_opt("default").await.unwrap();
        assert!(account.is_some(), "{namespace}");
    }
    f.namespace("shop").await;
    wait_for(&accounts(&f, "shop"), "default", LONG, |a| a.is_some())
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_account_that_is_deleted_comes_back() {
    let f = Fixture::start("serviceaccount").await;
    let accounts = accounts(&f, "default");
    let uid = accounts.get("default").await.unwrap().metadata.uid;
    accounts
        .delete("default", &DeleteParams::default())
        .await
        .unwrap();
    let other = |account: Option<&ServiceAccount>| {
        account.is_some_and(|account| account.metadata.uid != uid)
    };
    wait_for(&accounts, "default", LONG, other).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_namespace_has_the_certificate_of_the_authority() {
    let f = Fixture::start("root-ca-cert-publisher").await;
    f.namespace("shop").await;
    for namespace in ["default", "kube-system", "shop"] {
        let map = wait_for(&f.maps(namespace), ROOT_CA, LONG, |m| m.is_some()).await;
        let map = map.unwrap().unwrap();
        assert_eq!(map.data.unwrap()["ca.crt"], "the authority");
        let annotations = map.metadata.annotations.unwrap();
        let description = &annotations["kubernetes.io/description"];
        assert!(description.starts_with("Contains a CA bundle"));
        let managers = map.metadata.managed_fields.unwrap();
        assert_eq!(
            managers[0].manager.as_deref(),
            Some("kube-controller-manager")
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_changed_or_deleted_is_restored() {
    let f = Fixture::start("root-ca-cert-publisher").await;
    for patch in [
        json!({"data": {"ca.crt": "mine"}}),
        json!({"data": {"more": "of it"}}),
        json!({"metadata": {"annotations": null}}),
    ] {
        let patch = Patch::Merge(patch);
        let changed = f
            .maps("default")
            .patch(ROOT_CA, &PatchParams::default(), &patch)
            .await
            .unwrap();
        let version = changed.metadata.resource_version;
        let map = f
            .until(ROOT_CA, |map| map.metadata.resource_version != version)
            .await;
        let data = map.data.unwrap();
        assert_eq!(data.len(), 1);
        assert_eq!(data["ca.crt"], "the authority");
        assert_eq!(map.metadata.annotations.unwrap().len(), 1);
    }
    let uid = f.find(ROOT_CA).await.unwrap().metadata.uid;
    let maps = f.maps("default");
    maps.delete(ROOT_CA, &DeleteParams::default())
        .await
        .unwrap();
    f.until(ROOT_CA, |map| map.metadata.uid != uid).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_published_where_a_namespace_goes() {
    let f = Fixture::start("default").await;
    f.namespace("shop").await;
    f.settled().await;
    let patch = Patch::Merge(json!({"metadata": {"finalizers": ["shop/hold"]}}));
    let maps = f.maps("shop");
    f.map_in("shop", "held", &[]).await;
    maps.patch("held", &PatchParams::default(), &patch)
        .await
        .unwrap();
    f.namespaces()
        .delete("shop", &DeleteParams::default())
        .await
        .unwrap();
    wait_for_deletion(&accounts(&f, "shop"), "default", None, LONG)
        .await
        .unwrap();
    wait_for_deletion(&maps, ROOT_CA, None, LONG).await.unwrap();
    f.settled().await;
    assert!(maps.get_opt(ROOT_CA).await.unwrap().is_none());
    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    maps.patch("held", &PatchParams::default(), &patch)
        .await
        .unwrap();
    wait_for_deletion(&f.namespaces(), "shop", None, LONG)
        .await
        .unwrap();
}
