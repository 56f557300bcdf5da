//! The usage of resource quotas, kept by the controller and enforced by admission.

use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, ResourceQuota};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use kubewright_client::ErrorExt;
use serde_json::{Value, json};

use super::{replica_set, template};
use crate::fixture::Fixture;

fn quotas(f: &Fixture) -> Api<ResourceQuota> {
    Api::default_namespaced(f.client())
}

async fn quota(f: &Fixture, spec: Value) {
    f.create(json!({
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "default"}, "spec": spec,
    }))
    .await;
    f.settled().await;
}

async fn status(f: &Fixture) -> Value {
    json!(quotas(f).get("q").await.unwrap().status)
}

async fn used(f: &Fixture) -> Value {
    status(f).await["used"].clone()
}

async fn pod(f: &Fixture, name: &str, cpu: &str) -> Result<Pod, kube::Error> {
    let pod = json!({
        "metadata": {"name": name},
        "spec": {"containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}},
        ]},
    });
    let pod = serde_json::from_value(pod).unwrap();
    f.pods().create(&PostParams::default(), &pod).await
}

#[tokio::test]
async fn a_quota_counts_what_is_there_and_what_comes_and_goes() {
    let f = Fixture::start("resourcequota").await;
    pod(&f, "p1", "250m").await.unwrap();
    quota(
        &f,
        json!({"hard": {"pods": "2", "requests.cpu": "1", "services": "5"}}),
    )
    .await;
    assert_eq!(
        status(&f).await,
        json!({
            "hard": {"pods": "2", "requests.cpu": "1", "services": "5"},
            "used": {"pods": "1", "requests.cpu": "250m", "services": "1"},
        })
    );
    pod(&f, "p2", "500m").await.unwrap();
    let refused = pod(&f, "p3", "100m").await.unwrap_err();
    assert_eq!(
        refused.api_status().unwrap().message,
        "pods \"p3\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"
    );
    assert_eq!(used(&f).await["requests.cpu"], "750m");
    let now = DeleteParams::default().grace_period(0);
    f.pods().delete("p1", &now).await.unwrap();
    f.settled().await;
    assert_eq!(
        used(&f).await,
        json!({"pods": "1", "requests.cpu": "500m", "services": "1"})
    );
    // A pod that has ended uses nothing.
    f.set_pod_status("p2", json!({"phase": "Succeeded"})).await;
    f.settled().await;
    assert_eq!(used(&f).await["pods"], "0");
    pod(&f, "p3", "1").await.unwrap();
}

#[tokio::test]
async fn limits_that_change_take_effect_with_their_usage() {
    let f = Fixture::start("resourcequota").await;
    pod(&f, "p1", "250m").await.unwrap();
    quota(&f, json!({"hard": {"pods": "2"}})).await;
    let patch = Patch::Merge(json!({"spec": {"hard": {"pods": "1", "count/pods": "9"}}}));
    let params = PatchParams::default();
    quotas(&f).patch("q", &params, &patch).await.unwrap();
    f.settled().await;
    assert_eq!(
        status(&f).await,
        json!({"hard": {"pods": "1", "count/pods": "9"}, "used": {"pods": "1", "count/pods": "1"}})
    );
    assert!(pod(&f, "p2", "1").await.is_err());
}

