//! Autoscalers, with metrics that the tests write: `PodMetrics` are custom objects here.

use std::time::Duration;

use k8s_openapi::api::{
    apps::v1::{Deployment, ReplicaSet},
    autoscaling::v2::HorizontalPodAutoscaler,
};
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, Patch, PatchParams},
    core::{ApiResource, GroupVersionKind},
};
use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use super::{conditions, replica_set, template};
use crate::fixture::Fixture;

const CONTROLLERS: &str = "horizontalpodautoscaling,replicaset";

#[tokio::test(start_paused = true)]
async fn simulated_usage_scales_a_deployment() {
    let cluster = TestCluster::builder().workloads().nodes(2).start().await;
    let deployments: Api<Deployment> = Api::default_namespaced(cluster.client());
    let scalers: Api<HorizontalPodAutoscaler> = Api::default_namespaced(cluster.client());
    let pods = |usage: &str| {
        json!({
            "metadata": {"labels": {"app": "web"}, "annotations": {"usage.kubewright.dev/cpu": usage}},
            "spec": {"containers": [
                {"name": "c", "image": "nginx", "resources": {"requests": {"cpu": "100m"}}},
            ]},
        })
    };
    let web = json!({"metadata": {"name": "web"}, "spec": {
        "replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": pods("250m"),
    }});
    let web = serde_json::from_value(web).unwrap();
    deployments.create(&Default::default(), &web).await.unwrap();
    let scaler = json!({"metadata": {"name": "web"}, "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "minReplicas": 2, "maxReplicas": 9,
        "metrics": [{"type": "Resource", "resource": {
            "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50},
        }}],
    }});
    let scaler = serde_json::from_value(scaler).unwrap();
    scalers.create(&Default::default(), &scaler).await.unwrap();
    let after = async |minutes: u64| {
        cluster.settled().await.unwrap();
        let time = cluster.time();
        for _ in 0..4 * minutes {
            time.advance(Duration::from_secs(15)).await;
            cluster.settled().await.unwrap();
        }
        let web = deployments.get("web").await.unwrap();
        web.status.unwrap().ready_replicas
    };
    assert_eq!(after(7).await, Some(9));
    let shown = scalers.get("web").await.unwrap().status.unwrap();
    let current = json!(shown.current_metrics);
    assert_eq!(current[0]["resource"]["current"]["averageUtilization"], 250);
    let idle = Patch::Merge(json!({"spec": {"template": pods("10m")}}));
    let params = PatchParams::default();
    deployments.patch("web", &params, &idle).await.unwrap();
    assert_eq!(after(12).await, Some(2));
}

fn metrics(f: &Fixture) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("metrics.k8s.io", "v1beta1", "PodMetrics");
    Api::default_namespaced_with(
        f.client(),
        &ApiResource::from_gvk_with_plural(&kind, "pods"),
    )
}

/// Starts a cluster with a ReplicaSet of two pods that are ready and request half a processor.
async fn start() -> Fixture {
    let f = Fixture::start(CONTROLLERS).await;
    let resources = json!({"requests": {"cpu": "500m"}});
    let pods = template(
        "nginx",
        json!({"containers": [{"name": "nginx", "image": "i", "resources": resources}]}),
    );
    f.create(replica_set("web", 2, pods)).await;
    make_ready(&f).await;
    f
}

async fn serve_metrics(f: &Fixture) {
    f.create(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "pods.metrics.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, a test"},
        },
        "spec": {
            "group": "metrics.k8s.io", "scope": "Namespaced",
            "names": {"plural": "pods", "kind": "PodMetrics"},
            "versions": [{
                "name": "v1beta1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    }))
    .await;
}

/// Makes all pods ready, since long ago.
async fn make_ready(f: &Fixture) {
    f.settled().await;
    for pod in f.pod_list().await {
        f.set_pod_status(
            &pod.name_any(),
            json!({"phase": "Running", "startTime": "2020-01-01T00:00:00Z", "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"},
            ]}),
        )
        .await;
    }
    f.settled().await;
}

