//! Pods with and without accounts.

use super::*;
use crate::admission::testing::{Scene, pod};

const PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

async fn scene(account: Value) -> (Scene, ServiceAccount) {
    let scene = Scene::new("", "pods");
    let mut account = account;
    account["metadata"]["name"] = DEFAULT.into();
    account["metadata"]["namespace"] = "ns".into();
    scene.put(ACCOUNTS, "ns/default", account).await;
    let plugin = plugin(&scene);
    (scene, plugin)
}

fn plugin(scene: &Scene) -> ServiceAccount {
    ServiceAccount {
        wait: Duration::ZERO,
        ..ServiceAccount::new(scene.store())
    }
}

#[tokio::test]
async fn a_pod_gets_the_default_account_and_its_token() {
    let (scene, plugin) = scene(json!({})).await;
    let mut pod = pod();
    pod["spec"]["initContainers"] = json!([{"name": "i"}]);
    scene.mutate(&plugin, &mut pod).await.unwrap();
    let spec = &pod["spec"];
    assert_eq!(spec["serviceAccountName"], "default");
    assert_eq!(spec["serviceAccount"], "default");
    assert_eq!(spec["imagePullSecrets"], Value::Null);
    let name = spec["volumes"][0]["name"].as_str().unwrap();
    assert_eq!(name.len(), "kube-api-access-".len() + 5);
    let mount = json!([{"name": name, "readOnly": true, "mountPath": PATH}]);
    assert_eq!(spec["containers"][0]["volumeMounts"], mount);
    assert_eq!(spec["initContainers"][0]["volumeMounts"], mount);
    assert_eq!(
        spec["volumes"][0]["projected"],
        json!({
            "defaultMode": 420,
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [
                    {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
                ]}},
            ],
        })
    );
    scene.create(&plugin, &pod).await.unwrap();
}

#[tokio::test]
async fn the_pod_decides_about_the_token_before_the_account() {
    for (of_pod, of_account, mounted) in [
        (Value::Null, Value::Null, true),
        (Value::Null, json!(false), false),
        (json!(true), json!(false), true),
        (json!(false), json!(true), false),
    ] {
        let (scene, plugin) = scene(json!({"automountServiceAccountToken": of_account})).await;
        let mut pod = pod();
        pod["spec"]["automountServiceAccountToken"] = of_pod.clone();
        scene.mutate(&plugin, &mut pod).await.unwrap();
        let volumes = pod["spec"]["volumes"].items().len();
        assert_eq!(volumes, usize::from(mounted), "{of_pod} {of_account}");
    }
}

#[tokio::test]
async fn a_mount_at_the_path_and_a_volume_of_the_name_are_kept() {
    let (scene, plugin) = scene(json!({})).await;
    let mut mounted = pod();
    mounted["spec"]["containers"][0]["volumeMounts"] = json!([{"name": "own", "mountPath": PATH}]);
    scene.mutate(&plugin, &mut mounted).await.unwrap();
    assert_eq!(mounted["spec"]["volumes"], Value::Null);

    let mut named = pod();
    named["spec"]["volumes"] = json!([{"name": "kube-api-access-mine", "emptyDir": {}}]);
    scene.mutate(&plugin, &mut named).await.unwrap();
    assert_eq!(named["spec"]["volumes"].items().len(), 1);
    let mount = &named["spec"]["containers"][0]["volumeMounts"][0];
    assert_eq!(mount["name"], "kube-api-access-mine");
}

#[tokio::test]
async fn pull_secrets_of_the_account_are_for_pods_without_any() {
    let (scene, plugin) = scene(json!({"imagePullSecrets": [{"name": "registry"}]})).await;
    let mut with = pod();
    with["spec"]["imagePullSecrets"] = json!([{"name": "own"}]);
    let mut without = pod();
    scene.mutate(&plugin, &mut with).await.unwrap();
    scene.mutate(&plugin, &mut without).await.unwrap();
    assert_eq!(with["spec"]["imagePullSecrets"], json!([{"name": "own"}]));
    let expected = json!([{"name": "registry"}]);
    assert_eq!(without["spec"]["imagePullSecrets"], expected);
}

#[tokio::test]
async fn a_pod_without_its_account_is_refused() {
    let scene = Scene::new("", "pods");
    let plugin = plugin(&scene);
    for (name, shown) in [(Value::Null, "default"), (json!("web"), "web")] {
        let mut pod = pod();
        pod["spec"]["serviceAccountName"] = name;
        let refused = scene.mutate(&plugin, &mut pod).await.unwrap_err();
        assert_eq!(
            refused.message,
            format!(
                "pods \"p\" is forbidden: error looking up service account ns/{shown}: serviceaccount \"{shown}\" not found"
            )
        );
        assert_eq!(refused.code, 403);
    }
}

