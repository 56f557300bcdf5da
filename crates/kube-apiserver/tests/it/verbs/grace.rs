//! Graceful deletion of pods.

use std::time::Duration;

use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::http_client::Http;

const PODS: &str = "/api/v1/namespaces/default/pods";

async fn with_pod(spec: Value) -> (TestCluster, Http, String) {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let mut pod = json!({
        "metadata": {"name": "p"},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]},
    });
    for (key, value) in spec.as_object().unwrap() {
        pod["spec"][key] = value.clone();
    }
    http.post(PODS, pod).await.ok();
    (cluster, http, format!("{PODS}/p"))
}

fn grace(pod: &Value) -> &Value {
    &pod["metadata"]["deletionGracePeriodSeconds"]
}

/// Seconds since the epoch.
fn due(pod: &Value) -> i64 {
    let text = pod["metadata"]["deletionTimestamp"]
        .as_str()
        .expect("a deletionTimestamp");
    text.parse::<jiff::Timestamp>().expect("a time").as_second()
}

fn in_seconds(seconds: i64) -> std::ops::RangeInclusive<i64> {
    let now = jiff::Timestamp::now().as_second();
    now + seconds - 3..=now + seconds + 1
}

#[tokio::test]
async fn a_pod_on_a_node_gets_thirty_seconds() {
    let (cluster, http, path) = with_pod(json!({})).await;
    let before = cluster.revision().await;
    let answer = http.delete(&path).await;
    assert_eq!(answer.code, 200);
    let pod = answer.ok();
    assert_eq!(
        (&pod["kind"], grace(&pod), &pod["metadata"]["generation"]),
        (&json!("Pod"), &json!(30), &json!(2))
    );
    assert!(in_seconds(30).contains(&due(&pod)));
    assert_eq!(http.get(&path).await.ok(), pod);
    assert_eq!(cluster.revision().await, before + 1);
}

#[tokio::test]
async fn the_longest_grace_period_is_accepted() {
    for seconds in [i64::MAX, i64::MAX / 2, 1 << 40] {
        let (_cluster, http, path) = with_pod(json!({})).await;
        let answer = http
            .delete(&format!("{path}?gracePeriodSeconds={seconds}"))
            .await;
        assert_eq!(answer.code, 200, "{}", answer.message());
        assert_eq!(grace(&answer.ok()), &json!(seconds));
        let sooner = http.delete(&format!("{path}?gracePeriodSeconds=5")).await;
        assert_eq!(sooner.code, 200, "{}", sooner.message());
    }
}

#[tokio::test]
async fn a_pod_says_how_long_it_needs() {
    let (_cluster, http, path) = with_pod(json!({"terminationGracePeriodSeconds": 7})).await;
    let pod = http.delete(&path).await.ok();
    assert_eq!(grace(&pod), 7);
    assert!(in_seconds(7).contains(&due(&pod)));
}

#[tokio::test]
async fn grace_can_be_shortened_but_not_prolonged() {
    let (cluster, http, path) = with_pod(json!({})).await;
    let first = http.delete(&path).await.ok();
    let before = cluster.revision().await;
    assert_eq!(http.delete(&path).await.ok(), first);
    assert_eq!(
        http.delete(&format!("{path}?gracePeriodSeconds=60"))
            .await
            .ok(),
        first
    );
    assert_eq!(cluster.revision().await, before);

    let shorter = http
        .delete(&format!("{path}?gracePeriodSeconds=10"))
        .await
        .ok();
    assert_eq!(
        (grace(&shorter), due(&shorter)),
        (&json!(10), due(&first) - 20)
    );
    assert_eq!(shorter["metadata"]["generation"], 2);
    assert_eq!(cluster.revision().await, before + 1);

    let now = http
        .delete_with(&path, json!({"gracePeriodSeconds": 0}))
        .await
        .ok();
    assert_eq!((&now["kind"], grace(&now)), (&json!("Pod"), &json!(0)));
    http.get(&path)
        .await
        .refused_with(404, "pods \"p\" not found");
}

#[tokio::test]
async fn grace_below_zero_is_one_second() {
    let (_cluster, http, path) = with_pod(json!({})).await;
    assert_eq!(
        grace(
            &http
                .delete(&format!("{path}?gracePeriodSeconds=-5"))
                .await
                .ok()
        ),
        1
    );
}

#[tokio::test]
async fn a_pod_without_a_node_goes_at_once() {
    let (_cluster, http, path) = with_pod(json!({"nodeName": ""})).await;
    let pod = http.delete(&path).await.ok();
    assert_eq!((&pod["kind"], grace(&pod)), (&json!("Pod"), &json!(0)));
    http.get(&path).await.refused(404);
}

#[tokio::test]
async fn a_pod_that_has_ended_goes_at_once() {
    for phase in ["Succeeded", "Failed"] {
        let (_cluster, http, path) = with_pod(json!({})).await;
        http.patch(
            &format!("{path}/status"),
            json!({"status": {"phase": phase}}),
        )
        .await
        .ok();
        http.delete(&path).await.ok();
        http.get(&path).await.refused(404);
    }
}

#[tokio::test]
async fn a_graceful_deletion_is_a_change_and_then_an_end() {
    let (cluster, http, path) = with_pod(json!({})).await;
    let mut watch = http
        .watch(
            PODS,
            &format!("resourceVersion={}", cluster.revision().await),
        )
        .await;
    http.delete(&path).await.ok();
    let marked = watch.next().await.unwrap();
    assert_eq!(
        (&marked["type"], grace(&marked["object"])),
        (&json!("MODIFIED"), &json!(30))
    );
    http.delete(&format!("{path}?gracePeriodSeconds=0"))
        .await
        .ok();
    let mut last = watch.next().await.unwrap();
    if last["type"] == "MODIFIED" {
        assert_eq!(grace(&last["object"]), 0);
        last = watch.next().await.unwrap();
    }
    assert_eq!(last["type"], "DELETED");
}

#[tokio::test]
async fn a_finalizer_outlasts_the_grace() {
    let (_cluster, http, path) = with_pod(json!({})).await;
    http.patch(
        &path,
        json!({"metadata": {"finalizers": ["example.com/a"]}}),
    )
    .await
    .ok();
    http.delete(&format!("{path}?gracePeriodSeconds=0"))
        .await
        .ok();
    assert_eq!(grace(&http.get(&path).await.ok()), 0);
    http.patch(&path, json!({"metadata": {"finalizers": null}}))
        .await
        .ok();
    http.get(&path).await.refused(404);
}

#[tokio::test]
async fn grace_counts_from_the_clock_of_the_cluster() {
    let (cluster, http, path) = with_pod(json!({})).await;
    cluster.clock().advance(Duration::from_secs(3600));
    assert!(in_seconds(3630).contains(&due(&http.delete(&path).await.ok())));
}
