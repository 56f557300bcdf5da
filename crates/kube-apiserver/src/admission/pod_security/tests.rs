use kubewright_apiserver::request::UserInfo;
use serde_json::json;

use super::*;
use crate::admission::testing::{Scene, pod};

/// A namespace with these labels of Pod Security.
fn namespace(labels: Value) -> Value {
    let mut object = json!({"metadata": {"name": "ns", "labels": {}}});
    for (key, value) in labels.as_object().into_iter().flatten() {
        object["metadata"]["labels"][format!("{PREFIX}{key}")] = value.clone();
    }
    object
}

async fn scene(resource: &str, labels: Value) -> (Scene, PodSecurity) {
    let group = match resource {
        "deployments" => "apps",
        "cronjobs" => "batch",
        _ => "",
    };
    let scene = Scene::new(group, resource).recording();
    scene.put("namespaces", "ns", namespace(labels)).await;
    let plugin = PodSecurity::new(
        scene.store(),
        PodSecurityConfiguration::default(),
        PodSecurityMetrics::default(),
    );
    (scene, plugin)
}

fn privileged(name: &str) -> Value {
    let mut pod = pod();
    pod["metadata"]["name"] = json!(name);
    pod["spec"]["containers"][0]["securityContext"] = json!({"privileged": true});
    pod
}

const PRIVILEGED: &str =
    "privileged (container \"c\" must not set securityContext.privileged=true)";

#[tokio::test]
async fn a_pod_that_violates_what_is_enforced_is_refused() {
    let (scene, plugin) = scene("pods", json!({"enforce": "baseline"})).await;
    scene.create(&plugin, &pod()).await.unwrap();
    let refused = scene.create(&plugin, &privileged("p")).await.unwrap_err();
    assert_eq!(
        refused.message,
        format!("pods \"p\" is forbidden: violates PodSecurity \"baseline:latest\": {PRIVILEGED}")
    );
    assert!(scene.warnings().is_empty(), "a refusal needs no warning");
}

#[tokio::test]
async fn other_modes_record_and_warn() {
    let labels = json!({"audit": "baseline", "audit-version": "v1.20", "warn": "baseline"});
    let (scene, plugin) = scene("pods", labels).await;
    scene.create(&plugin, &privileged("p")).await.unwrap();
    assert_eq!(
        scene.warnings(),
        [format!(
            "would violate PodSecurity \"baseline:latest\": {PRIVILEGED}"
        )]
    );
    let expected = [
        (
            "audit-violations",
            format!("would violate PodSecurity \"baseline:v1.20\": {PRIVILEGED}"),
        ),
        ("enforce-policy", "privileged:latest".to_owned()),
    ]
    .map(|(key, value)| (format!("{PREFIX}{key}"), value));
    assert_eq!(scene.annotations(), expected);
}

#[tokio::test]
async fn a_namespace_without_labels_records_that_everything_is_allowed() {
    let (scene, plugin) = scene("pods", json!({})).await;
    scene.create(&plugin, &privileged("p")).await.unwrap();
    let recorded = (
        format!("{PREFIX}enforce-policy"),
        "privileged:latest".to_owned(),
    );
    assert_eq!(scene.annotations(), [recorded]);
}

#[tokio::test]
async fn labels_that_are_not_valid_are_recorded() {
    let (scene, plugin) = scene("pods", json!({"warn": "strict"})).await;
    scene.create(&plugin, &privileged("p")).await.unwrap();
    let (key, error) = scene.annotations().swap_remove(1);
    assert_eq!(key, format!("{PREFIX}error"));
    assert_eq!(
        error,
        "Failed to parse policy: metadata.labels[pod-security.kubernetes.io/warn]: Invalid value: \"strict\": \
         must be one of privileged, baseline, restricted"
    );
}

