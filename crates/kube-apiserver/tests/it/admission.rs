use serde_json::{Value, json};

use crate::client::Client;

const PODS: &str = "/api/v1/namespaces/default/pods";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    })
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

async fn quota(client: &Client, hard: Value, used: Value) {
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard},
    });
    let (code, answer) = client.post(QUOTAS, &quota).await;
    assert_eq!(code, 201, "{answer}");
    let status = json!({"status": {"hard": hard, "used": used}});
    let (code, answer) = client.patch(&format!("{QUOTAS}/q/status"), &status).await;
    assert_eq!(code, 200, "{answer}");
}

#[tokio::test]
async fn a_plain_pod_gets_unmanaged_priority_and_tolerations() {
    let client = Client::new().await;
    let (code, created) = client.post(PODS, &pod("p")).await;
    assert_eq!(code, 201, "{created}");
    assert_eq!(created["spec"]["priority"], 0);
    assert_eq!(created["spec"]["preemptionPolicy"], "PreemptLowerPriority");
    let keys: Vec<&str> = created["spec"]["tolerations"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|toleration| toleration["key"].as_str())
        .collect();
    assert_eq!(
        keys,
        [
            "node.kubernetes.io/not-ready",
            "node.kubernetes.io/unreachable"
        ]
    );
    let managed = created["metadata"]["managedFields"].to_string();
    assert!(
        !managed.contains("f:priority") && !managed.contains("f:tolerations"),
        "{managed}"
    );
}

#[tokio::test]
async fn a_pod_made_by_apply_is_admitted_like_any_other() {
    let client = Client::new().await;
    let (code, created) = client
        .apply(&format!("{PODS}/p?fieldManager=m"), &pod("p"))
        .await;
    assert_eq!(code, 201, "{created}");
    assert_eq!(created["spec"]["priority"], 0);
    // Applied again it changes nothing.
    let (code, again) = client
        .apply(&format!("{PODS}/p?fieldManager=m"), &pod("p"))
        .await;
    assert_eq!(code, 200, "{again}");
    assert_eq!(
        again["metadata"]["resourceVersion"],
        created["metadata"]["resourceVersion"]
    );
}

#[tokio::test]
async fn the_system_has_its_priority_classes() {
    let client = Client::new().await;
    let class = client
        .get("/apis/scheduling.k8s.io/v1/priorityclasses/system-cluster-critical")
        .await;
    assert_eq!(class["value"], 2_000_000_000);
    let mut critical = pod("p");
    critical["spec"]["priorityClassName"] = json!("system-node-critical");
    let (code, created) = client.post(PODS, &critical).await;
    assert_eq!(
        (code, &created["spec"]["priority"]),
        (201, &json!(2_000_001_000)),
        "{created}"
    );
}

#[tokio::test]
async fn a_limit_range_decides_the_quality_of_service() {
    let client = Client::new().await;
    let range = json!({
        "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"},
        "spec": {"limits": [{"type": "Container", "default": {"cpu": "1", "memory": "1Gi"}}]},
    });
    let (code, answer) = client
        .post("/api/v1/namespaces/default/limitranges", &range)
        .await;
    assert_eq!(code, 201, "{answer}");
    let (code, created) = client.post(PODS, &pod("p")).await;
    assert_eq!(code, 201, "{created}");
    let resources = &created["spec"]["containers"][0]["resources"];
    assert_eq!(resources["limits"], json!({"cpu": "1", "memory": "1Gi"}));
    assert_eq!(resources["requests"], resources["limits"]);
    assert_eq!(created["status"]["qosClass"], "Guaranteed");
}

#[tokio::test]
async fn a_quota_is_spent_and_then_refuses() {
    let client = Client::new().await;
    quota(
        &client,
        json!({"configmaps": "1"}),
        json!({"configmaps": "0"}),
    )
    .await;
    let dry = format!("{CONFIG_MAPS}?dryRun=All");
    assert_eq!(client.post(&dry, &config_map("a")).await.0, 201);
    assert_eq!(client.post(CONFIG_MAPS, &config_map("a")).await.0, 201);
    let (code, refused) = client.post(CONFIG_MAPS, &config_map("b")).await;
    assert_eq!(code, 403);
    assert_eq!(
        refused["message"],
        "configmaps \"b\" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=1, limited: configmaps=1"
    );
    let quota = client.get(&format!("{QUOTAS}/q")).await;
    assert_eq!(quota["status"]["used"], json!({"configmaps": "1"}));
    let managers = quota["metadata"]["managedFields"].to_string();
    assert!(managers.contains("kube-apiserver"), "{managers}");
}

