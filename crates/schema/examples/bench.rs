//! Measures decoding and encoding: `cargo run --release -p kubewright-schema --example bench`.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use kubewright_schema::{decode_typed, encode, normalize_typed, parse_json, yaml::parse_yaml};
use serde_json::{Value, json};

fn main() {
    let config_map = json!({
        "kind": "ConfigMap", "apiVersion": "v1",
        "metadata": {"name": "settings", "namespace": "default", "labels": {"app": "web", "tier": "front"}},
        "data": {"application.properties": "x".repeat(300), "mode": "production"},
    });
    run("ConfigMap", "", "configmaps", &config_map);
    let container = |name: &str| {
        json!({
            "name": name, "image": "registry.example/app:v1.2.3", "imagePullPolicy": "IfNotPresent",
            "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
            "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
            "resources": {"limits": {"cpu": "500m", "memory": "128Mi"}, "requests": {"cpu": "250m", "memory": "64Mi"}},
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10},
            "volumeMounts": [{"name": "config", "mountPath": "/etc/config", "readOnly": true}],
            "securityContext": {"runAsNonRoot": true, "capabilities": {"drop": ["ALL"]}},
        })
    };
    let containers = ["a", "b", "c", "d"].map(container);
    let deployment = json!({
        "kind": "Deployment", "apiVersion": "apps/v1",
        "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
        "spec": {
            "replicas": 3, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}, "annotations": {"note": "n".repeat(600)}},
                "spec": {
                    "containers": containers,
                    "volumes": [{"name": "config", "configMap": {"name": "settings"}}],
                    "restartPolicy": "Always",
                },
            },
        },
    });
    run("Deployment", "apps", "deployments", &deployment);
}

fn run(name: &str, group: &str, resource: &str, object: &Value) {
    let ty = kubewright_catalog::resource(group, "v1", resource)
        .expect("built in")
        .ty;
    let text = serde_json::to_vec(object).expect("JSON");
    println!("{name}: {} bytes", text.len());
    time("parse_json", || {
        drop(black_box(parse_json(black_box(&text))));
    });
    time("parse_json + decode_typed", || {
        let node = parse_json(black_box(&text)).expect("JSON");
        drop(black_box(decode_typed(node, ty)));
    });
    time("parse_yaml + decode_typed", || {
        let yaml = parse_yaml(black_box(&text)).expect("YAML");
        drop(black_box(decode_typed(yaml.node, ty)));
    });
    time("clone + normalize_typed", || {
        drop(black_box(normalize_typed(object.clone(), ty)));
    });
    time("encode", || {
        drop(black_box(encode(black_box(object))));
    });
    time("serde_json::from_slice, for comparison", || {
        drop(black_box(serde_json::from_slice::<Value>(black_box(&text))));
    });
}

/// Prints the fastest of several rounds, each of at least 20 ms.
fn time(what: &str, mut run: impl FnMut()) {
    let mut best = Duration::MAX;
    for _ in 0..10 {
        let start = Instant::now();
        let mut count = 0u32;
        while start.elapsed() < Duration::from_millis(20) {
            for _ in 0..64 {
                run();
            }
            count += 64;
        }
        best = best.min(start.elapsed() / count);
    }
    println!("  {:>8.2} us  {what}", best.as_nanos() as f64 / 1000.0);
}
