use serde_json::json;

use super::*;
use crate::admission::testing::{Scene, claim, pod};

async fn scene(resource: &str, limits: Value) -> (Scene, LimitRanger) {
    let scene = Scene::new("", resource);
    let range = json!({"metadata": {"name": "l", "namespace": "ns"}, "spec": {"limits": limits}});
    scene.put(LIMIT_RANGES, "ns/l", range.clone()).await;
    // Of a namespace that is not asked about.
    scene.put(LIMIT_RANGES, "other/l", range).await;
    let plugin = LimitRanger::new(scene.store());
    (scene, plugin)
}

#[tokio::test]
async fn containers_get_the_defaults_they_lack() {
    let limits = json!([{
        "type": "Container",
        "default": {"cpu": "1", "memory": "1Gi"},
        "defaultRequest": {"cpu": "500m"},
    }]);
    let (scene, plugin) = scene("pods", limits).await;
    let mut pod = pod();
    pod["spec"]["containers"][0]["resources"] = json!({"limits": {"memory": "2Gi"}});
    pod["spec"]["initContainers"] = json!([{"name": "i"}]);
    scene.mutate(&plugin, &mut pod).await.unwrap();
    assert_eq!(
        pod["spec"]["containers"][0]["resources"],
        json!({"limits": {"cpu": "1", "memory": "2Gi"}, "requests": {"cpu": "500m"}})
    );
    assert_eq!(
        pod["metadata"]["annotations"]["kubernetes.io/limit-ranger"],
        "LimitRanger plugin set: cpu request for container c; cpu limit for container c; cpu request for init container i; cpu, memory limit for init container i"
    );
}

#[tokio::test]
async fn without_defaults_the_pod_is_left_alone() {
    let (scene, plugin) = scene("pods", json!([{"type": "Pod", "max": {"cpu": "1"}}])).await;
    let mut changed = pod();
    scene.mutate(&plugin, &mut changed).await.unwrap();
    assert_eq!(changed, pod());
}

#[tokio::test]
async fn a_container_stays_within_its_bounds() {
    let limits = json!([{"type": "Container", "min": {"cpu": "100m"}, "max": {"cpu": "1"}}]);
    let (scene, plugin) = scene("pods", limits).await;
    let mut pod = pod();
    let refused = scene.create(&plugin, &pod).await.unwrap_err();
    assert_eq!(
        refused.message,
        "pods \"p\" is forbidden: [minimum cpu usage per Container is 100m.  No request is specified, maximum cpu usage per Container is 1.  No limit is specified]"
    );
    let resources = |request: &str, limit: &str| json!({"requests": {"cpu": request}, "limits": {"cpu": limit}});
    pod["spec"]["containers"][0]["resources"] = resources("50m", "2");
    let refused = scene.create(&plugin, &pod).await.unwrap_err();
    assert_eq!(
        refused.message,
        "pods \"p\" is forbidden: [minimum cpu usage per Container is 100m, but request is 50m, maximum cpu usage per Container is 1, but limit is 2]"
    );
    pod["spec"]["containers"][0]["resources"] = resources("100m", "1");
    scene.create(&plugin, &pod).await.unwrap();
}

#[tokio::test]
async fn the_ratio_of_limit_and_request_is_bounded() {
    let limits = json!([{"type": "Pod", "maxLimitRequestRatio": {"memory": "1500m"}}]);
    let (scene, plugin) = scene("pods", limits).await;
    let mut pod = pod();
    let refused = scene.create(&plugin, &pod).await.unwrap_err();
    assert!(refused.message.ends_with(
        "memory max limit to request ratio per Pod is 1500m, but no request is specified or request is 0"
    ));
    pod["spec"]["containers"][0]["resources"] =
        json!({"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}});
    let refused = scene.create(&plugin, &pod).await.unwrap_err();
    assert!(
        refused
            .message
            .ends_with("is 1500m, but provided ratio is 2.000000"),
        "{}",
        refused.message
    );
    pod["spec"]["containers"][0]["resources"]["limits"]["memory"] = json!("1536Mi");
    scene.create(&plugin, &pod).await.unwrap();
}

#[tokio::test]
async fn a_claim_stays_within_its_bounds() {
    let limits = json!([{"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "5Gi"}}]);
    let (scene, plugin) = scene("persistentvolumeclaims", limits).await;
    scene.create(&plugin, &claim("3Gi")).await.unwrap();
    let refused = scene.create(&plugin, &claim("500Mi")).await.unwrap_err();
    assert!(
        refused.message.ends_with(
            "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi"
        )
    );
    let refused = scene
        .update(&plugin, &claim("3Gi"), &claim("6Gi"))
        .await
        .unwrap_err();
    assert!(
        refused.message.ends_with(
            "maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi"
        )
    );
    let mut going = claim("3Gi");
    going["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
    scene.update(&plugin, &going, &claim("6Gi")).await.unwrap();
}
