use std::sync::Arc;

use kubewright_apiserver::SystemClock;
use serde_json::json;

use super::*;
use crate::admission::testing::{Scene, claim, pod};

fn plugin(scene: &Scene) -> ResourceQuota {
    ResourceQuota::new(scene.store(), Arc::new(SystemClock))
}

async fn quota(scene: &Scene, spec: Value, hard: Value, used: Value) {
    let object = json!({
        "kind": "ResourceQuota", "apiVersion": "v1",
        "metadata": {"name": "q", "namespace": "ns"},
        "spec": spec, "status": {"hard": hard, "used": used},
    });
    scene.put(RESOURCE_QUOTAS, "ns/q", object).await;
}

async fn used(scene: &Scene) -> Value {
    scene.read(RESOURCE_QUOTAS, "ns/q").await["status"]["used"].clone()
}

fn config_map() -> Value {
    json!({"metadata": {"name": "m", "namespace": "ns"}})
}

#[tokio::test]
async fn objects_are_counted_until_the_quota_is_spent() {
    let scene = Scene::new("", "configmaps");
    let plugin = plugin(&scene);
    scene.create(&plugin, &config_map()).await.unwrap();
    let hard = json!({"configmaps": "2", "count/configmaps": "9", "pods": "1"});
    quota(
        &scene,
        json!({}),
        hard,
        json!({"configmaps": "1", "count/configmaps": "1", "pods": "0"}),
    )
    .await;
    scene.create(&plugin, &config_map()).await.unwrap();
    assert_eq!(
        used(&scene).await,
        json!({"configmaps": "2", "count/configmaps": "2", "pods": "0"})
    );
    let refused = scene.create(&plugin, &config_map()).await.unwrap_err();
    assert_eq!(refused.code, 403);
    assert_eq!(
        refused.message,
        "configmaps \"m\" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2"
    );
    scene
        .update(&plugin, &config_map(), &config_map())
        .await
        .unwrap();
}

#[tokio::test]
async fn the_server_manages_what_is_used() {
    let scene = Scene::new("", "configmaps");
    let plugin = plugin(&scene);
    quota(
        &scene,
        json!({}),
        json!({"configmaps": "2"}),
        json!({"configmaps": "1"}),
    )
    .await;
    scene.create(&plugin, &config_map()).await.unwrap();
    let stored = scene.read(RESOURCE_QUOTAS, "ns/q").await;
    let entry = &stored["metadata"]["managedFields"][0];
    assert_eq!(entry["manager"], "kube-apiserver", "{stored}");
    assert_eq!(entry["subresource"], "status");
    assert_eq!(
        entry["fieldsV1"],
        json!({"f:status": {"f:used": {"f:configmaps": {}}}})
    );
}

#[tokio::test]
async fn a_dry_run_is_checked_and_spends_nothing() {
    let mut scene = Scene::new("apps", "deployments");
    scene.dry_run = true;
    let plugin = plugin(&scene);
    let name = "count/deployments.apps";
    quota(&scene, json!({}), json!({name: "1"}), json!({name: "0"})).await;
    scene.create(&plugin, &config_map()).await.unwrap();
    assert_eq!(used(&scene).await, json!({name: "0"}));
    quota(&scene, json!({}), json!({name: "1"}), json!({name: "1"})).await;
    scene.create(&plugin, &config_map()).await.unwrap_err();
}

#[tokio::test]
async fn writers_at_once_overspend_nothing() {
    let scene = Arc::new(Scene::new("", "secrets"));
    let plugin = Arc::new(plugin(&scene));
    quota(
        &scene,
        json!({}),
        json!({"secrets": "20"}),
        json!({"secrets": "0"}),
    )
    .await;
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let (scene, plugin) = (scene.clone(), plugin.clone());
            tokio::spawn(async move { scene.create(&*plugin, &config_map()).await.is_ok() })
        })
        .collect();
    let mut admitted = 0;
    for task in tasks {
        admitted += usize::from(task.await.unwrap());
    }
    assert_eq!(admitted, 20);
    assert_eq!(used(&scene).await, json!({"secrets": "20"}));
}

#[tokio::test]
async fn an_uncounted_quota_refuses() {
    let scene = Scene::new("", "secrets");
    let plugin = plugin(&scene);
    quota(
        &scene,
        json!({}),
        json!({"secrets": "5", "count/secrets": "5"}),
        json!({}),
    )
    .await;
    let refused = scene.create(&plugin, &config_map()).await.unwrap_err();
    assert!(
        refused
            .message
            .ends_with("status unknown for quota: q, resources: count/secrets,secrets")
    );
}

