//! Numbers at and beyond the ends of their types, in every place that takes one.

use http::{Method, Request};
use kubewright_apiserver::Body;
use kubewright_testing::TestCluster;
use serde_json::{Value, json};
use tower::Service;

use crate::{
    custom_resources::{CRDS, WIDGETS, simple, widget},
    http_client::{JSON, MERGE, encoded},
};

const NUMBERS: [&str; 16] = [
    "-99999999999999999999999999",
    "-9223372036854775809",
    "-9223372036854775808",
    "-2147483649",
    "-2147483648",
    "-1",
    "0",
    "1",
    "0.5",
    "2147483647",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e300",
];

const DEFAULT: &str = "/api/v1/namespaces/default";

/// Sends a request and returns the status code, without reading a body that may never end.
async fn code(
    cluster: &TestCluster,
    method: &Method,
    path: &str,
    media: &str,
    body: String,
) -> u16 {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", media)
        .body(Body::from(body));
    let request = request.expect("a request");
    let response = cluster.service().call(request).await;
    response.expect("a response").status().as_u16()
}

#[tokio::test]
async fn no_number_in_a_query_fails_the_server() {
    let cluster = TestCluster::start().await;
    let lists = [
        "limit=N",
        "timeoutSeconds=N",
        "watch=true&timeoutSeconds=N",
        "watch=true&allowWatchBookmarks=true&timeoutSeconds=N",
        "timeout=Ns",
        "timeout=Nh",
        "limit=N&resourceVersion=0",
    ];
    let pod = [
        "log?tailLines=N",
        "log?sinceSeconds=N",
        "log?limitBytes=N",
        "log?timestamps=true&tailLines=N&limitBytes=N",
    ];
    let object = json!({
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let pods = format!("{DEFAULT}/pods");
    let created = code(&cluster, &Method::POST, &pods, JSON, object.to_string()).await;
    assert_eq!(created, 201);
    let lists = lists.map(|query| (Method::GET, format!("{DEFAULT}/configmaps?{query}")));
    let logs = pod.map(|query| (Method::GET, format!("{pods}/p/{query}")));
    let deletes = ["", "/none"].map(|name| {
        let path = format!("{DEFAULT}/configmaps{name}?gracePeriodSeconds=N&dryRun=All");
        (Method::DELETE, path)
    });
    for (method, path) in lists.iter().chain(&logs).chain(&deletes) {
        for number in NUMBERS {
            let path = path.replace('N', &encoded(number));
            let code = code(&cluster, method, &path, JSON, String::new()).await;
            assert_ne!(code, 500, "{method} {path}");
        }
    }
}

/// Returns the JSON pointers of all numbers of a value.
fn numbers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(at.to_owned()),
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                numbers(item, &format!("{at}/{i}"), found);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                numbers(field, &format!("{at}/{key}"), found);
            }
        }
        _ => {}
    }
}

/// Sends an object once for each of its numbers and each extreme value.
async fn sweep(cluster: &TestCluster, method: &Method, path: &str, media: &str, object: &Value) {
    let mut found = Vec::new();
    numbers(object, "", &mut found);
    assert!(!found.is_empty(), "{path} has no numbers");
    for pointer in found {
        for number in NUMBERS {
            let mut object = object.clone();
            *object.pointer_mut(&pointer).expect("a number") = json!("@number@");
            let body = object.to_string().replace("\"@number@\"", number);
            let code = code(cluster, method, path, media, body).await;
            assert_ne!(code, 500, "{method} {path}: {pointer} = {number}");
        }
    }
}

fn pod_spec() -> Value {
    let probe = json!({
        "httpGet": {"path": "/", "port": 80}, "initialDelaySeconds": 1, "timeoutSeconds": 1,
        "periodSeconds": 1, "successThreshold": 1, "failureThreshold": 1,
    });
    json!({
        "terminationGracePeriodSeconds": 1,
        "activeDeadlineSeconds": 1,
        "priority": 0,
        "securityContext": {"runAsUser": 1, "runAsGroup": 1, "fsGroup": 1, "supplementalGroups": [1]},
        "tolerations": [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}],
        "containers": [{
            "name": "c", "image": "i", "readinessProbe": probe, "startupProbe": probe,
            "ports": [{"containerPort": 80, "hostPort": 0}],
            "resources": {"requests": {"cpu": 1, "memory": 1}},
        }],
    })
}

