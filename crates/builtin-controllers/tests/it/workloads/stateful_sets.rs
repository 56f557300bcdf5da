//! StatefulSets: order, claims, revisions.

use std::time::Duration;

use k8s_openapi::api::{
    apps::v1::{ControllerRevision, StatefulSet},
    core::v1::{PersistentVolumeClaim, Pod},
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use super::template;
use crate::fixture::Fixture;

async fn start() -> Fixture {
    Fixture::start("statefulset").await
}

fn sets(f: &Fixture) -> Api<StatefulSet> {
    Api::default_namespaced(f.client())
}

/// Returns a StatefulSet named `web` with more in its spec.
fn stateful_set(replicas: i32, more: Value) -> Value {
    let mut set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "web", "namespace": "default", "annotations": {"kubernetes.io/change-cause": "first"}},
        "spec": {
            "replicas": replicas, "serviceName": "nginx", "selector": {"matchLabels": {"app": "web"}},
            "template": template("nginx", json!({})),
        },
    });
    for (field, value) in more.as_object().unwrap() {
        set["spec"][field] = value.clone();
    }
    set
}

async fn patch(f: &Fixture, spec: Value) {
    let patch = Patch::Merge(json!({"spec": spec}));
    let params = PatchParams::default();
    sets(f).patch("web", &params, &patch).await.unwrap();
    f.settled().await;
}

async fn status(f: &Fixture) -> Value {
    json!(sets(f).get("web").await.unwrap().status)
}

async fn names(f: &Fixture) -> Vec<String> {
    f.pod_list()
        .await
        .iter()
        .map(ResourceExt::name_any)
        .collect()
}

async fn ready(f: &Fixture, pod: &str) {
    f.make_ready(pod).await;
    f.settled().await;
}

async fn delete(f: &Fixture, pod: &str) {
    f.pods()
        .delete(pod, &DeleteParams::default())
        .await
        .unwrap();
    f.settled().await;
}

async fn revisions(f: &Fixture) -> Vec<ControllerRevision> {
    let revisions: Api<ControllerRevision> = Api::default_namespaced(f.client());
    let mut revisions = revisions.list(&ListParams::default()).await.unwrap().items;
    revisions.sort_by_key(|revision| revision.revision);
    revisions
}

fn image(pod: &Pod) -> String {
    let spec = pod.spec.as_ref().unwrap();
    spec.containers[0].image.clone().unwrap()
}

async fn images(f: &Fixture) -> Vec<String> {
    f.pod_list().await.iter().map(image).collect()
}

#[tokio::test]
async fn pods_are_created_one_after_the_other() {
    let f = start().await;
    let set = f.create(stateful_set(3, json!({}))).await;
    f.settled().await;
    assert_eq!(names(&f).await, ["web-0"]);
    let pod = json!(f.pods().get("web-0").await.unwrap());
    let revision = &revisions(&f).await[0];
    assert_eq!(
        pod["metadata"]["labels"],
        json!({
            "app": "web", "statefulset.kubernetes.io/pod-name": "web-0",
            "apps.kubernetes.io/pod-index": "0", "controller-revision-hash": revision.name_any(),
        })
    );
    assert_eq!(pod["metadata"]["generateName"], "web-");
    assert_eq!(
        pod["metadata"]["ownerReferences"][0]["uid"],
        json!(set.uid())
    );
    assert_eq!(
        (&pod["spec"]["hostname"], &pod["spec"]["subdomain"]),
        (&json!("web-0"), &json!("nginx"))
    );
    ready(&f, "web-0").await;
    assert_eq!(names(&f).await, ["web-0", "web-1"]);
    f.run_to_the_end().await;
    assert_eq!(names(&f).await, ["web-0", "web-1", "web-2"]);
    let name = revision.name_any();
    assert_eq!(
        status(&f).await,
        json!({
            "observedGeneration": 1, "replicas": 3, "readyReplicas": 3, "availableReplicas": 3,
            "currentReplicas": 3, "updatedReplicas": 3, "currentRevision": name, "updateRevision": name,
            "collisionCount": 0,
        })
    );
    let events = f.events("web").await;
    let told: Vec<&str> = events.keys().map(|(_, message)| message.as_str()).collect();
    assert_eq!(
        told,
        [0, 1, 2].map(|i| format!("Create Pod web-{i} in StatefulSet web successful"))
    );
}