#[tokio::test]
async fn limited_pods_say_what_they_need() {
    let scene = Scene::new("", "pods");
    let plugin = plugin(&scene);
    let hard = json!({"limits.cpu": "2", "requests.memory": "1Gi", "pods": "5"});
    let zero = json!({"limits.cpu": "0", "requests.memory": "0", "pods": "0"});
    quota(&scene, json!({}), hard, zero).await;
    let mut greedy = pod();
    greedy["spec"]["initContainers"] = json!([{"name": "a"}]);
    let refused = scene.create(&plugin, &greedy).await.unwrap_err();
    assert!(
        refused.message.ends_with(
            "failed quota: q: must specify limits.cpu for: a,c; requests.memory for: a,c"
        )
    );
    let resources = json!({"limits": {"cpu": "1500m"}, "requests": {"memory": "300Mi"}});
    let mut first = pod();
    first["spec"]["containers"][0]["resources"] = resources;
    scene.create(&plugin, &first).await.unwrap();
    let now = json!({"limits.cpu": "1500m", "requests.memory": "300Mi", "pods": "1"});
    assert_eq!(used(&scene).await, now);
    let refused = scene.create(&plugin, &first).await.unwrap_err();
    assert!(refused.message.ends_with(
        "exceeded quota: q, requested: limits.cpu=1500m, used: limits.cpu=1500m, limited: limits.cpu=2"
    ));
    first["status"]["phase"] = json!("Succeeded");
    scene.create(&plugin, &first).await.unwrap();
    assert_eq!(used(&scene).await, now);
}

#[tokio::test]
async fn scopes_select_pods() {
    let mut short = pod();
    short["spec"]["activeDeadlineSeconds"] = json!(10);
    let mut important = pod();
    important["spec"]["priorityClassName"] = json!("high");
    let mut asking = pod();
    asking["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1"}});
    let class = |operator: &str| {
        json!({"scopeSelector": {"matchExpressions": [
            {"scopeName": "PriorityClass", "operator": operator, "values": ["high"]},
        ]}})
    };
    let cases = [
        (json!({"scopes": ["Terminating"]}), &short, true),
        (json!({"scopes": ["Terminating"]}), &important, false),
        (
            json!({"scopes": ["NotTerminating", "BestEffort"]}),
            &important,
            true,
        ),
        (json!({"scopes": ["BestEffort"]}), &asking, false),
        (json!({"scopes": ["NotBestEffort"]}), &asking, true),
        (json!({"scopes": ["PriorityClass"]}), &important, true),
        (class("In"), &important, true),
        (class("In"), &short, false),
        (class("NotIn"), &short, true),
        (class("NotIn"), &important, false),
        (
            json!({"scopes": ["CrossNamespacePodAffinity"]}),
            &asking,
            false,
        ),
    ];
    for (spec, pod, counted) in cases {
        let scene = Scene::new("", "pods");
        quota(
            &scene,
            spec.clone(),
            json!({"pods": "1"}),
            json!({"pods": "0"}),
        )
        .await;
        scene.create(&plugin(&scene), pod).await.unwrap();
        let expected = if counted { "1" } else { "0" };
        assert_eq!(used(&scene).await, json!({"pods": expected}), "{spec}");
    }
}

#[tokio::test]
async fn a_pod_that_changes_its_scope_is_paid_for_by_the_new_quota() {
    let scene = Scene::new("", "pods");
    let plugin = plugin(&scene);
    quota(
        &scene,
        json!({"scopes": ["Terminating"]}),
        json!({"pods": "1"}),
        json!({"pods": "0"}),
    )
    .await;
    let mut short = pod();
    short["spec"]["activeDeadlineSeconds"] = json!(10);
    scene.update(&plugin, &pod(), &pod()).await.unwrap();
    assert_eq!(used(&scene).await, json!({"pods": "0"}));
    scene.update(&plugin, &pod(), &short).await.unwrap();
    assert_eq!(used(&scene).await, json!({"pods": "1"}));
}

#[tokio::test]
async fn services_use_ports_and_load_balancers() {
    let scene = Scene::new("", "services");
    let plugin = plugin(&scene);
    let names = ["services", "services.nodeports", "services.loadbalancers"];
    let hard = json!({names[0]: "9", names[1]: "3", names[2]: "1"});
    quota(
        &scene,
        json!({}),
        hard,
        json!({names[0]: "0", names[1]: "0", names[2]: "0"}),
    )
    .await;
    let internal =
        json!({"metadata": {"name": "s"}, "spec": {"type": "ClusterIP", "ports": [{}, {}]}});
    scene.create(&plugin, &internal).await.unwrap();
    let mut balanced = internal.clone();
    balanced["spec"]["type"] = json!("LoadBalancer");
    scene.update(&plugin, &internal, &balanced).await.unwrap();
    assert_eq!(
        used(&scene).await,
        json!({names[0]: "1", names[1]: "2", names[2]: "1"})
    );
    balanced["spec"]["allocateLoadBalancerNodePorts"] = json!(false);
    let refused = scene.create(&plugin, &balanced).await.unwrap_err();
    assert!(refused.message.ends_with(
        "requested: services.loadbalancers=1, used: services.loadbalancers=1, limited: services.loadbalancers=1"
    ));
}

