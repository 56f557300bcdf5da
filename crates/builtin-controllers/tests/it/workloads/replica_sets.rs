//! ReplicaSets and ReplicationControllers.

use std::time::Duration;

use k8s_openapi::api::{
    apps::v1::ReplicaSet,
    core::v1::{Pod, ReplicationController},
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PropagationPolicy},
};
use kubewright_apiserver::request::Verb;
use kubewright_controller::wait::wait_for;
use kubewright_testing::{Fault, Match};
use serde_json::{Value, json};

use super::{conditions, replica_set, template};
use crate::fixture::{Fixture, LONG};

fn names(pods: &[Pod]) -> Vec<String> {
    pods.iter().map(ResourceExt::name_any).collect()
}

async fn status(f: &Fixture, name: &str) -> Value {
    json!(f.sets().get(name).await.unwrap().status)
}

async fn scale(f: &Fixture, name: &str, replicas: i32) {
    let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    f.sets()
        .patch(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

#[tokio::test]
async fn missing_pods_are_created_from_the_template() {
    let f = Fixture::workloads().await;
    let mut template = template("nginx", json!({"terminationGracePeriodSeconds": 7}));
    template["metadata"]["annotations"] = json!({"note": "x"});
    template["metadata"]["finalizers"] = json!(["example.com/keep"]);
    let set = f.create(replica_set("web", 3, template)).await;
    f.settled().await;
    let pods = f.pod_list().await;
    assert_eq!(pods.len(), 3);
    for pod in &pods {
        let pod = json!(pod);
        let metadata = &pod["metadata"];
        assert_eq!(metadata["generateName"], "web-");
        assert_eq!(metadata["labels"], json!({"app": "web"}));
        assert_eq!(metadata["annotations"], json!({"note": "x"}));
        assert_eq!(metadata["finalizers"], json!(["example.com/keep"]));
        assert_eq!(
            metadata["ownerReferences"],
            json!([{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": set.uid(),
                "controller": true, "blockOwnerDeletion": true,
            }])
        );
        assert_eq!(
            metadata["managedFields"][0]["manager"],
            "kube-controller-manager"
        );
        assert_eq!(pod["spec"]["terminationGracePeriodSeconds"], 7);
    }
    assert_eq!(
        status(&f, "web").await,
        json!({"replicas": 3, "fullyLabeledReplicas": 3, "terminatingReplicas": 0, "observedGeneration": 1})
    );
    let set = f.sets().get("web").await.unwrap();
    let writer = set
        .managed_fields()
        .iter()
        .find(|entry| entry.subresource.is_some());
    assert_eq!(
        writer.unwrap().manager.as_deref(),
        Some("kube-controller-manager")
    );
    let events = f.events("web").await;
    let told: Vec<&str> = events.keys().map(|(reason, _)| reason.as_str()).collect();
    assert_eq!(told, ["SuccessfulCreate"; 3]);
    for name in names(&pods) {
        let message = format!("Created pod: {name}");
        assert!(events.contains_key(&("SuccessfulCreate".to_owned(), message)));
    }
}

#[tokio::test]
async fn events_come_from_the_controller() {
    let f = Fixture::workloads().await;
    f.create(replica_set("web", 1, template("nginx", json!({}))))
        .await;
    f.settled().await;
    let events: Api<k8s_openapi::api::core::v1::Event> = Api::default_namespaced(f.client());
    let event = json!(events.list(&Default::default()).await.unwrap().items[0]);
    assert_eq!(event["source"]["component"], "replicaset-controller");
    assert_eq!(event["reportingComponent"], "replicaset-controller");
    assert_eq!(event["involvedObject"]["kind"], "ReplicaSet");
}

#[tokio::test]
async fn surplus_pods_that_are_not_ready_go_first() {
    let f = Fixture::workloads().await;
    f.create(replica_set("web", 4, template("nginx", json!({}))))
        .await;
    f.settled().await;
    let pods = f.pod_list().await;
    for pod in &pods[1..3] {
        f.make_ready(&pod.name_any()).await;
    }
    scale(&f, "web", 2).await;
    f.settled().await;
    assert_eq!(names(&f.pod_list().await), names(&pods[1..3]));
    let events = f.events("web").await;
    let gone = format!("Deleted pod: {}", pods[0].name_any());
    assert_eq!(events[&("SuccessfulDelete".to_owned(), gone)], 1);
    let status = status(&f, "web").await;
    assert_eq!(
        (&status["replicas"], &status["readyReplicas"]),
        (&json!(2), &json!(2))
    );
}

#[tokio::test]
async fn a_deleted_pod_is_replaced_while_it_terminates() {
    let f = Fixture::workloads().await;
    f.create(replica_set(
        "web",
        2,
        template("nginx", json!({"nodeName": "n1"})),
    ))
    .await;
    f.settled().await;
    let pods = f.pod_list().await;
    f.pods()
        .delete(&pods[0].name_any(), &DeleteParams::default())
        .await
        .unwrap();
    f.settled().await;
    assert_eq!(f.pod_list().await.len(), 3);
    let now = status(&f, "web").await;
    assert_eq!(
        (&now["replicas"], &now["terminatingReplicas"]),
        (&json!(2), &json!(1))
    );
    let force = DeleteParams::default().grace_period(0);
    f.pods().delete(&pods[0].name_any(), &force).await.unwrap();
    f.settled().await;
    assert_eq!(f.pod_list().await.len(), 2);
    assert_eq!(status(&f, "web").await["terminatingReplicas"], 0);
}

#[tokio::test]
async fn pods_that_have_ended_are_replaced_and_kept() {
    let f = Fixture::workloads().await;
    f.create(replica_set("web", 1, template("nginx", json!({}))))
        .await;
    f.settled().await;
    let pod = f.pod_list().await.remove(0).name_any();
    f.set_pod_status(&pod, json!({"phase": "Failed"})).await;
    f.settled().await;
    assert_eq!(f.pod_list().await.len(), 2);
    assert_eq!(status(&f, "web").await["replicas"], 1);
}

#[tokio::test]
async fn pods_without_a_controller_are_adopted_if_they_match() {
    let f = Fixture::workloads().await;
    let pod = |name: &str, app: &str| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "labels": {"app": app}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        })
    };
    f.create(pod("early", "web")).await;
    f.create(pod("stranger", "other")).await;
    let set = f
        .create(replica_set("web", 2, template("nginx", json!({}))))
        .await;
    f.settled().await;
    let early = f.pods().get("early").await.unwrap();
    assert_eq!(early.owner_references()[0].uid, set.uid().unwrap());
    assert_eq!(early.owner_references()[0].block_owner_deletion, Some(true));
    assert!(
        f.pods()
            .get("stranger")
            .await
            .unwrap()
            .owner_references()
            .is_empty()
    );
    assert_eq!(f.pod_list().await.len(), 3);
    // One more is too many, and goes.
    f.create(pod("late", "web")).await;
    f.settled().await;
    assert_eq!(status(&f, "web").await["replicas"], 2);
    assert_eq!(f.pod_list().await.len(), 3);
}