#[tokio::test]
async fn a_revision_holds_the_template() {
    let f = start().await;
    let set = f.create(stateful_set(1, json!({}))).await;
    f.settled().await;
    let revision = json!(revisions(&f).await[0]);
    let hash = revision["metadata"]["labels"]["controller.kubernetes.io/hash"]
        .as_str()
        .unwrap();
    assert_eq!(revision["metadata"]["name"], format!("web-{hash}"));
    assert_eq!(revision["metadata"]["labels"]["app"], "web");
    assert_eq!(
        revision["metadata"]["annotations"],
        json!({"kubernetes.io/change-cause": "first"})
    );
    assert_eq!(
        revision["metadata"]["ownerReferences"][0]["uid"],
        json!(set.uid())
    );
    assert_eq!(revision["revision"], 1);
    assert_eq!(revision["data"]["spec"]["template"]["$patch"], "replace");
    assert_eq!(
        revision["data"]["spec"]["template"]["spec"]["containers"][0]["image"],
        "nginx"
    );
}

#[tokio::test]
async fn in_parallel_all_pods_are_created_and_deleted_at_once() {
    let f = start().await;
    f.create(stateful_set(4, json!({"podManagementPolicy": "Parallel"})))
        .await;
    f.settled().await;
    assert_eq!(names(&f).await, ["web-0", "web-1", "web-2", "web-3"]);
    patch(&f, json!({"replicas": 1})).await;
    assert_eq!(names(&f).await, ["web-0"]);
}

#[tokio::test]
async fn ordinals_begin_where_the_set_says() {
    let f = start().await;
    f.create(stateful_set(2, json!({"ordinals": {"start": 5}})))
        .await;
    f.run_to_the_end().await;
    assert_eq!(names(&f).await, ["web-5", "web-6"]);
}

#[tokio::test]
async fn pods_are_deleted_from_the_highest_and_each_waits_for_the_one_above() {
    let f = start().await;
    let pinned = json!({"template": template("nginx", json!({"nodeName": "n1"}))});
    f.create(stateful_set(3, pinned)).await;
    f.run_to_the_end().await;
    patch(&f, json!({"replicas": 0})).await;
    let terminating = |pods: Vec<Pod>| -> Vec<String> {
        let deleted = pods
            .iter()
            .filter(|pod| pod.metadata.deletion_timestamp.is_some());
        deleted.map(ResourceExt::name_any).collect()
    };
    for (i, pod) in ["web-2", "web-1", "web-0"].into_iter().enumerate() {
        assert_eq!(terminating(f.pod_list().await), [pod]);
        assert_eq!(f.pod_list().await.len(), 3 - i);
        let force = DeleteParams::default().grace_period(0);
        f.pods().delete(pod, &force).await.unwrap();
        f.settled().await;
    }
    assert!(f.pod_list().await.is_empty());
}

#[tokio::test]
async fn nothing_is_deleted_while_a_lower_pod_is_not_available() {
    let f = start().await;
    f.create(stateful_set(3, json!({}))).await;
    f.run_to_the_end().await;
    f.set_pod_status(
        "web-0",
        json!({"conditions": [{"type": "Ready", "status": "False"}]}),
    )
    .await;
    f.settled().await;
    patch(&f, json!({"replicas": 2})).await;
    assert_eq!(names(&f).await.len(), 3);
    ready(&f, "web-0").await;
    assert_eq!(names(&f).await, ["web-0", "web-1"]);
}

#[tokio::test]
async fn a_failed_pod_is_created_again_under_its_name() {
    let f = start().await;
    f.create(stateful_set(2, json!({}))).await;
    f.run_to_the_end().await;
    let before = f.pods().get("web-1").await.unwrap();
    f.set_pod_status("web-1", json!({"phase": "Failed"})).await;
    f.settled().await;
    let after = f.pods().get("web-1").await.unwrap();
    assert_ne!(before.uid(), after.uid());
    assert_eq!(names(&f).await, ["web-0", "web-1"]);
}