#[tokio::test]
async fn controllers_are_warned_about_and_never_refused() {
    let (deployments, plugin) = scene("deployments", json!({"enforce": "baseline"})).await;
    let deployment = json!({
        "metadata": {"name": "d"}, "spec": {"template": {"spec": privileged("p")["spec"]}},
    });
    deployments.create(&plugin, &deployment).await.unwrap();
    let warning = format!("would violate PodSecurity \"baseline:latest\": {PRIVILEGED}");
    assert_eq!(deployments.warnings(), std::slice::from_ref(&warning));
    assert!(deployments.annotations().is_empty());
    // An update that changes nothing is not read, unless there may be something to say about it.
    let refused = deployments
        .update(&plugin, &Value::Null, &Value::Null)
        .await;
    refused.unwrap_err();

    let (jobs, plugin) = scene("cronjobs", json!({"warn": "baseline"})).await;
    let template = json!({"spec": {"template": {"spec": privileged("p")["spec"]}}});
    let job = json!({"metadata": {"name": "j"}, "spec": {"jobTemplate": template}});
    jobs.create(&plugin, &job).await.unwrap();
    assert_eq!(jobs.warnings(), [warning]);

    let (controllers, plugin) = scene("replicationcontrollers", json!({"warn": "baseline"})).await;
    let without = json!({"metadata": {"name": "r"}, "spec": {"replicas": 1}});
    controllers.create(&plugin, &without).await.unwrap();
    assert!(controllers.warnings().is_empty());
}

#[tokio::test]
async fn an_update_is_checked_if_an_image_or_a_container_is_new() {
    let (scene, plugin) = scene("pods", json!({"enforce": "baseline"})).await;
    let old = privileged("p");
    let mut new = old.clone();
    new["metadata"]["labels"] = json!({"a": "b"});
    scene.update(&plugin, &old, &new).await.unwrap();
    new["spec"]["containers"][0]["image"] = json!("other");
    scene.update(&plugin, &old, &new).await.unwrap_err();
    let mut new = old.clone();
    new["spec"]["initContainers"] = json!([{"name": "i"}]);
    scene.update(&plugin, &old, &new).await.unwrap_err();
    let mut new = old.clone();
    new["spec"]["ephemeralContainers"] = json!([{"name": "e", "image": "i"}]);
    scene.update(&plugin, &old, &new).await.unwrap_err();
    scene.update(&plugin, &new, &new).await.unwrap();
    scene.update(&plugin, &new, &old).await.unwrap();
}

#[tokio::test]
async fn subresources_other_than_pods_are_ignored() {
    let labels = json!({"enforce": "baseline"});
    for (subresource, is_checked) in [("status", false), ("binding", false), ("resize", true)] {
        let scene = Scene::at("", "pods", subresource);
        scene
            .put("namespaces", "ns", namespace(labels.clone()))
            .await;
        let plugin = PodSecurity::new(
            scene.store(),
            PodSecurityConfiguration::default(),
            PodSecurityMetrics::default(),
        );
        let refused = scene.create(&plugin, &privileged("p")).await.is_err();
        assert_eq!(refused, is_checked, "{subresource}");
    }
}

#[tokio::test]
async fn exemptions_are_recorded() {
    let cases = [
        (
            "namespace",
            PodSecurityConfiguration::default().exempt_namespace("ns"),
        ),
        (
            "user",
            PodSecurityConfiguration::default().exempt_user("root"),
        ),
        (
            "runtimeClass",
            PodSecurityConfiguration::default().exempt_runtime_class("kata"),
        ),
    ];
    for (what, configuration) in cases {
        let (scene, _) = scene("pods", json!({"enforce": "baseline"})).await;
        let scene = scene.with_user(UserInfo {
            name: "root".into(),
            ..UserInfo::default()
        });
        let plugin = PodSecurity::new(scene.store(), configuration, PodSecurityMetrics::default());
        let mut pod = privileged("p");
        pod["spec"]["runtimeClassName"] = json!("kata");
        scene.create(&plugin, &pod).await.unwrap();
        let recorded = (format!("{PREFIX}exempt"), what.to_owned());
        assert_eq!(scene.annotations(), [recorded]);
    }
}

#[tokio::test]
async fn a_pod_in_no_namespace_is_an_internal_error() {
    let scene = Scene::new("", "pods");
    let plugin = PodSecurity::new(
        scene.store(),
        PodSecurityConfiguration::default(),
        PodSecurityMetrics::default(),
    );
    let refused = scene.create(&plugin, &pod()).await.unwrap_err();
    assert_eq!(refused.code, 500);
    assert_eq!(
        refused.message,
        "Internal error occurred: failed to lookup namespace \"ns\""
    );
}

#[tokio::test]
async fn labels_of_namespaces_are_checked_when_they_change() {
    let (scene, plugin) = scene("namespaces", json!({})).await;
    let wrong = namespace(json!({"enforce": "strict", "enforce-version": "v2"}));
    let refused = scene.create(&plugin, &wrong).await.unwrap_err();
    assert_eq!(refused.code, 422);
    assert_eq!(
        refused.message,
        "Namespace \"ns\" is invalid: [\
         metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: \"strict\": \
         must be one of privileged, baseline, restricted, \
         metadata.labels[pod-security.kubernetes.io/enforce-version]: Invalid value: \"v2\": \
         must be \"latest\" or \"v1.x\"]"
    );
    scene.update(&plugin, &wrong, &wrong).await.unwrap();
    let other = namespace(json!({"enforce": "stricter", "enforce-version": "v2"}));
    scene.update(&plugin, &wrong, &other).await.unwrap_err();
    scene
        .update(&plugin, &wrong, &namespace(json!({})))
        .await
        .unwrap();
}