#[tokio::test]
async fn objects_of_any_kind_are_counted() {
    let f = Fixture::start("resourcequota").await;
    let before = f.maps("default").list(&Default::default()).await.unwrap();
    assert_eq!(before.items.len(), 0);
    f.map("m1", &[]).await;
    f.create(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.shop.example.com"},
        "spec": {
            "group": "shop.example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    }))
    .await;
    let widget = json!({
        "apiVersion": "shop.example.com/v1", "kind": "Widget",
        "metadata": {"name": "w", "namespace": "default"},
    });
    f.create(widget).await;
    let hard = json!({"configmaps": "2", "count/widgets.shop.example.com": "3", "count/deployments.apps": "4", "count/gadgets.none": "1"});
    quota(&f, json!({"hard": hard})).await;
    let expected = json!({"configmaps": "1", "count/widgets.shop.example.com": "1", "count/deployments.apps": "0"});
    assert_eq!(used(&f).await, expected);
    f.map("m2", &[]).await;
    let third: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "m3"}})).unwrap();
    let third = f
        .maps("default")
        .create(&PostParams::default(), &third)
        .await;
    assert!(
        third
            .unwrap_err()
            .api_status()
            .unwrap()
            .message
            .contains("exceeded quota")
    );
    f.maps("default")
        .delete("m1", &DeleteParams::default())
        .await
        .unwrap();
    f.settled().await;
    assert_eq!(used(&f).await["configmaps"], "1");
}

#[tokio::test]
async fn scopes_choose_the_pods_that_are_counted() {
    let f = Fixture::start("resourcequota").await;
    let scoped = json!({"hard": {"pods": "5"}, "scopes": ["BestEffort"]});
    quota(&f, scoped).await;
    pod(&f, "p1", "250m").await.unwrap();
    let idle =
        json!({"metadata": {"name": "p2"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let idle: Pod = serde_json::from_value(idle).unwrap();
    f.pods()
        .create(&PostParams::default(), &idle)
        .await
        .unwrap();
    f.settled().await;
    assert_eq!(used(&f).await, json!({"pods": "1"}));
    f.pods()
        .delete("p2", &DeleteParams::default().grace_period(0))
        .await
        .unwrap();
    f.settled().await;
    assert_eq!(used(&f).await, json!({"pods": "0"}));
}

#[tokio::test]
async fn a_claim_that_changes_its_attributes_class_leaves_the_quota_of_the_former() {
    let f = Fixture::start("resourcequota").await;
    let selector = json!({"matchExpressions": [
        {"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["gold"]},
    ]});
    let hard = json!({"persistentvolumeclaims": "1"});
    quota(&f, json!({"hard": hard, "scopeSelector": selector})).await;
    f.create(json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
            "volumeAttributesClassName": "silver",
        },
    }))
    .await;
    let claims: Api<PersistentVolumeClaim> = Api::default_namespaced(f.client());
    for (class, count) in [("gold", "1"), ("silver", "0")] {
        let status = json!({"status": {"currentVolumeAttributesClassName": class}});
        let status = Patch::Merge(status);
        claims
            .patch_status("c", &PatchParams::default(), &status)
            .await
            .unwrap();
        f.settled().await;
        assert_eq!(used(&f).await["persistentvolumeclaims"], count, "{class}");
    }
}

/// Lets ten minutes pass. A set that may not have more pods tries again, so nothing is ever settled.
async fn advance(f: &Fixture) {
    let time = f.cluster.time();
    time.advance(std::time::Duration::from_secs(600)).await;
}

#[tokio::test(start_paused = true)]
async fn a_quota_that_allows_one_pod_of_ten_gets_one_and_then_the_next() {
    let f = Fixture::start("resourcequota,replicaset").await;
    quota(&f, json!({"hard": {"pods": "1"}})).await;
    f.create(replica_set("web", 10, template("nginx", json!({}))))
        .await;
    advance(&f).await;
    let pods = f.pod_list().await;
    assert_eq!(pods.len(), 1);
    assert_eq!(used(&f).await["pods"], "1");
    let now = DeleteParams::default().grace_period(0);
    f.pods().delete(&pods[0].name_any(), &now).await.unwrap();
    advance(&f).await;
    let next = f.pod_list().await;
    assert_eq!(next.len(), 1);
    assert_ne!(next[0].name_any(), pods[0].name_any());
    // Failures are few, and their events are one.
    let told = f.events("web").await;
    let failed = told.keys().filter(|(reason, _)| reason == "FailedCreate");
    assert!(failed.count() <= 20, "{told:?}");
}
