//! The environment, the user and the volumes of a container.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use serde_json::json;

use crate::agnhost::{create, has_ended, log, start, until};

#[tokio::test]
async fn containers_see_resources_groups_and_expanded_paths() {
    let cluster = start().await;
    let pod = json!({
        "metadata": {"name": "a"},
        "spec": {
            "restartPolicy": "Never",
            "securityContext": {"runAsUser": 1001, "runAsGroup": 2002, "supplementalGroups": [50]},
            "containers": [{
                "name": "c", "image": "busybox",
                "command": ["sh", "-c", "id; echo $CPU $LIMIT; echo text > /data/file; ls /all/a-1"],
                "resources": {"requests": {"cpu": "250m"}},
                "env": [
                    {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "requests.cpu", "divisor": "1m"}}},
                    {"name": "LIMIT", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
                ],
                "volumeMounts": [
                    {"name": "data", "mountPath": "/data", "subPathExpr": "$(POD)-1"},
                    {"name": "data", "mountPath": "/all"},
                ],
            }],
            "volumes": [{"name": "data", "emptyDir": {}}],
        },
    });
    create(&cluster, "/api/v1/namespaces/default/pods", pod).await;
    until(&cluster, "a", has_ended).await;
    let expected = "uid=1001 gid=2002 groups=2002,50\n250 8\nfile\n";
    assert_eq!(log(&cluster, "a").await, expected);
}

#[tokio::test]
async fn a_path_below_a_volume_waits_for_its_variables() {
    let cluster = start().await;
    let pod = json!({
        "metadata": {"name": "a"},
        "spec": {
            "restartPolicy": "Never",
            "containers": [{
                "name": "c", "image": "busybox", "command": ["true"],
                "env": [{
                    "name": "PART",
                    "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['part']"}},
                }],
                "volumeMounts": [{"name": "data", "mountPath": "/data", "subPathExpr": "$(PART)"}],
            }],
            "volumes": [{"name": "data", "emptyDir": {}}],
        },
    });
    create(&cluster, "/api/v1/namespaces/default/pods", pod).await;
    let reason = |pod: &Pod| {
        let containers = pod.status.clone()?.container_statuses?;
        containers.first()?.state.clone()?.waiting?.reason
    };
    until(&cluster, "a", |pod| {
        reason(pod).as_deref() == Some("CreateContainerConfigError")
    })
    .await;
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    let part = kube::api::Patch::Merge(json!({"metadata": {"annotations": {"part": "x"}}}));
    pods.patch("a", &Default::default(), &part).await.unwrap();
    until(&cluster, "a", has_ended).await;
}