/// Writes the usage of every pod.
async fn use_cpu(f: &Fixture, cpu: &str) {
    for pod in f.pod_list().await {
        let usage = json!({
            "apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
            "metadata": {"name": pod.name_any(), "labels": {"app": "web"}},
            "timestamp": "2026-01-01T00:00:00Z", "window": "30s",
            "containers": [{"name": "nginx", "usage": {"cpu": cpu, "memory": "1Mi"}}],
        });
        let params = PatchParams::apply("test").force();
        metrics(f)
            .patch(&pod.name_any(), &params, &Patch::Apply(usage))
            .await
            .unwrap();
    }
}

async fn autoscaler(f: &Fixture, more: Value) {
    let metric = json!({"type": "Resource", "resource": {
        "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50},
    }});
    let mut autoscaler = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"},
            "minReplicas": 1, "maxReplicas": 5, "metrics": [metric],
        },
    });
    for (field, value) in more.as_object().unwrap() {
        autoscaler["spec"][field] = value.clone();
    }
    f.create(autoscaler).await;
    f.settled().await;
}

async fn advance(f: &Fixture, seconds: u64) {
    f.cluster.time().advance(Duration::from_secs(seconds)).await;
    f.settled().await;
}

async fn get(f: &Fixture) -> Value {
    let autoscalers: Api<HorizontalPodAutoscaler> = Api::default_namespaced(f.client());
    json!(autoscalers.get("web").await.unwrap())
}

async fn replicas(f: &Fixture) -> i32 {
    let set: ReplicaSet = f.sets().get("web").await.unwrap();
    set.spec.replicas.unwrap()
}

