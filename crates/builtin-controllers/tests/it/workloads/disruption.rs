//! PodDisruptionBudgets: their status, and evictions.

use std::time::Duration;

use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::{
    Api, ResourceExt,
    api::{EvictParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use super::{conditions, deployment};
use crate::fixture::Fixture;

/// Starts a cluster with a Deployment of four pods that are ready.
async fn start() -> Fixture {
    let f = Fixture::start("replicaset,deployment,disruption").await;
    f.create(deployment(4, json!({}))).await;
    f.run_to_the_end().await;
    f
}

async fn budget(f: &Fixture, spec: Value) {
    let mut budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
    });
    for (field, value) in spec.as_object().unwrap() {
        budget["spec"][field] = value.clone();
    }
    f.create(budget).await;
    f.settled().await;
}

async fn get(f: &Fixture) -> Value {
    let budgets: Api<PodDisruptionBudget> = Api::default_namespaced(f.client());
    json!(budgets.get("web").await.unwrap())
}

/// Returns the numbers of pods that are expected, must be healthy, are so, and may be disrupted.
async fn counts(f: &Fixture) -> [i64; 4] {
    let status = get(f).await["status"].clone();
    [
        "expectedPods",
        "desiredHealthy",
        "currentHealthy",
        "disruptionsAllowed",
    ]
    .map(|field| status[field].as_i64().unwrap())
}

async fn evict(f: &Fixture) -> Option<String> {
    let pods = f.pod_list().await;
    let is_left = |pod: &&k8s_openapi::api::core::v1::Pod| {
        pod.metadata.deletion_timestamp.is_none() && super::is_ready(pod)
    };
    let pod = pods.iter().find(is_left).unwrap().name_any();
    let evicted = f.pods().evict(&pod, &EvictParams::default()).await;
    f.settled().await;
    evicted.err().map(|error| error.to_string())
}

#[tokio::test]
async fn a_budget_allows_evictions_as_long_as_enough_pods_are_healthy() {
    let f = start().await;
    budget(&f, json!({"maxUnavailable": 1})).await;
    assert_eq!(counts(&f).await, [4, 3, 4, 1]);
    let now = get(&f).await;
    assert_eq!(
        conditions(&now),
        [["DisruptionAllowed", "True", "SufficientPods"]]
    );
    assert_eq!(now["status"]["conditions"][0]["observedGeneration"], 1);
    assert_eq!(now["status"]["conditions"][0]["message"], "");
    assert_eq!(now["status"]["observedGeneration"], 1);
    assert_eq!(evict(&f).await, None);
    // The replacement is not ready yet.
    assert_eq!(counts(&f).await, [4, 3, 3, 0]);
    assert_eq!(
        conditions(&get(&f).await),
        [["DisruptionAllowed", "False", "InsufficientPods"]]
    );
    let refused = evict(&f).await.unwrap();
    assert!(refused.contains("disruption budget"), "{refused}");
    f.run_to_the_end().await;
    assert_eq!(counts(&f).await, [4, 3, 4, 1]);
}

#[tokio::test]
async fn numbers_and_percentages_are_counted_from_pods_or_their_controllers() {
    for (spec, expected) in [
        (json!({"minAvailable": 3}), [4, 3, 4, 1]),
        (json!({"minAvailable": "30%"}), [4, 2, 4, 2]),
        (json!({"maxUnavailable": "30%"}), [4, 2, 4, 2]),
        (json!({"minAvailable": 9}), [4, 9, 4, 0]),
        (json!({"minAvailable": 1, "selector": {}}), [4, 1, 4, 3]),
        (
            json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "none"}}}),
            [0, 1, 0, 0],
        ),
    ] {
        let f = start().await;
        budget(&f, spec.clone()).await;
        assert_eq!(counts(&f).await, expected, "{spec}");
    }
}