#[tokio::test]
async fn claims_use_storage_of_their_class() {
    let scene = Scene::new("", "persistentvolumeclaims");
    let plugin = plugin(&scene);
    let gold = "gold.storageclass.storage.k8s.io/requests.storage";
    let hard = json!({"requests.storage": "10Gi", gold: "3Gi", "persistentvolumeclaims": "5"});
    let zero = json!({"requests.storage": "0", gold: "0", "persistentvolumeclaims": "0"});
    quota(&scene, json!({}), hard, zero).await;
    scene.create(&plugin, &claim("2Gi")).await.unwrap();
    let mut golden = claim("2Gi");
    golden["spec"]["storageClassName"] = json!("gold");
    scene.create(&plugin, &golden).await.unwrap();
    let now = json!({"requests.storage": "4Gi", gold: "2Gi", "persistentvolumeclaims": "2"});
    assert_eq!(used(&scene).await, now);
    let mut larger = golden.clone();
    larger["spec"]["resources"]["requests"]["storage"] = json!("4Gi");
    let refused = scene.update(&plugin, &golden, &larger).await.unwrap_err();
    let expected =
        format!("exceeded quota: q, requested: {gold}=2Gi, used: {gold}=2Gi, limited: {gold}=3Gi");
    assert!(refused.message.ends_with(&expected), "{}", refused.message);
}

#[tokio::test]
async fn resource_claims_use_devices_of_a_class() {
    let scene = Scene::new("resource.k8s.io", "resourceclaims");
    let plugin = plugin(&scene);
    let gpu = "gpu.deviceclass.resource.k8s.io/devices";
    quota(&scene, json!({}), json!({gpu: "40"}), json!({gpu: "0"})).await;
    let ask = |mode: &str, count: i64| json!({"deviceClassName": "gpu", "allocationMode": mode, "count": count});
    let claim = json!({"metadata": {"name": "c"}, "spec": {"devices": {"requests": [
        {"name": "a", "exactly": ask("ExactCount", 2)},
        {"name": "b", "firstAvailable": [ask("ExactCount", 3), ask("All", 0)]},
    ]}}});
    scene.create(&plugin, &claim).await.unwrap();
    assert_eq!(used(&scene).await, json!({gpu: "34"}));
}

#[tokio::test]
async fn without_a_controller_the_objects_of_the_store_count() {
    let scene = Scene::new("", "configmaps");
    let plugin = plugin(&scene);
    let hard = json!({"hard": {"configmaps": "2", "count/configmaps": "5", "pods": "0"}});
    quota(&scene, hard, json!({}), json!({})).await;
    for name in ["a", "b"] {
        let object = json!({"metadata": {"name": name, "namespace": "ns"}});
        scene.create(&plugin, &object).await.unwrap();
        let path = format!("ns/{name}");
        scene.put("configmaps", &path, object).await;
    }
    let refused = scene.create(&plugin, &config_map()).await.unwrap_err();
    assert_eq!(
        refused.message,
        "configmaps \"m\" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2"
    );
    assert_eq!(
        used(&scene).await,
        json!({}),
        "the status is the controller's"
    );
}

#[tokio::test]
async fn without_a_controller_writers_at_once_overspend_nothing() {
    let scene = Scene::new("", "secrets");
    let plugin = plugin(&scene);
    let hard = json!({"hard": {"secrets": "3"}});
    quota(&scene, hard, json!({}), json!({})).await;
    // None of them is stored yet.
    let mut admitted = 0;
    for i in 0..10 {
        let object = json!({"metadata": {"name": format!("s{i}"), "namespace": "ns"}});
        admitted += usize::from(scene.create(&plugin, &object).await.is_ok());
    }
    assert_eq!(admitted, 3);
}

#[tokio::test]
async fn without_a_controller_requests_and_scopes_count() {
    let scene = Scene::new("", "pods");
    let plugin = plugin(&scene);
    let spec = json!({"scopes": ["NotBestEffort"], "hard": {"requests.cpu": "2", "pods": "5"}});
    quota(&scene, spec, json!({}), json!({})).await;
    let asking = |name: &str, cpu: &str| {
        let mut pod = pod();
        pod["metadata"]["name"] = json!(name);
        pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": cpu}});
        pod
    };
    scene.put("pods", "ns/a", asking("a", "1500m")).await;
    scene.put("pods", "ns/b", pod()).await;
    let refused = scene.create(&plugin, &asking("c", "600m")).await;
    let message = refused.unwrap_err().message;
    let expected = "exceeded quota: q, requested: requests.cpu=600m, used: requests.cpu=1500m, limited: requests.cpu=2";
    assert!(message.ends_with(expected), "{message}");
    scene.create(&plugin, &asking("c", "500m")).await.unwrap();
}