async fn told(f: &Fixture) -> Vec<String> {
    let events = f.events("web").await.into_keys();
    let own =
        events.filter(|(reason, _)| reason != "SuccessfulCreate" && reason != "SuccessfulDelete");
    own.map(|(reason, message)| format!("{reason}: {message}"))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn without_metrics_an_autoscaler_says_so_and_changes_nothing() {
    let f = start().await;
    autoscaler(&f, json!({})).await;
    advance(&f, 14).await;
    assert!(get(&f).await["status"]["conditions"].is_null());
    advance(&f, 2).await;
    let found = get(&f).await;
    assert_eq!(
        conditions(&found),
        [
            ["AbleToScale", "True", "SucceededGetScale"],
            ["ScalingActive", "False", "FailedGetResourceMetric"],
        ]
    );
    let error = "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)";
    assert_eq!(
        found["status"]["conditions"][1]["message"],
        format!("the HPA was unable to compute the replica count: {error}")
    );
    assert_eq!(
        told(&f).await,
        [
            format!(
                "FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: {error}"
            ),
            format!("FailedGetResourceMetric: {error}"),
        ]
    );
    assert_eq!(replicas(&f).await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_target_grows_with_its_usage_and_shrinks_later() {
    let f = start().await;
    serve_metrics(&f).await;
    use_cpu(&f, "400m").await;
    autoscaler(&f, json!({})).await;
    advance(&f, 16).await;
    assert_eq!(replicas(&f).await, 4);
    let found = get(&f).await;
    assert_eq!(
        conditions(&found),
        [
            ["AbleToScale", "True", "SucceededRescale"],
            ["ScalingActive", "True", "ValidMetricFound"],
            ["ScalingLimited", "False", "DesiredWithinRange"],
        ]
    );
    let status = &found["status"];
    assert_eq!(
        [&status["currentReplicas"], &status["desiredReplicas"]],
        [&json!(2), &json!(4)]
    );
    let metric = json!([{"type": "Resource", "resource": {
        "name": "cpu", "current": {"averageUtilization": 80, "averageValue": "400m"},
    }}]);
    assert_eq!(status["currentMetrics"], metric);
    assert!(status["lastScaleTime"].is_string());
    assert_eq!(
        told(&f).await,
        [
            "SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target"
        ]
    );
    make_ready(&f).await;
    use_cpu(&f, "10m").await;
    advance(&f, 30).await;
    assert_eq!(replicas(&f).await, 4);
    assert_eq!(conditions(&get(&f).await)[0][2], "ScaleDownStabilized");
    advance(&f, 330).await;
    assert_eq!(replicas(&f).await, 1);
    assert!(
        told(&f).await.contains(
            &"SuccessfulRescale: New size: 1; reason: All metrics below target".to_owned()
        )
    );
}

#[tokio::test(start_paused = true)]
async fn a_target_stays_between_its_bounds() {
    let f = start().await;
    serve_metrics(&f).await;
    use_cpu(&f, "500m").await;
    autoscaler(&f, json!({"minReplicas": 3, "maxReplicas": 3})).await;
    advance(&f, 16).await;
    assert_eq!(replicas(&f).await, 3);
    assert_eq!(
        told(&f).await,
        [
            "SuccessfulRescale: New size: 3; reason: Current number of replicas below Spec.MinReplicas"
        ]
    );
    make_ready(&f).await;
    use_cpu(&f, "500m").await;
    advance(&f, 15).await;
    assert_eq!(replicas(&f).await, 3);
    assert_eq!(
        conditions(&get(&f).await)[2],
        ["ScalingLimited", "True", "TooManyReplicas"]
    );
    let none = Patch::Merge(json!({"spec": {"replicas": 0}}));
    f.sets()
        .patch("web", &PatchParams::default(), &none)
        .await
        .unwrap();
    advance(&f, 30).await;
    assert_eq!(replicas(&f).await, 0);
    assert_eq!(
        conditions(&get(&f).await)[1],
        ["ScalingActive", "False", "ScalingDisabled"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_container_alone_can_decide_and_policies_limit_the_rate() {
    let f = start().await;
    serve_metrics(&f).await;
    use_cpu(&f, "500m").await;
    let metric = json!({"type": "ContainerResource", "containerResource": {
        "name": "cpu", "container": "nginx", "target": {"type": "AverageValue", "averageValue": "100m"},
    }});
    let rules = json!({"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]});
    autoscaler(
        &f,
        json!({"metrics": [metric], "behavior": {"scaleUp": rules}}),
    )
    .await;
    advance(&f, 16).await;
    assert_eq!(replicas(&f).await, 3);
    let found = get(&f).await;
    assert_eq!(
        conditions(&found)[2],
        ["ScalingLimited", "True", "ScaleUpLimit"]
    );
    assert_eq!(
        found["status"]["currentMetrics"],
        json!([{"type": "ContainerResource", "containerResource": {
            "name": "cpu", "container": "nginx", "current": {"averageValue": "500m"},
        }}])
    );
    advance(&f, 30).await;
    assert_eq!(replicas(&f).await, 3);
    advance(&f, 45).await;
    assert_eq!(replicas(&f).await, 4);
}

#[tokio::test(start_paused = true)]
async fn two_autoscalers_of_the_same_pods_do_nothing() {
    let f = start().await;
    serve_metrics(&f).await;
    use_cpu(&f, "500m").await;
    autoscaler(&f, json!({"maxReplicas": 2})).await;
    let mut other = get(&f).await;
    other["apiVersion"] = json!("autoscaling/v2");
    other["kind"] = json!("HorizontalPodAutoscaler");
    other["metadata"] = json!({"name": "other", "namespace": "default"});
    f.create(other).await;
    advance(&f, 60).await;
    let found = get(&f).await;
    assert_eq!(
        conditions(&found)[1],
        ["ScalingActive", "False", "AmbiguousSelector"]
    );
    let message =
        "pods by selector app=web are controlled by multiple HPAs: [default/other default/web]";
    assert_eq!(found["status"]["conditions"][1]["message"], message);
    assert_eq!(replicas(&f).await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_target_without_a_scale_is_told_of() {
    let f = start().await;
    let target = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "none"});
    autoscaler(&f, json!({"scaleTargetRef": target})).await;
    advance(&f, 16).await;
    assert_eq!(
        conditions(&get(&f).await),
        [["AbleToScale", "False", "FailedGetScale"]]
    );
    assert_eq!(
        told(&f).await,
        ["FailedGetScale: replicasets.apps \"none\" not found"]
    );
}