#[tokio::test]
async fn enforcing_more_warns_about_the_pods_that_exist() {
    let (scene, plugin) = scene("namespaces", json!({})).await;
    for name in ["b", "a", "c"] {
        scene
            .put("pods", &format!("ns/{name}"), privileged(name))
            .await;
    }
    let mut host = pod();
    host["metadata"]["name"] = json!("z");
    host["spec"]["hostPID"] = json!(true);
    scene.put("pods", "ns/z", host).await;
    scene.put("pods", "other/x", privileged("x")).await;
    let nothing = namespace(json!({}));
    let baseline = namespace(json!({"enforce": "baseline"}));
    scene.update(&plugin, &nothing, &baseline).await.unwrap();
    let expected = [
        "existing pods in namespace \"ns\" violate the new PodSecurity enforce level \"baseline:latest\"",
        "a (and 2 other pods): privileged",
        "z: host namespaces",
    ];
    assert_eq!(scene.warnings(), expected);
    for (old, new) in [
        (&baseline, &baseline),
        (&baseline, &nothing),
        (&namespace(json!({"enforce": "restricted"})), &baseline),
        (&nothing, &namespace(json!({"warn": "restricted"}))),
    ] {
        scene.update(&plugin, old, new).await.unwrap();
        assert!(scene.warnings().is_empty());
    }
    let older = namespace(json!({"enforce": "baseline", "enforce-version": "v1.20"}));
    scene.update(&plugin, &baseline, &older).await.unwrap();
    assert_eq!(scene.warnings().len(), 3);
}

#[tokio::test]
async fn one_pod_of_each_controller_is_checked_first() {
    let (scene, plugin) = scene("namespaces", json!({})).await;
    for i in 0..3001 {
        let mut pod = pod();
        pod["metadata"]["name"] = json!(format!("p{i:04}"));
        let uid = if i == 3000 { "last" } else { "first" };
        let owner = json!({"kind": "ReplicaSet", "name": uid, "uid": uid, "controller": true});
        pod["metadata"]["ownerReferences"] = json!([owner]);
        pod["spec"]["hostPID"] = json!(i == 3000);
        scene.put("pods", &format!("ns/p{i:04}"), pod).await;
    }
    let baseline = namespace(json!({"enforce": "baseline"}));
    scene
        .update(&plugin, &namespace(json!({})), &baseline)
        .await
        .unwrap();
    let warnings = scene.warnings();
    let partly = "new PodSecurity enforce level only checked against the first ";
    assert!(warnings[0].starts_with(partly), "{warnings:?}");
    assert!(
        warnings[0].ends_with(" of 3001 existing pods"),
        "{warnings:?}"
    );
    assert_eq!(warnings[2], "p3000: host namespaces");
}

#[tokio::test]
async fn the_labels_of_an_exempt_namespace_are_ignored_with_a_warning() {
    let (scene, _) = scene("namespaces", json!({})).await;
    let configuration = PodSecurityConfiguration::default().exempt_namespace("ns");
    let plugin = PodSecurity::new(scene.store(), configuration, PodSecurityMetrics::default());
    let labels = json!({"enforce": "baseline", "audit": "privileged", "warn-version": "v1.20"});
    scene.create(&plugin, &namespace(labels)).await.unwrap();
    assert_eq!(
        scene.warnings(),
        [
            "namespace \"ns\" is exempt from Pod Security, and the policy \
          (enforce=baseline:latest, warn=baseline:v1.20) will be ignored"
        ]
    );
    scene.put("pods", "ns/p", privileged("p")).await;
    let (old, new) = (
        namespace(json!({})),
        namespace(json!({"enforce": "restricted"})),
    );
    scene.update(&plugin, &old, &new).await.unwrap();
    assert_eq!(
        scene.warnings(),
        [
            "namespace \"ns\" is exempt from Pod Security, and the policy (enforce=restricted:latest) will be ignored"
        ]
    );
    scene.create(&plugin, &old).await.unwrap();
    assert!(scene.warnings().is_empty());
}
