//! Rollouts: rolling updates, recreation, and scaling in the middle of one.

use kube::{ResourceExt, api::DeleteParams};
use serde_json::{Value, json};

use super::{deployment, is_ready, template};
use crate::fixture::Fixture;

/// Returns the sizes of the ReplicaSets by revision.
async fn sizes(f: &Fixture) -> Vec<(String, i32)> {
    let mut sizes: Vec<(String, i32)> = f
        .set_list()
        .await
        .iter()
        .map(|set| {
            let revision = set.annotations()["deployment.kubernetes.io/revision"].clone();
            (revision, set.spec.replicas.unwrap())
        })
        .collect();
    sizes.sort();
    sizes
}

fn sized(sizes: &[(&str, i32)]) -> Vec<(String, i32)> {
    sizes
        .iter()
        .map(|(revision, size)| ((*revision).to_owned(), *size))
        .collect()
}

async fn set_image(f: &Fixture, image: &str) {
    let spec = json!({"spec": {"template": {"spec": {"containers": [{"name": "nginx", "image": image}]}}}});
    f.patch_deployment("web", spec).await;
}

#[tokio::test]
async fn a_rolling_update_stays_within_its_limits() {
    let f = Fixture::workloads().await;
    f.create(deployment(10, json!({}))).await;
    f.run_to_the_end().await;
    set_image(&f, "nginx:2").await;
    f.settled().await;
    // A quarter of ten is 3 more and 2 fewer.
    assert_eq!(sizes(&f).await, sized(&[("1", 8), ("2", 5)]));
    let mut steps = 0;
    loop {
        let pods = f.pod_list().await;
        assert!(pods.len() <= 13, "{} pods", pods.len());
        assert!(pods.iter().filter(|pod| is_ready(pod)).count() >= 8);
        let Some(pod) = pods.iter().find(|pod| !is_ready(pod)) else {
            break;
        };
        f.make_ready(&pod.name_any()).await;
        f.settled().await;
        steps += 1;
    }
    assert_eq!(steps, 10);
    assert_eq!(sizes(&f).await, sized(&[("1", 0), ("2", 10)]));
    assert_eq!(f.deployment("web").await["status"]["updatedReplicas"], 10);
}

#[tokio::test]
async fn without_surge_old_pods_make_room() {
    let f = Fixture::workloads().await;
    let strategy =
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}});
    f.create(deployment(3, json!({"strategy": strategy}))).await;
    f.run_to_the_end().await;
    set_image(&f, "nginx:2").await;
    f.settled().await;
    assert_eq!(sizes(&f).await, sized(&[("1", 2), ("2", 1)]));
    f.run_to_the_end().await;
    assert_eq!(sizes(&f).await, sized(&[("1", 0), ("2", 3)]));
}

#[tokio::test]
async fn pods_that_never_ran_are_replaced_first() {
    let f = Fixture::workloads().await;
    f.create(deployment(10, json!({}))).await;
    f.run_to_the_end().await;
    set_image(&f, "broken").await;
    f.settled().await;
    assert_eq!(sizes(&f).await, sized(&[("1", 8), ("2", 5)]));
    set_image(&f, "nginx:3").await;
    f.settled().await;
    // The pods of the second revision are not available, and give way to the third.
    assert_eq!(sizes(&f).await, sized(&[("1", 8), ("2", 0), ("3", 5)]));
    f.run_to_the_end().await;
    assert_eq!(sizes(&f).await, sized(&[("1", 0), ("2", 0), ("3", 10)]));
}

#[tokio::test]
async fn scaling_in_the_middle_of_a_rollout_is_proportional() {
    let f = Fixture::workloads().await;
    f.create(deployment(
        10,
        json!({"strategy": {
            "type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2},
        }}),
    ))
    .await;
    f.run_to_the_end().await;
    set_image(&f, "broken").await;
    f.settled().await;
    assert_eq!(sizes(&f).await, sized(&[("1", 8), ("2", 5)]));
    f.patch_deployment("web", json!({"spec": {"replicas": 30}}))
        .await;
    f.settled().await;
    assert_eq!(sizes(&f).await, sized(&[("1", 20), ("2", 13)]));
}

#[tokio::test]
async fn recreation_waits_until_all_old_pods_are_gone() {
    let f = Fixture::workloads().await;
    let pinned = json!({
        "strategy": {"type": "Recreate"},
        "template": template("nginx", json!({"nodeName": "n1"})),
    });
    f.create(deployment(2, pinned)).await;
    f.run_to_the_end().await;
    let old = f.pod_list().await;
    set_image(&f, "nginx:2").await;
    f.settled().await;
    // The old pods terminate, and there is no new ReplicaSet.
    assert_eq!(sizes(&f).await, sized(&[("1", 0)]));
    assert!(
        f.pod_list()
            .await
            .iter()
            .all(|pod| pod.metadata.deletion_timestamp.is_some())
    );
    let force = DeleteParams::default().grace_period(0);
    f.pods().delete(&old[0].name_any(), &force).await.unwrap();
    f.settled().await;
    assert_eq!(sizes(&f).await, sized(&[("1", 0)]));
    f.pods().delete(&old[1].name_any(), &force).await.unwrap();
    f.settled().await;
    assert_eq!(sizes(&f).await, sized(&[("1", 0), ("2", 2)]));
    f.run_to_the_end().await;
    let status = f.deployment("web").await["status"].clone();
    assert_eq!(
        (&status["updatedReplicas"], &status["terminatingReplicas"]),
        (&json!(2), &json!(0))
    );
    assert_ne!(status["availableReplicas"], Value::Null);
}
