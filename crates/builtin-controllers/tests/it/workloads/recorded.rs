//! Comparison with what kube-controller-manager 1.36.4 did, without scheduler and nodes.

use std::collections::BTreeMap;

use k8s_openapi::api::{
    apps::v1::{ControllerRevision, StatefulSet},
    core::v1::PersistentVolumeClaim,
};
use kube::{
    Api, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use super::{conditions, deployment, template};
use crate::fixture::Fixture;

async fn patch_strategically(f: &Fixture, change: Value) {
    let (patch, params) = (Patch::Strategic(change), PatchParams::default());
    f.deployments().patch("web", &params, &patch).await.unwrap();
    f.settled().await;
}

/// Returns the messages of events with their counts.
async fn told(f: &Fixture, object: &str) -> BTreeMap<String, i32> {
    let events = f.events(object).await.into_iter();
    events
        .map(|((reason, message), count)| (format!("{reason}: {message}"), count))
        .collect()
}

fn counted(events: &[(&str, i32)]) -> BTreeMap<String, i32> {
    events
        .iter()
        .map(|(text, count)| ((*text).to_owned(), *count))
        .collect()
}

#[tokio::test]
async fn a_deployment_that_is_changed_scaled_and_changed_back() {
    let f = Fixture::workloads().await;
    f.create(deployment(2, json!({}))).await;
    f.settled().await;
    let image = |image: &str| json!({"spec": {"template": {"spec": {"containers": [{"name": "nginx", "image": image}]}}}});
    patch_strategically(&f, image("nginx:2")).await;
    patch_strategically(&f, json!({"spec": {"replicas": 4}})).await;
    patch_strategically(&f, image("nginx")).await;
    let sets = f.set_list().await;
    let sets: Vec<Value> = sets
        .iter()
        .map(|set| {
            json!([
                set.name_any(),
                set.annotations(),
                set.spec.replicas,
                set.status
            ])
        })
        .collect();
    let size = |count: i32| json!({"fullyLabeledReplicas": count, "observedGeneration": 2, "replicas": count, "terminatingReplicas": 0});
    assert_eq!(
        json!(sets),
        json!([
            ["web-5697c88874", {
                "deployment.kubernetes.io/desired-replicas": "4",
                "deployment.kubernetes.io/max-replicas": "5",
                "deployment.kubernetes.io/revision": "2",
            }, 2, size(2)],
            ["web-7887448d46", {
                "deployment.kubernetes.io/desired-replicas": "4",
                "deployment.kubernetes.io/max-replicas": "5",
                "deployment.kubernetes.io/revision": "3",
                "deployment.kubernetes.io/revision-history": "1",
            }, 3, size(3)],
        ])
    );
    let web = f.deployment("web").await;
    assert_eq!(
        conditions(&web),
        [
            ["Available", "False", "MinimumReplicasUnavailable"],
            ["Progressing", "True", "ReplicaSetUpdated"],
        ]
    );
    let mut status = web["status"].clone();
    status.as_object_mut().unwrap().remove("conditions");
    assert_eq!(
        status,
        json!({
            "observedGeneration": 4, "replicas": 5, "terminatingReplicas": 0,
            "unavailableReplicas": 5, "updatedReplicas": 3,
        })
    );
    assert_eq!(
        told(&f, "web").await,
        counted(&[
            (
                "ScalingReplicaSet: Scaled up replica set web-7887448d46 from 0 to 2",
                1
            ),
            (
                "ScalingReplicaSet: Scaled up replica set web-5697c88874 from 0 to 1",
                1
            ),
            (
                "ScalingReplicaSet: Scaled up replica set web-7887448d46 from 2 to 3",
                1
            ),
            (
                "ScalingReplicaSet: Scaled up replica set web-5697c88874 from 1 to 2",
                1
            ),
        ])
    );
}

#[tokio::test]
async fn a_revision_whose_name_depends_on_escapes() {
    let f = Fixture::start("statefulset").await;
    let mut template = template("nginx", json!({}));
    template["spec"]["containers"][0]["args"] = json!(["<a>&"]);
    template["metadata"]["labels"] = json!({"app": "web2"});
    f.create(json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "default"},
        "spec": {"serviceName": "nginx", "selector": {"matchLabels": {"app": "web2"}}, "template": template},
    }))
    .await;
    f.settled().await;
    let revisions: Api<ControllerRevision> = Api::default_namespaced(f.client());
    let revision = revisions.get("db-85f7858458").await.unwrap();
    assert_eq!(
        json!(revision.labels()),
        json!({"app": "web2", "controller.kubernetes.io/hash": "85f7858458"})
    );
}