#[tokio::test]
async fn a_pod_that_no_longer_matches_is_released_and_replaced() {
    let f = Fixture::workloads().await;
    f.create(replica_set("web", 1, template("nginx", json!({}))))
        .await;
    f.settled().await;
    let pod = f.pod_list().await.remove(0).name_any();
    let patch = Patch::Merge(json!({"metadata": {"labels": {"app": "debug"}}}));
    f.pods()
        .patch(&pod, &PatchParams::default(), &patch)
        .await
        .unwrap();
    f.settled().await;
    assert!(
        f.pods()
            .get(&pod)
            .await
            .unwrap()
            .owner_references()
            .is_empty()
    );
    assert_eq!(f.pod_list().await.len(), 2);
    assert_eq!(status(&f, "web").await["replicas"], 1);
}

#[tokio::test]
async fn two_sets_with_one_selector_leave_each_others_pods_alone() {
    let f = Fixture::workloads().await;
    f.create(replica_set("a", 2, template("nginx", json!({}))))
        .await;
    f.create(replica_set("b", 3, template("nginx", json!({}))))
        .await;
    f.settled().await;
    assert_eq!(f.pod_list().await.len(), 5);
    scale(&f, "a", 1).await;
    f.settled().await;
    assert_eq!(f.pod_list().await.len(), 4);
    assert_eq!(status(&f, "b").await["replicas"], 3);
}

#[tokio::test(start_paused = true)]
async fn a_quota_stops_creation_after_few_attempts_and_is_told_of() {
    let f = Fixture::workloads().await;
    f.create(json!({
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": "default"}, "spec": {"hard": {"pods": "1"}},
    }))
    .await;
    f.create(replica_set("web", 9, template("nginx", json!({}))))
        .await;
    let failed =
        |set: Option<&ReplicaSet>| set.is_some_and(|set| !conditions(&json!(set)).is_empty());
    let set = wait_for(&f.sets(), "web", LONG, failed).await.unwrap();
    let set = json!(set.unwrap());
    assert_eq!(
        conditions(&set),
        [["ReplicaFailure", "True", "FailedCreate"]]
    );
    let message = set["status"]["conditions"][0]["message"].as_str().unwrap();
    assert!(
        message.contains("is forbidden: exceeded quota: few, requested: pods=1"),
        "{message}"
    );
    let quotas: Api<k8s_openapi::api::core::v1::ResourceQuota> =
        Api::default_namespaced(f.client());
    quotas
        .delete("few", &DeleteParams::default())
        .await
        .unwrap();
    let healed = |set: Option<&ReplicaSet>| {
        let status = set.and_then(|set| set.status.as_ref());
        status.is_some_and(|status| status.replicas == 9 && status.conditions.is_none())
    };
    wait_for(&f.sets(), "web", LONG, healed).await.unwrap();
    let events = f.events("web").await;
    let failures = events.keys().filter(|(reason, _)| reason == "FailedCreate");
    assert!(failures.count() >= 1);
}