fn template() -> Value {
    let mut spec = pod_spec();
    spec.as_object_mut()
        .expect("an object")
        .remove("activeDeadlineSeconds");
    json!({"metadata": {"labels": {"app": "a"}}, "spec": spec})
}

fn named(spec: Value) -> Value {
    json!({"metadata": {"generateName": "a-", "generation": 1}, "spec": spec})
}

#[tokio::test]
async fn no_number_in_an_object_fails_the_server() {
    let cluster = TestCluster::start().await;
    let apps = "/apis/apps/v1/namespaces/default";
    let batch = "/apis/batch/v1/namespaces/default";
    let selector = json!({"matchLabels": {"app": "a"}});
    let job = json!({
        "parallelism": 1, "completions": 1, "backoffLimit": 1, "activeDeadlineSeconds": 1,
        "ttlSecondsAfterFinished": 1,
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
    });
    let deployment = json!({
        "replicas": 1, "minReadySeconds": 1, "revisionHistoryLimit": 1, "progressDeadlineSeconds": 2,
        "selector": selector, "template": template(),
        "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
    });
    let stateful = json!({
        "replicas": 1, "serviceName": "s", "selector": selector, "ordinals": {"start": 1},
        "updateStrategy": {"rollingUpdate": {"partition": 1}},
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    });
    let service = json!({
        "ports": [{"port": 80, "targetPort": 80, "nodePort": 0}],
        "sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 1}},
    });
    let scaler = json!({
        "minReplicas": 1, "maxReplicas": 2,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 1}}}],
        "behavior": {"scaleUp": {"stabilizationWindowSeconds": 1, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 1}]}},
    });
    let lease = json!({"leaseDurationSeconds": 1, "leaseTransitions": 1});
    for (path, object) in [
        (format!("{DEFAULT}/pods"), named(pod_spec())),
        (format!("{DEFAULT}/services"), named(service)),
        (format!("{apps}/deployments"), named(deployment)),
        (format!("{apps}/statefulsets"), named(stateful)),
        (format!("{batch}/jobs"), named(job.clone())),
        (
            format!("{batch}/cronjobs"),
            named(json!({
                "schedule": "* * * * *", "startingDeadlineSeconds": 1, "successfulJobsHistoryLimit": 1,
                "jobTemplate": {"spec": job},
            })),
        ),
        (
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers".to_owned(),
            named(scaler),
        ),
        (
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets".to_owned(),
            named(json!({"minAvailable": 1, "selector": selector})),
        ),
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases".to_owned(),
            named(lease),
        ),
        (
            "/apis/scheduling.k8s.io/v1/priorityclasses".to_owned(),
            json!({"metadata": {"generateName": "a-"}, "value": 1}),
        ),
        (
            format!("{DEFAULT}/serviceaccounts/default/token"),
            json!({"spec": {"expirationSeconds": 600}}),
        ),
    ] {
        sweep(&cluster, &Method::POST, &path, JSON, &object).await;
    }
}

#[tokio::test]
async fn no_number_of_a_custom_object_or_in_options_fails_the_server() {
    let cluster = TestCluster::start().await;
    let mut definition = simple(json!({
        "replicas": {"type": "integer"},
        "size": {"type": "integer", "format": "int32", "maximum": 10, "multipleOf": 2},
        "ratio": {"type": "number", "minimum": 0},
        "any": {"x-kubernetes-preserve-unknown-fields": true},
    }));
    definition["spec"]["versions"][0]["subresources"] = json!({
        "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
    });
    let created = code(&cluster, &Method::POST, CRDS, JSON, definition.to_string()).await;
    assert_eq!(created, 201);
    let spec = json!({"replicas": 1, "size": 2, "ratio": 1, "any": {"n": 1}});
    let mut object = widget("w", spec);
    let created = code(&cluster, &Method::POST, WIDGETS, JSON, object.to_string()).await;
    assert_eq!(created, 201);
    object["metadata"] = json!({"generateName": "w-", "generation": 1});
    sweep(&cluster, &Method::POST, WIDGETS, JSON, &object).await;
    let scale = json!({"spec": {"replicas": 1}});
    let path = format!("{WIDGETS}/w/scale");
    sweep(&cluster, &Method::PATCH, &path, MERGE, &scale).await;
    let options = json!({
        "kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 1, "dryRun": ["All"],
    });
    let path = format!("{WIDGETS}/w");
    sweep(&cluster, &Method::DELETE, &path, JSON, &options).await;
}