#[tokio::test]
async fn pods_whose_controllers_have_no_size_forbid_disruptions() {
    let f = start().await;
    let owner = json!({
        "apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1", "controller": true,
    });
    f.create(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "labels": {"app": "web"}, "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }))
    .await;
    budget(&f, json!({"maxUnavailable": 1})).await;
    let now = get(&f).await;
    assert_eq!(
        conditions(&now),
        [["DisruptionAllowed", "False", "SyncFailed"]]
    );
    let message = "jobs.batch does not implement the scale subresource";
    assert_eq!(now["status"]["conditions"][0]["message"], message);
    let told = format!("Failed to calculate the number of expected pods: {message}");
    let events = f.events("web").await;
    assert!(events.contains_key(&("CalculateExpectedPodCountFailed".to_owned(), told)));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_was_not_deleted_after_its_eviction_counts_again() {
    let f = start().await;
    budget(&f, json!({"maxUnavailable": 1})).await;
    let pod = f.pod_list().await[0].name_any();
    let now = f
        .cluster
        .time()
        .now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string();
    let budgets: Api<PodDisruptionBudget> = Api::default_namespaced(f.client());
    let patch = Patch::Merge(json!({"status": {"disruptedPods": {pod.clone(): now}}}));
    let params = PatchParams::default();
    budgets.patch_status("web", &params, &patch).await.unwrap();
    f.settled().await;
    assert_eq!(counts(&f).await, [4, 3, 3, 0]);
    f.cluster.time().advance(Duration::from_secs(122)).await;
    f.settled().await;
    assert_eq!(counts(&f).await, [4, 3, 4, 1]);
    assert_eq!(get(&f).await["status"]["disruptedPods"], Value::Null);
    assert!(
        f.events(&pod)
            .await
            .keys()
            .any(|(reason, _)| reason == "NotDeleted")
    );
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_was_to_be_disrupted_is_so_for_two_minutes() {
    let f = start().await;
    let pod = f.pod_list().await[0].name_any();
    let now = f
        .cluster
        .time()
        .now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string();
    f.set_pod_status(
        &pod,
        json!({"conditions": [{
            "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
            "lastTransitionTime": now,
        }]}),
    )
    .await;
    f.settled().await;
    let status = async || {
        let pod = json!(f.pods().get(&pod).await.unwrap());
        conditions(&pod)[0][1].clone()
    };
    f.cluster.time().advance(Duration::from_secs(110)).await;
    assert_eq!(status().await, "True");
    f.cluster.time().advance(Duration::from_secs(20)).await;
    f.settled().await;
    assert_eq!(status().await, "False");
}

#[tokio::test]
async fn custom_controllers_of_pods_have_a_size_too() {
    let f = Fixture::start("disruption").await;
    let kind = |name: &str, plural: &str, subresources: Value| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.example.com")},
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": {"plural": plural, "kind": name},
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": subresources,
                    "schema": {"openAPIV3Schema": {
                        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                        "properties": {
                            "spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
                            "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
                        },
                    }},
                }],
            },
        })
    };
    let scale = json!({"scale": {
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
    }});
    f.create(kind("Fleet", "fleets", scale)).await;
    f.create(kind("Crowd", "crowds", json!({}))).await;
    f.settled().await;
    let own = |kind: &str, owner: &str, pod: &str, app: &str| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": pod, "namespace": "default", "labels": {"app": app},
                "ownerReferences": [{
                    "apiVersion": "example.com/v1", "kind": kind, "name": "web", "uid": owner, "controller": true,
                }],
            },
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        })
    };
    let mut uids = Vec::new();
    for kind in ["Fleet", "Crowd"] {
        let created = f
            .create(json!({
                "apiVersion": "example.com/v1", "kind": kind,
                "metadata": {"name": "web", "namespace": "default"}, "spec": {"replicas": 5},
            }))
            .await;
        uids.push(created.uid().unwrap());
    }
    for i in 0..2 {
        f.create(own("Fleet", &uids[0], &format!("f{i}"), "web"))
            .await;
    }
    budget(&f, json!({"minAvailable": "50%"})).await;
    assert_eq!(counts(&f).await, [5, 3, 0, 0]);
    f.create(own("Crowd", &uids[1], "c0", "web")).await;
    f.settled().await;
    let shown = get(&f).await;
    let condition = &shown["status"]["conditions"][0];
    assert_eq!(condition["reason"], "SyncFailed");
    let text = "crowds.example.com does not implement the scale subresource";
    assert_eq!(condition["message"], text);
}

#[tokio::test]
async fn a_pod_of_several_budgets_is_reported_once() {
    let f = start().await;
    budget(&f, json!({"minAvailable": 1})).await;
    f.create(json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "all", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {}},
    }))
    .await;
    f.settled().await;
    let pod = f.pod_list().await.remove(0).name_any();
    let text = format!(
        "Pod \"default\"/{pod:?} matches multiple PodDisruptionBudgets.  Chose \"all\" arbitrarily."
    );
    let key = ("MultiplePodDisruptionBudgets".to_owned(), text);
    let told = async || f.events(&pod).await.get(&key).copied();
    assert_eq!(told().await, Some(1));
    f.run_to_the_end().await;
    assert_eq!(told().await, Some(1));
    let refused = evict(&f).await.unwrap();
    assert!(
        refused.contains("more than one PodDisruptionBudget"),
        "{refused}"
    );
}