#[tokio::test]
async fn a_rolling_update_replaces_pods_from_the_highest() {
    let f = start().await;
    f.create(stateful_set(3, json!({}))).await;
    f.run_to_the_end().await;
    patch(&f, json!({"template": template("nginx:2", json!({}))})).await;
    assert_eq!(images(&f).await, ["nginx", "nginx", "nginx:2"]);
    let now = status(&f).await;
    assert_ne!(now["currentRevision"], now["updateRevision"]);
    assert_eq!(
        (&now["currentReplicas"], &now["updatedReplicas"]),
        (&json!(2), &json!(1))
    );
    ready(&f, "web-2").await;
    assert_eq!(images(&f).await, ["nginx", "nginx:2", "nginx:2"]);
    f.run_to_the_end().await;
    assert_eq!(images(&f).await, ["nginx:2"; 3]);
    let now = status(&f).await;
    assert_eq!(now["currentRevision"], now["updateRevision"]);
    assert_eq!(
        (&now["currentReplicas"], &now["updatedReplicas"]),
        (&json!(3), &json!(3))
    );
}

#[tokio::test]
async fn below_the_partition_pods_stay_and_come_back_old() {
    let f = start().await;
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}});
    f.create(stateful_set(3, json!({"updateStrategy": strategy})))
        .await;
    f.run_to_the_end().await;
    patch(&f, json!({"template": template("nginx:2", json!({}))})).await;
    f.run_to_the_end().await;
    assert_eq!(images(&f).await, ["nginx", "nginx", "nginx:2"]);
    delete(&f, "web-0").await;
    f.run_to_the_end().await;
    assert_eq!(images(&f).await, ["nginx", "nginx", "nginx:2"]);
    patch(
        &f,
        json!({"updateStrategy": {"rollingUpdate": {"partition": 0}}}),
    )
    .await;
    f.run_to_the_end().await;
    assert_eq!(images(&f).await, ["nginx:2"; 3]);
}

#[tokio::test]
async fn on_delete_pods_are_replaced_when_they_are_deleted() {
    let f = start().await;
    f.create(stateful_set(
        2,
        json!({"updateStrategy": {"type": "OnDelete"}}),
    ))
    .await;
    f.run_to_the_end().await;
    patch(&f, json!({"template": template("nginx:2", json!({}))})).await;
    assert_eq!(images(&f).await, ["nginx", "nginx"]);
    delete(&f, "web-1").await;
    assert_eq!(images(&f).await, ["nginx", "nginx:2"]);
}

#[tokio::test]
async fn a_template_that_returns_gets_its_revision_back_with_a_new_number() {
    let f = start().await;
    f.create(stateful_set(1, json!({"revisionHistoryLimit": 1})))
        .await;
    f.run_to_the_end().await;
    let first = revisions(&f).await.remove(0).name_any();
    for image in ["nginx:2", "nginx"] {
        patch(&f, json!({"template": template(image, json!({}))})).await;
        f.run_to_the_end().await;
    }
    let known = revisions(&f).await;
    let known: Vec<(String, i64)> = known
        .iter()
        .map(|r| (r.name_any(), r.revision.unwrap()))
        .collect();
    assert_eq!(known.len(), 2);
    assert_eq!(known[1], (first, 3));
    // Those beyond the limit go, the oldest first.
    for image in ["nginx:3", "nginx:4"] {
        patch(&f, json!({"template": template(image, json!({}))})).await;
        f.run_to_the_end().await;
    }
    let numbers: Vec<i64> = revisions(&f)
        .await
        .iter()
        .filter_map(|r| r.revision)
        .collect();
    assert_eq!(numbers, [4, 5]);
}

fn with_claims(replicas: i32, policy: Value) -> Value {
    stateful_set(
        replicas,
        json!({
            "persistentVolumeClaimRetentionPolicy": policy,
            "volumeClaimTemplates": [{
                "metadata": {"name": "data", "labels": {"kind": "disk"}},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }],
        }),
    )
}

fn claims(f: &Fixture) -> Api<PersistentVolumeClaim> {
    Api::default_namespaced(f.client())
}