#[tokio::test]
async fn a_pod_waits_for_the_default_account() {
    let scene = Scene::new("", "pods");
    let plugin = ServiceAccount {
        wait: Duration::from_secs(60),
        ..ServiceAccount::new(scene.store())
    };
    let mut pod = pod();
    let account = json!({"metadata": {"name": "default"}, "automountServiceAccountToken": false});
    let (admitted, ()) = tokio::join!(
        scene.mutate(&plugin, &mut pod),
        scene.put(ACCOUNTS, "ns/default", account)
    );
    admitted.unwrap();
    assert_eq!(pod["spec"]["serviceAccountName"], "default");
}

#[tokio::test]
async fn mirror_pods_use_no_accounts_secrets_and_tokens() {
    let (scene, plugin) = scene(json!({})).await;
    let mirror = |field: &str, value: Value| {
        let mut pod = pod();
        pod["metadata"]["annotations"] = json!({pod_references::MIRROR: "hash"});
        pod["spec"][field] = value;
        pod
    };
    let mut plain = mirror("hostNetwork", true.into());
    scene.mutate(&plugin, &mut plain).await.unwrap();
    assert_eq!(plain["spec"]["serviceAccountName"], Value::Null);
    let token = json!([{"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]);
    for (field, value, cause) in [
        (
            "serviceAccountName",
            json!("default"),
            "a mirror pod may not reference service accounts",
        ),
        (
            "volumes",
            json!([{"secret": {"secretName": "s"}}]),
            "a mirror pod may not reference secrets",
        ),
        (
            "volumes",
            token,
            "a mirror pod may not use ServiceAccountToken volume projections",
        ),
    ] {
        let mut pod = mirror(field, value);
        let refused = scene.mutate(&plugin, &mut pod).await.unwrap_err();
        assert_eq!(refused.message, format!("pods \"p\" is forbidden: {cause}"));
    }
}

#[tokio::test]
async fn an_account_can_limit_its_pods_to_the_secrets_it_lists() {
    let annotations = json!({"kubernetes.io/enforce-mountable-secrets": "true"});
    let account = json!({
        "metadata": {"annotations": annotations}, "secrets": [{"name": "ok"}],
        "imagePullSecrets": [{"name": "pull"}],
    });
    let (scene, plugin) = scene(account).await;
    let ends = |source: &str, secret: &str| {
        format!(
            "pods \"p\" is forbidden: {source} referencing secret.secretName=\"{secret}\" is not allowed because service \
             account default does not reference that secret"
        )
    };
    let variable = |secret: &str| json!([{"name": "c", "env": [{"name": "V", "valueFrom": {"secretKeyRef": {"name": secret}}}]}]);
    let whole = json!([{"name": "c", "envFrom": [{"secretRef": {"name": "no"}}]}]);
    for (field, value, message) in [
        ("containers", variable("ok"), None),
        ("volumes", json!([{"secret": {"secretName": "ok"}}]), None),
        ("imagePullSecrets", json!([{"name": "pull"}]), None),
        (
            "volumes",
            json!([{"secret": {"secretName": "no"}}]),
            Some(
                "pods \"p\" is forbidden: volume with secret.secretName=\"no\" is not allowed because service account \
                 default does not reference that secret"
                    .to_owned(),
            ),
        ),
        (
            "containers",
            variable("no"),
            Some(ends("container c with envVar V", "no")),
        ),
        (
            "initContainers",
            whole,
            Some(ends("init container c with envFrom", "no")),
        ),
        (
            "imagePullSecrets",
            json!([{"name": "no"}]),
            Some(
                "pods \"p\" is forbidden: imagePullSecrets[0].name=\"no\" is not allowed because service account default \
                 does not reference that imagePullSecret"
                    .to_owned(),
            ),
        ),
    ] {
        let mut pod = pod();
        pod["spec"][field] = value;
        let admitted = scene.mutate(&plugin, &mut pod).await;
        assert_eq!(admitted.err().map(|status| status.message), message);
    }
}

#[tokio::test]
async fn ephemeral_containers_are_limited_too() {
    let annotations = json!({"kubernetes.io/enforce-mountable-secrets": "T"});
    let account = json!({"metadata": {"annotations": annotations, "name": "default"}});
    let scene = Scene::at("", "pods", "ephemeralcontainers");
    scene.put(ACCOUNTS, "ns/default", account).await;
    let plugin = plugin(&scene);
    let mut changed = pod();
    changed["spec"]["serviceAccountName"] = "default".into();
    changed["spec"]["ephemeralContainers"] =
        json!([{"name": "e", "envFrom": [{"secretRef": {"name": "no"}}]}]);
    let refused = scene.update(&plugin, &pod(), &changed).await.unwrap_err();
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (
            500,
            "ephemeral container e with envFrom referencing secret.secretName=\"no\" is not allowed because service \
             account default does not reference that secret"
        )
    );
}