#[tokio::test]
async fn a_stateful_set_with_claims_that_is_changed_and_scaled() {
    let f = Fixture::start("statefulset,garbagecollector").await;
    let mut template = template("nginx", json!({}));
    template["metadata"]["labels"] = json!({"app": "disk"});
    f.create(json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "disk", "namespace": "default", "annotations": {"note": "first"}},
        "spec": {
            "replicas": 3, "serviceName": "nginx", "podManagementPolicy": "Parallel",
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Delete"},
            "selector": {"matchLabels": {"app": "disk"}}, "template": template,
            "volumeClaimTemplates": [{
                "metadata": {"name": "data", "labels": {"kind": "disk"}},
                "spec": {
                    "accessModes": ["ReadWriteOnce"], "storageClassName": "none",
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }],
        },
    }))
    .await;
    f.settled().await;
    let sets: Api<StatefulSet> = Api::default_namespaced(f.client());
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "nginx", "image": "nginx:2"}]}}}});
    for change in [image, json!({"spec": {"replicas": 2}})] {
        let (patch, params) = (Patch::Strategic(change), PatchParams::default());
        sets.patch("disk", &params, &patch).await.unwrap();
        f.settled().await;
    }
    assert_eq!(
        json!(sets.get("disk").await.unwrap().status),
        json!({
            "availableReplicas": 0, "collisionCount": 0, "currentReplicas": 1,
            "currentRevision": "disk-6d66fb5d68", "observedGeneration": 3, "replicas": 2,
            "updateRevision": "disk-7bc8c7688", "updatedReplicas": 1,
        })
    );
    let pods = f.pod_list().await;
    let pods: Vec<Value> = pods
        .iter()
        .map(|pod| json!([pod.name_any(), pod.labels()["controller-revision-hash"]]))
        .collect();
    assert_eq!(
        json!(pods),
        json!([["disk-0", "disk-6d66fb5d68"], ["disk-1", "disk-7bc8c7688"]])
    );
    let claims: Api<PersistentVolumeClaim> = Api::default_namespaced(f.client());
    let claims = claims.list(&ListParams::default()).await.unwrap();
    let claims: Vec<Value> = claims
        .iter()
        .filter(|claim| claim.metadata.deletion_timestamp.is_none())
        .map(|claim| {
            json!([
                claim.name_any(),
                claim.labels(),
                claim.owner_references()[0].kind
            ])
        })
        .collect();
    let labels = json!({"app": "disk", "kind": "disk"});
    assert_eq!(
        json!(claims),
        json!([
            ["data-disk-0", labels, "StatefulSet"],
            ["data-disk-1", labels, "StatefulSet"]
        ])
    );
    let revisions: Api<ControllerRevision> = Api::default_namespaced(f.client());
    let revisions = revisions.list(&ListParams::default()).await.unwrap();
    let revisions: Vec<Value> = revisions
        .iter()
        .map(|revision| {
            json!([
                revision.name_any(),
                revision.revision,
                revision.annotations()
            ])
        })
        .collect();
    let note = json!({"note": "first"});
    assert_eq!(
        json!(revisions),
        json!([["disk-6d66fb5d68", 1, note], ["disk-7bc8c7688", 2, note]])
    );
    assert_eq!(
        told(&f, "disk").await,
        counted(&[
            (
                "SuccessfulCreate: Create Claim data-disk-0 Pod disk-0 in StatefulSet disk success",
                1
            ),
            (
                "SuccessfulCreate: Create Claim data-disk-1 Pod disk-1 in StatefulSet disk success",
                1
            ),
            (
                "SuccessfulCreate: Create Claim data-disk-2 Pod disk-2 in StatefulSet disk success",
                1
            ),
            (
                "SuccessfulCreate: Create Pod disk-0 in StatefulSet disk successful",
                1
            ),
            (
                "SuccessfulCreate: Create Pod disk-1 in StatefulSet disk successful",
                2
            ),
            (
                "SuccessfulCreate: Create Pod disk-2 in StatefulSet disk successful",
                2
            ),
            (
                "SuccessfulDelete: Delete Pod disk-1 in StatefulSet disk successful",
                1
            ),
            (
                "SuccessfulDelete: Delete Pod disk-2 in StatefulSet disk successful",
                2
            ),
        ])
    );
}