/// Returns the kinds and names of the owners of claims.
async fn owners(f: &Fixture) -> Vec<String> {
    let claims = claims(f).list(&ListParams::default()).await.unwrap();
    let text = |claim: &PersistentVolumeClaim| {
        let owners = claim.owner_references().iter();
        let owners: Vec<String> = owners.map(|o| format!("{}/{}", o.kind, o.name)).collect();
        format!("{} {}", claim.name_any(), owners.join(" "))
    };
    claims.iter().map(text).collect()
}

#[tokio::test]
async fn every_pod_has_a_claim_of_its_own_which_stays() {
    let f = start().await;
    f.create(with_claims(2, json!({}))).await;
    f.run_to_the_end().await;
    let claim = claims(&f).get("data-web-1").await.unwrap();
    assert_eq!(json!(claim.labels()), json!({"app": "web", "kind": "disk"}));
    let pod = json!(f.pods().get("web-1").await.unwrap());
    let volume = json!({"name": "data", "persistentVolumeClaim": {"claimName": "data-web-1"}});
    assert_eq!(pod["spec"]["volumes"][0], volume);
    let told = "Create Claim data-web-1 Pod web-1 in StatefulSet web success".to_owned();
    assert_eq!(
        f.events("web").await[&("SuccessfulCreate".to_owned(), told)],
        1
    );
    patch(&f, json!({"replicas": 1})).await;
    assert_eq!(owners(&f).await, ["data-web-0 ", "data-web-1 "]);
    let before = claim.uid();
    patch(&f, json!({"replicas": 2})).await;
    assert_eq!(claims(&f).get("data-web-1").await.unwrap().uid(), before);
}

#[tokio::test]
async fn claims_belong_to_the_set_or_to_the_pod_as_the_policy_says() {
    let f = start().await;
    let both = json!({"whenDeleted": "Delete", "whenScaled": "Delete"});
    f.create(with_claims(2, both)).await;
    f.run_to_the_end().await;
    let of_set = ["data-web-0 StatefulSet/web", "data-web-1 StatefulSet/web"];
    assert_eq!(owners(&f).await, of_set);
    patch(&f, json!({"replicas": 1})).await;
    assert_eq!(
        owners(&f).await,
        ["data-web-0 StatefulSet/web", "data-web-1 Pod/web-1"]
    );
    let retain = json!({"whenDeleted": "Retain", "whenScaled": "Retain"});
    patch(&f, json!({"persistentVolumeClaimRetentionPolicy": retain})).await;
    assert_eq!(owners(&f).await[0], "data-web-0 ");
}

#[tokio::test]
async fn a_claim_of_a_former_pod_holds_up_the_next_one() {
    let f = start().await;
    let scaled = json!({"whenDeleted": "Retain", "whenScaled": "Delete"});
    f.create(with_claims(2, scaled)).await;
    f.run_to_the_end().await;
    patch(&f, json!({"replicas": 1})).await;
    // Nothing collects the claim, whose pod is gone.
    assert_eq!(owners(&f).await, ["data-web-0 ", "data-web-1 Pod/web-1"]);
    patch(&f, json!({"replicas": 2})).await;
    assert_eq!(names(&f).await, ["web-0"]);
}

#[tokio::test(start_paused = true)]
async fn the_next_pod_waits_until_the_last_one_is_available() {
    let f = start().await;
    f.create(stateful_set(2, json!({"minReadySeconds": 20})))
        .await;
    f.settled().await;
    ready(&f, "web-0").await;
    assert_eq!(names(&f).await, ["web-0"]);
    f.cluster.time().advance(Duration::from_secs(21)).await;
    f.settled().await;
    assert_eq!(names(&f).await, ["web-0", "web-1"]);
    assert_eq!(status(&f).await["availableReplicas"], 1);
}

#[tokio::test]
async fn only_pods_with_the_names_of_the_set_are_adopted() {
    let f = start().await;
    for name in ["web-0", "other-0"] {
        f.create(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }))
        .await;
    }
    f.create(stateful_set(1, json!({}))).await;
    f.settled().await;
    let owners = |pod: Pod| pod.owner_references().len();
    assert_eq!(owners(f.pods().get("other-0").await.unwrap()), 0);
    assert_eq!(owners(f.pods().get("web-0").await.unwrap()), 1);
}
