//! Admission reviews of a pod of 4 KB.

use anyhow::ensure;
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

/// The paths of a validator and of a defaulter of pods.
pub(super) const VALIDATE: &str = "/validate--v1-pod";
pub(super) const MUTATE: &str = "/mutate--v1-pod";

/// Returns the review of a new pod, as kube-apiserver sends it.
pub(super) fn review() -> String {
    let pod = pod();
    json!({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
            "requestResource": {"group": "", "version": "v1", "resource": "pods"},
            "name": "web-0", "namespace": "shop", "operation": "CREATE",
            "userInfo": {"username": "alice", "groups": ["dev", "system:authenticated"]},
            "object": pod, "oldObject": null, "dryRun": false,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    })
    .to_string()
}

/// Checks the answer of the validator or the defaulter.
pub(super) fn check(path: &str, answer: &[u8]) -> anyhow::Result<()> {
    let answer: Value = serde_json::from_slice(answer)?;
    let response = &answer["response"];
    ensure!(
        response["allowed"] == true,
        "scores nothing: a review was answered with {answer}"
    );
    if path == MUTATE {
        let patch = response["patch"].as_str().unwrap_or_default();
        let patch: Value = serde_json::from_slice(&BASE64_STANDARD.decode(patch)?)?;
        let expected = json!({"op": "add", "path": "/metadata/labels/team", "value": "web"});
        // controller-runtime adds the empty status that its type has, too.
        let operations = patch.as_array().map_or(&[][..], Vec::as_slice);
        ensure!(
            operations.contains(&expected),
            "scores nothing: the patch of a review is {patch}"
        );
    }
    Ok(())
}

fn pod() -> Value {
    let variables: Vec<Value> = (0..13)
        .map(|n| json!({"name": format!("SETTING_{n}"), "value": format!("value-of-setting-{n}")}))
        .collect();
    let container = |n: u32| {
        json!({
            "name": format!("container-{n}"),
            "image": format!("registry.example.com/shop/web-{n}:1.2.3"),
            "env": variables,
            "ports": [{"name": "http", "containerPort": 8080 + n, "protocol": "TCP"}],
            "resources": {"limits": {"cpu": "500m", "memory": "256Mi"}, "requests": {"cpu": "250m", "memory": "128Mi"}},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "token", "mountPath": "/token", "readOnly": true}],
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080 + n}, "periodSeconds": 10},
        })
    };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "web-0", "namespace": "shop",
            "labels": {"app.kubernetes.io/name": "web", "app.kubernetes.io/part-of": "shop"},
            "annotations": {"example.com/revision": "1234567890"},
            "managedFields": [{
                "manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "v1", "time": "2025-01-02T03:04:05Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {
                    "f:metadata": {"f:labels": {".": {}, "f:app.kubernetes.io/name": {}, "f:app.kubernetes.io/part-of": {}}},
                    "f:spec": {"f:containers": {}, "f:nodeSelector": {}, "f:restartPolicy": {}, "f:serviceAccountName": {}, "f:volumes": {}},
                },
            }],
        },
        "spec": {
            "containers": [container(0), container(1), container(2)],
            "volumes": [{"name": "data", "emptyDir": {}}, {"name": "token", "secret": {"secretName": "token"}}],
            "restartPolicy": "Always", "serviceAccountName": "web", "nodeSelector": {"disk": "ssd"},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pod_has_four_kilobytes() {
        let size = pod().to_string().len();
        assert!((4000..4300).contains(&size), "{size}");
    }
}
