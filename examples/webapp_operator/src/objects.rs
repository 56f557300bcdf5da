//! The objects that a `WebApp` owns. They are applied, so they have only the fields that this operator decides on.

use std::hash::{DefaultHasher, Hasher};

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Secret, Service},
    networking::v1::Ingress,
};
use kube::ResourceExt;
use serde_json::{Result, Value, from_value, json};

use crate::api::v1::WebApp;

/// Returns the ConfigMap with the configuration of the app.
pub fn config_map(app: &WebApp) -> Result<ConfigMap> {
    from_value(json!({"metadata": metadata(app), "data": app.spec.config}))
}

/// Returns the Deployment. It is rolled when the image, the configuration or the Secret changes.
pub fn deployment(app: &WebApp, secret: Option<&Secret>) -> Result<Deployment> {
    let mut env_from = vec![json!({"configMapRef": {"name": app.name_any()}})];
    if let Some(name) = &app.spec.secret {
        env_from.push(json!({"secretRef": {"name": name}}));
    }
    let mut pod = metadata(app);
    pod["annotations"] = json!({"apps.example.com/checksum": checksum(app, secret)?});
    from_value(json!({
        "metadata": metadata(app),
        "spec": {
            "replicas": app.spec.replicas,
            "selector": {"matchLabels": labels(app)},
            "template": {
                "metadata": pod,
                "spec": {"containers": [{
                    "name": "app",
                    "image": app.spec.image,
                    "ports": [{"name": "http", "containerPort": 8080}],
                    "envFrom": env_from,
                }]},
            },
        },
    }))
}

/// Returns the Service in front of the pods.
pub fn service(app: &WebApp) -> Result<Service> {
    let port = json!({"name": "http", "port": 80, "targetPort": "http"});
    from_value(json!({
        "metadata": metadata(app),
        "spec": {"selector": labels(app), "ports": [port]},
    }))
}

/// Returns the Ingress for a host.
pub fn ingress(app: &WebApp, host: &str, class: &str) -> Result<Ingress> {
    let backend = json!({"service": {"name": app.name_any(), "port": {"name": "http"}}});
    let path = json!({"path": "/", "pathType": "Prefix", "backend": backend});
    from_value(json!({
        "metadata": metadata(app),
        "spec": {
            "ingressClassName": (!class.is_empty()).then_some(class),
            "rules": [{"host": host, "http": {"paths": [path]}}],
        },
    }))
}

fn metadata(app: &WebApp) -> Value {
    json!({"name": app.name_any(), "labels": labels(app)})
}

fn labels(app: &WebApp) -> Value {
    json!({"app.kubernetes.io/instance": app.name_any()})
}

/// Returns a text that changes with the configuration and with the Secret.
fn checksum(app: &WebApp, secret: Option<&Secret>) -> Result<String> {
    let data = secret.and_then(|secret| secret.data.as_ref());
    let mut hash = DefaultHasher::new();
    hash.write(&serde_json::to_vec(&(&app.spec.config, data))?);
    Ok(format!("{:016x}", hash.finish()))
}