#[tokio::test]
async fn a_quota_without_a_controller_is_enforced_from_its_spec() {
    let client = Client::new().await;
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"},
        "spec": {"hard": {"configmaps": "2", "pods": "1", "requests.cpu": "1"}},
    });
    assert_eq!(client.post(QUOTAS, &quota).await.0, 201);
    for (name, code) in [("a", 201), ("b", 201), ("c", 403), ("a", 403)] {
        assert_eq!(
            client.post(CONFIG_MAPS, &config_map(name)).await.0,
            code,
            "{name}"
        );
    }
    // Deleted objects are not counted any more, even at once.
    for _ in 0..3 {
        let path = format!("{CONFIG_MAPS}/a");
        assert_eq!(client.delete(&path).await.0, 200);
        assert_eq!(client.post(CONFIG_MAPS, &config_map("a")).await.0, 201);
    }
    let (code, refused) = client.post(PODS, &pod("p")).await;
    assert_eq!(code, 403);
    assert_eq!(
        refused["message"],
        "pods \"p\" is forbidden: failed quota: q: must specify requests.cpu for: c"
    );
    let mut asking = pod("p");
    asking["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "2"}});
    let (code, refused) = client.post(PODS, &asking).await;
    assert_eq!(code, 403);
    assert_eq!(
        refused["message"],
        "pods \"p\" is forbidden: exceeded quota: q, requested: requests.cpu=2, used: requests.cpu=0, limited: requests.cpu=1"
    );
}

#[tokio::test]
async fn a_write_that_fails_later_has_spent_its_quota() {
    let client = Client::new().await;
    quota(
        &client,
        json!({"configmaps": "5"}),
        json!({"configmaps": "0"}),
    )
    .await;
    assert_eq!(client.post(CONFIG_MAPS, &config_map("a")).await.0, 201);
    assert_eq!(client.post(CONFIG_MAPS, &config_map("a")).await.0, 409);
    let quota = client.get(&format!("{QUOTAS}/q")).await;
    assert_eq!(quota["status"]["used"], json!({"configmaps": "2"}));
}

#[tokio::test]
async fn a_protected_claim_waits_for_its_finalizer() {
    let client = Client::new().await;
    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    let class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "example.com/p",
        "metadata": {
            "name": "fast",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
    });
    let (code, answer) = client
        .post("/apis/storage.k8s.io/v1/storageclasses", &class)
        .await;
    assert_eq!(code, 201, "{answer}");
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    let (code, created) = client.post(claims, &claim).await;
    assert_eq!(code, 201, "{created}");
    assert_eq!(created["spec"]["storageClassName"], "fast");
    assert_eq!(
        created["metadata"]["finalizers"],
        json!(["kubernetes.io/pvc-protection"])
    );
    let larger = json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}});
    let (code, refused) = client.patch(&format!("{claims}/c"), &larger).await;
    assert_eq!(code, 422, "{refused}");
    let (code, deleted) = client.delete(&format!("{claims}/c")).await;
    assert_eq!(code, 200);
    assert!(
        deleted["metadata"]["deletionTimestamp"].is_string(),
        "{deleted}"
    );
}

#[tokio::test]
async fn a_new_node_is_not_ready_and_gives_its_zone_to_pods() {
    let client = Client::new().await;
    let zone = "topology.kubernetes.io/zone";
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {zone: "z1"}},
    });
    let (code, node) = client.post("/api/v1/nodes", &node).await;
    assert_eq!(code, 201, "{node}");
    assert_eq!(
        node["spec"]["taints"][0]["key"],
        "node.kubernetes.io/not-ready"
    );
    assert_eq!(client.post(PODS, &pod("p")).await.0, 201);
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n"},
    });
    let (code, answer) = client.post(&format!("{PODS}/p/binding"), &binding).await;
    assert_eq!(code, 201, "{answer}");
    let bound = client.get(&format!("{PODS}/p")).await;
    assert_eq!(bound["spec"]["nodeName"], "n");
    assert_eq!(bound["metadata"]["labels"][zone], "z1");
}
