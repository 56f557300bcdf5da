//! Generates the namespace, the Deployment and the metrics Service of the operator.

use serde_json::{Value, json};

use super::naming::Naming;

/// The usual port of the metrics endpoint.
pub(super) const METRICS_PORT: u16 = 8443;
/// The port of the health probes.
pub(super) const HEALTH_PORT: u16 = 8081;

/// Returns the namespace of the operator, with the restricted pod security level.
pub(super) fn namespace(naming: &Naming) -> Value {
    let mut labels = naming.labels();
    labels["pod-security.kubernetes.io/enforce"] = json!("restricted");
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": naming.namespace, "labels": labels},
    })
}

/// Returns the Deployment of the operator.
///
/// The program serves metrics on the loopback address. With a port, it serves them to the network, over HTTPS and to authorized
/// users only.
pub(super) fn deployment(naming: &Naming, image: &str, metrics_port: Option<u16>) -> Value {
    let labels = pod_labels(naming);
    let mut container = json!({
        "name": "manager",
        "image": image,
        "args": [
            "--leader-elect",
            format!("--health-probe-bind-address=:{HEALTH_PORT}"),
        ],
        "ports": [
            {"containerPort": HEALTH_PORT, "name": "health", "protocol": "TCP"},
        ],
        "livenessProbe": probe("/healthz", 15, 20),
        "readinessProbe": probe("/readyz", 5, 10),
        "resources": {
            "limits": {"cpu": "500m", "memory": "128Mi"},
            "requests": {"cpu": "10m", "memory": "64Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
        },
    });
    if let Some(port) = metrics_port {
        if let Some(args) = container["args"].as_array_mut() {
            args.push(json!(format!("--metrics-bind-address=:{port}")));
        }
        if let Some(ports) = container["ports"].as_array_mut() {
            ports.insert(
                0,
                json!({"containerPort": port, "name": "metrics", "protocol": "TCP"}),
            );
        }
    }
    if naming.namespaced {
        container["env"] = json!([{
            "name": "POD_NAMESPACE",
            "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}},
        }]);
        if let Some(args) = container["args"].as_array_mut() {
            args.push(json!("--namespace=$(POD_NAMESPACE)"));
        }
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": naming.name("controller-manager"),
            "namespace": naming.namespace,
            "labels": labels,
        },
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {
                    "annotations": {"kubectl.kubernetes.io/default-container": "manager"},
                    "labels": labels,
                },
                "spec": {
                    "containers": [container],
                    "securityContext": {
                        "runAsNonRoot": true,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "serviceAccountName": naming.account(),
                    "terminationGracePeriodSeconds": 10,
                },
            },
        },
    })
}

/// Returns the Service of the metrics endpoint.
pub(super) fn metrics_service(naming: &Naming, port: u16) -> Value {
    let labels = pod_labels(naming);
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": naming.name("controller-manager-metrics-service"),
            "namespace": naming.namespace,
            "labels": labels,
        },
        "spec": {
            "ports": [{"name": "https", "port": port, "protocol": "TCP", "targetPort": "metrics"}],
            "selector": labels,
        },
    })
}

/// Returns the labels of the operator's pods.
pub(super) fn pod_labels(naming: &Naming) -> Value {
    let mut labels = naming.labels();
    // Those of a chart are a placeholder.
    if let Some(labels) = labels.as_object_mut() {
        labels.insert("control-plane".into(), json!("controller-manager"));
    }
    labels
}

fn probe(path: &str, delay: u32, period: u32) -> Value {
    json!({
        "httpGet": {"path": path, "port": "health"},
        "initialDelaySeconds": delay,
        "periodSeconds": period,
    })
}
