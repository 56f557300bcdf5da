//! Storage objects that are in use.

use k8s_openapi::api::{
    core::v1::{PersistentVolume, PersistentVolumeClaim, Pod},
    storage::v1::VolumeAttributesClass,
};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use kubewright_controller::wait::{wait_for, wait_for_deletion};
use serde_json::{Value, json};

use crate::fixture::{Fixture, LONG};

const CLAIM: &str = "kubernetes.io/pvc-protection";

fn claims(f: &Fixture) -> Api<PersistentVolumeClaim> {
    Api::default_namespaced(f.client())
}

fn pods(f: &Fixture) -> Api<Pod> {
    Api::default_namespaced(f.client())
}

async fn claim(f: &Fixture, spec: Value) {
    let mut all = json!({
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
    });
    for (field, value) in spec.as_object().unwrap() {
        all[field] = value.clone();
    }
    f.create(json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default"}, "spec": all,
    }))
    .await;
}

async fn pod(f: &Fixture, node: &str) {
    f.create(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "user", "namespace": "default"},
        "spec": {
            "nodeName": node, "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}],
        },
    }))
    .await;
}

async fn volume(f: &Fixture, class: Value) {
    f.create(json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "disk"},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": "example.com", "volumeHandle": "h"},
            "volumeAttributesClassName": class,
        },
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_is_kept_while_a_scheduled_pod_uses_it() {
    let f = Fixture::start("pvc-protection").await;
    claim(&f, json!({})).await;
    pod(&f, "n1").await;
    let deleted = claims(&f).delete("data", &DeleteParams::default()).await;
    assert!(deleted.unwrap().is_left());
    f.settled().await;
    let kept = claims(&f).get("data").await.unwrap();
    assert_eq!(kept.metadata.finalizers.unwrap(), [CLAIM]);
    // A pod that has terminated still uses it.
    let done = Patch::Merge(json!({"status": {"phase": "Succeeded"}}));
    let params = PatchParams::default();
    pods(&f).patch_status("user", &params, &done).await.unwrap();
    f.settled().await;
    assert!(claims(&f).get_opt("data").await.unwrap().is_some());

    pods(&f)
        .delete("user", &DeleteParams::default().grace_period(0))
        .await
        .unwrap();
    wait_for_deletion(&claims(&f), "data", None, LONG)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_is_not_scheduled_does_not_keep_a_claim() {
    let f = Fixture::start("pvc-protection").await;
    claim(&f, json!({})).await;
    pod(&f, "").await;
    claims(&f)
        .delete("data", &DeleteParams::default())
        .await
        .unwrap();
    wait_for_deletion(&claims(&f), "data", None, LONG)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_without_the_finalizer_gets_it() {
    let f = Fixture::start("pvc-protection").await;
    claim(&f, json!({})).await;
    let without = Patch::Merge(json!({"metadata": {"finalizers": ["example.com/other"]}}));
    claims(&f)
        .patch("data", &PatchParams::default(), &without)
        .await
        .unwrap();
    let claims = claims(&f);
    let claim = wait_for(&claims, "data", LONG, |claim| {
        claim.is_some_and(|claim| claim.metadata.finalizers.as_ref().unwrap().len() == 2)
    });
    let finalizers = claim.await.unwrap().unwrap().metadata.finalizers.unwrap();
    assert_eq!(finalizers, ["example.com/other", CLAIM]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_volume_is_kept_while_it_is_bound() {
    let f = Fixture::start("pv-protection").await;
    let volumes: Api<PersistentVolume> = Api::all(f.client());
    volume(&f, Value::Null).await;
    let phase = |phase: &str| Patch::Merge(json!({"status": {"phase": phase}}));
    let params = PatchParams::default();
    volumes
        .patch_status("disk", &params, &phase("Bound"))
        .await
        .unwrap();
    volumes
        .delete("disk", &DeleteParams::default())
        .await
        .unwrap();
    f.settled().await;
    assert!(volumes.get_opt("disk").await.unwrap().is_some());
    volumes
        .patch_status("disk", &params, &phase("Released"))
        .await
        .unwrap();
    wait_for_deletion(&volumes, "disk", None, LONG)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_class_is_kept_while_a_volume_or_a_claim_names_it() {
    // Without the binder, which would bind the volume to the claim.
    let controllers = "pv-protection,pvc-protection,volumeattributesclass-protection-controller";
    let f = Fixture::start(controllers).await;
    let classes: Api<VolumeAttributesClass> = Api::all(f.client());
    f.create(json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass",
        "metadata": {"name": "fast"}, "driverName": "example.com", "parameters": {"iops": "100"},
    }))
    .await;
    volume(&f, json!("fast")).await;
    claim(&f, json!({"volumeAttributesClassName": "fast"})).await;
    classes
        .delete("fast", &DeleteParams::default())
        .await
        .unwrap();
    let volumes: Api<PersistentVolume> = Api::all(f.client());
    volumes
        .delete("disk", &DeleteParams::default())
        .await
        .unwrap();
    wait_for_deletion(&volumes, "disk", None, LONG)
        .await
        .unwrap();
    f.settled().await;
    assert!(classes.get_opt("fast").await.unwrap().is_some());
    claims(&f)
        .delete("data", &DeleteParams::default())
        .await
        .unwrap();
    wait_for_deletion(&classes, "fast", None, LONG)
        .await
        .unwrap();
}