#[tokio::test(start_paused = true)]
async fn a_failed_deletion_is_told_of_and_tried_again() {
    let f = Fixture::workloads().await;
    f.create(replica_set("web", 2, template("nginx", json!({}))))
        .await;
    f.settled().await;
    let refused = Fault::refuse(403, "Forbidden", "no deletions today");
    let deletions = Match::kind::<Pod>().with_verb(Verb::Delete);
    f.cluster.faults().inject(refused, deletions, 1);
    scale(&f, "web", 1).await;
    f.settled().await;
    assert_eq!(f.pod_list().await.len(), 1);
    let told = (
        "FailedDelete".to_owned(),
        "Error deleting: no deletions today".to_owned(),
    );
    assert_eq!(f.events("web").await[&told], 1);
    assert_eq!(status(&f, "web").await["conditions"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_available_once_it_has_been_ready_long_enough() {
    let f = Fixture::workloads().await;
    let mut set = replica_set("web", 1, template("nginx", json!({})));
    set["spec"]["minReadySeconds"] = json!(30);
    f.create(set).await;
    f.settled().await;
    f.make_all_ready().await;
    f.settled().await;
    let now = status(&f, "web").await;
    assert_eq!(
        (&now["readyReplicas"], &now["availableReplicas"]),
        (&json!(1), &Value::Null)
    );
    f.cluster.time().advance(Duration::from_secs(31)).await;
    f.settled().await;
    assert_eq!(status(&f, "web").await["availableReplicas"], 1);
}

#[tokio::test]
async fn a_deleted_set_creates_no_pods_and_orphans_are_adopted_by_the_next() {
    let f = Fixture::start("replicaset,garbagecollector").await;
    f.create(replica_set("web", 2, template("nginx", json!({}))))
        .await;
    f.settled().await;
    let before = names(&f.pod_list().await);
    let orphan = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    f.sets().delete("web", &orphan).await.unwrap();
    wait_for(&f.sets(), "web", LONG, |set| set.is_none())
        .await
        .unwrap();
    f.settled().await;
    assert_eq!(names(&f.pod_list().await), before);
    f.create(replica_set("next", 2, template("nginx", json!({}))))
        .await;
    f.settled().await;
    let pods = f.pod_list().await;
    assert_eq!(names(&pods), before);
    assert!(
        pods.iter()
            .all(|pod| pod.owner_references()[0].name == "next")
    );
}

#[tokio::test]
async fn at_most_500_pods_are_created_in_a_pass_and_all_in_the_end() {
    let f = Fixture::workloads().await;
    f.create(replica_set("web", 600, template("nginx", json!({}))))
        .await;
    f.settled().await;
    assert_eq!(f.pod_list().await.len(), 600);
    scale(&f, "web", 0).await;
    f.settled().await;
    assert!(f.pod_list().await.is_empty());
    assert_eq!(status(&f, "web").await["replicas"], 0);
}

#[tokio::test]
async fn a_replication_controller_keeps_its_pods_too() {
    let f = Fixture::workloads().await;
    f.create(json!({
        "apiVersion": "v1", "kind": "ReplicationController",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 2, "selector": {"app": "web"}, "template": template("nginx", json!({}))},
    }))
    .await;
    f.settled().await;
    let pods = f.pod_list().await;
    assert_eq!(pods.len(), 2);
    let owner = &pods[0].owner_references()[0];
    assert_eq!(
        (&*owner.api_version, &*owner.kind),
        ("v1", "ReplicationController")
    );
    f.make_all_ready().await;
    f.settled().await;
    let controllers: Api<ReplicationController> = Api::default_namespaced(f.client());
    assert_eq!(
        json!(controllers.get("web").await.unwrap().status),
        json!({
            "replicas": 2, "fullyLabeledReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
            "observedGeneration": 1,
        })
    );
    let told = f.events("web").await;
    assert_eq!(told.len(), 2);
}
