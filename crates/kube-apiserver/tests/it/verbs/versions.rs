//! Kinds with several faces: events in two groups, autoscalers in two versions.

use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::http_client::{Http, event};

const CORE: &str = "/api/v1/namespaces/default/events";
const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

async fn start() -> (TestCluster, Http) {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    (cluster, http)
}

#[tokio::test]
async fn an_event_of_the_core_group_is_seen_in_the_other() {
    let (_cluster, http) = start().await;
    let mut watch = http.watch(EVENTS, "").await;
    let pod = json!({"kind": "Pod", "name": "p", "namespace": "default"});
    let created = http
        .post(
            CORE,
            json!({
                "metadata": {"name": "e"},
                "involvedObject": pod,
                "reason": "R", "message": "M", "type": "Normal", "count": 1,
                "source": {"component": "me"},
                "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
            }),
        )
        .await
        .ok();
    assert_eq!(
        (&created["eventTime"], &created["reportingComponent"]),
        (&Value::Null, &json!(""))
    );
    let mut other = http.get(&format!("{EVENTS}/e")).await.ok();
    let metadata = other["metadata"].take();
    assert_eq!(metadata["uid"], created["metadata"]["uid"]);
    assert_eq!(
        metadata["resourceVersion"],
        created["metadata"]["resourceVersion"]
    );
    assert_eq!(
        other,
        json!({
            "kind": "Event", "apiVersion": "events.k8s.io/v1", "metadata": null,
            "eventTime": null, "reason": "R", "regarding": pod, "note": "M", "type": "Normal",
            "deprecatedSource": {"component": "me"}, "deprecatedCount": 1,
            "deprecatedFirstTimestamp": "2026-01-01T00:00:00Z",
            "deprecatedLastTimestamp": "2026-01-01T00:00:00Z",
        })
    );
    let seen = watch.next().await.unwrap();
    assert_eq!(
        (&seen["type"], &seen["object"]["apiVersion"]),
        (&json!("ADDED"), &json!("events.k8s.io/v1"))
    );
    assert_eq!(seen["object"]["note"], "M");
    assert_eq!(http.get(EVENTS).await.names(), ["e"]);

    let status = http.delete(&format!("{EVENTS}/e")).await.ok();
    assert_eq!(status["details"]["group"], "events.k8s.io");
    assert_eq!(watch.step().await, event("DELETED", "e"));
    http.get(&format!("{CORE}/e"))
        .await
        .refused_with(404, "events \"e\" not found");
}

#[tokio::test]
async fn an_event_of_the_other_group_is_seen_in_the_core() {
    let (_cluster, http) = start().await;
    let pod = json!({"kind": "Pod", "name": "p", "namespace": "default"});
    http.post(
        EVENTS,
        json!({
            "metadata": {"name": "e"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "c", "reportingInstance": "i", "action": "A",
            "reason": "R", "regarding": pod, "note": "N", "type": "Normal",
        }),
    )
    .await
    .ok();
    let mut core = http.get(&format!("{CORE}/e")).await.ok();
    core["metadata"].take();
    assert_eq!(
        core,
        json!({
            "kind": "Event", "apiVersion": "v1", "metadata": null,
            "involvedObject": pod, "reason": "R", "message": "N", "source": {},
            "firstTimestamp": null, "lastTimestamp": null, "type": "Normal",
            "eventTime": "2026-01-01T00:00:00.000000Z", "action": "A",
            "reportingComponent": "c", "reportingInstance": "i",
        })
    );
    let patched = http
        .patch(&format!("{CORE}/e"), json!({"count": 2}))
        .await
        .ok();
    assert_eq!(patched["count"], 2);
    assert_eq!(
        http.get(&format!("{EVENTS}/e")).await.ok()["deprecatedCount"],
        2
    );
}

#[tokio::test]
async fn an_autoscaler_is_one_object_in_two_versions() {
    let (_cluster, http) = start().await;
    let path = |version: &str| {
        format!("/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers")
    };
    let target = json!({"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"});
    let first = http.post(&path("v1"), json!({
        "metadata": {"name": "h"},
        "spec": {"scaleTargetRef": target, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50},
    })).await.ok();
    assert_eq!(first["apiVersion"], "autoscaling/v1");
    assert_eq!(
        first["spec"],
        json!({
            "scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50,
        })
    );
    assert_eq!(
        first["status"],
        json!({"currentReplicas": 0, "desiredReplicas": 0})
    );

    let cpu = json!({"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}});
    let second = http.get(&format!("{}/h", path("v2"))).await.ok();
    assert_eq!(second["apiVersion"], "autoscaling/v2");
    assert_eq!(second["metadata"]["uid"], first["metadata"]["uid"]);
    assert_eq!(
        second["spec"],
        json!({
            "scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 3,
            "metrics": [{"type": "Resource", "resource": cpu}],
        })
    );
    assert_eq!(
        second["status"],
        json!({"desiredReplicas": 0, "currentMetrics": null})
    );

    let mut watch = http.watch(&path("v1"), "").await;
    assert_eq!(watch.step().await, event("ADDED", "h"));
    http.patch(
        &format!("{}/h", path("v2")),
        json!({"spec": {"maxReplicas": 7}}),
    )
    .await
    .ok();
    let seen = watch.next().await.unwrap()["object"].clone();
    assert_eq!(seen["apiVersion"], "autoscaling/v1");
    assert_eq!(
        (
            &seen["spec"]["maxReplicas"],
            &seen["spec"]["targetCPUUtilizationPercentage"]
        ),
        (&json!(7), &json!(50))
    );
    http.delete(&format!("{}/h", path("v2"))).await.ok();
    http.get(&format!("{}/h", path("v1")))
        .await
        .refused_with(404, "horizontalpodautoscalers.autoscaling \"h\" not found");
}

#[tokio::test]
async fn fields_that_v1_lacks_survive_a_change_through_v1() {
    let (_cluster, http) = start().await;
    let path = |version: &str| {
        format!("/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers")
    };
    let target = json!({"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"});
    let memory =
        json!({"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}});
    let metrics = json!([{"type": "Resource", "resource": memory}]);
    http.post(
        &path("v2"),
        json!({
            "metadata": {"name": "h"},
            "spec": {"scaleTargetRef": target, "maxReplicas": 3, "metrics": metrics},
        }),
    )
    .await
    .ok();
    http.patch(
        &format!("{}/h", path("v1")),
        json!({"spec": {"maxReplicas": 9}}),
    )
    .await
    .ok();
    let second = http.get(&format!("{}/h", path("v2"))).await.ok();
    assert_eq!(second["spec"]["maxReplicas"], 9);
    assert_eq!(second["spec"]["metrics"], metrics);
}
