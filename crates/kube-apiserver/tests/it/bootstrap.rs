//! Objects that a cluster has from the start, and the settings that change them.

use kubewright_kube_apiserver::KubeApiServer;
use serde_json::{Value, json};

use crate::client::Client;

const SERVICES: &str = "/api/v1/namespaces/default/services";

#[tokio::test]
async fn the_default_service_cidr_is_ready() {
    let client = Client::new().await;
    let cidr = client
        .get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
        .await;
    let managers: Vec<&Value> = cidr["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["manager"])
        .collect();
    assert_eq!(
        managers,
        ["kubernetes-service-cidr-controller", "kube-apiserver"]
    );
    assert_eq!(cidr["spec"], json!({"cidrs": ["10.96.0.0/12"]}));
    let condition = &cidr["status"]["conditions"][0];
    assert_eq!(condition["type"], "Ready");
    assert_eq!(condition["status"], "True");
    assert_eq!(condition["reason"], "");
    assert_eq!(
        condition["message"],
        "Kubernetes default Service CIDR is ready"
    );
}

#[tokio::test]
async fn the_service_range_can_be_set() {
    let range = "10.43.0.0/29".parse().unwrap();
    let client = Client::of(KubeApiServer::builder().service_cluster_ip_range(range)).await;
    let service = client.get(&format!("{SERVICES}/kubernetes")).await;
    assert_eq!(service["spec"]["clusterIP"], "10.43.0.1");
    let cidr = client
        .get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
        .await;
    assert_eq!(cidr["spec"]["cidrs"], json!(["10.43.0.0/29"]));
    let service = |name: &str, ip: Option<&str>| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"ports": [{"port": 80}], "clusterIP": ip},
        })
    };
    for name in ["a", "b", "c", "d", "e"] {
        let (code, created) = client.post(SERVICES, &service(name, None)).await;
        assert_eq!(code, 201, "{created}");
        let ip = created["spec"]["clusterIP"].as_str().unwrap();
        assert!(ip.starts_with("10.43.0."), "{ip}");
    }
    let (code, full) = client.post(SERVICES, &service("f", None)).await;
    assert_eq!(code, 422, "{full}");
    let (_, refused) = client
        .post(SERVICES, &service("g", Some("10.96.0.9")))
        .await;
    assert_eq!(
        refused["details"]["causes"][0]["message"],
        "Invalid value: [\"10.96.0.9\"]: failed to allocate IP 10.96.0.9: the provided IP (10.96.0.9) is not in the valid range. The range of valid IPs is 10.43.0.0/29"
    );
}

#[tokio::test]
async fn claims_are_deleted_at_once_unless_they_are_protected() {
    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    let plugin = "StorageObjectInUseProtection".parse().unwrap();
    let unprotected = KubeApiServer::builder().disable_admission_plugins([plugin]);
    let unprotected = Client::of(unprotected).await;
    assert_eq!(unprotected.post(claims, &claim).await.0, 201);
    assert_eq!(unprotected.delete(&format!("{claims}/c")).await.0, 200);
    assert_eq!(unprotected.get(&format!("{claims}/c")).await["code"], 404);
    // No controller removes the finalizer here.
    let protected = Client::new().await;
    assert_eq!(protected.post(claims, &claim).await.0, 201);
    assert_eq!(protected.delete(&format!("{claims}/c")).await.0, 200);
    let kept = protected.get(&format!("{claims}/c")).await;
    assert_eq!(
        kept["metadata"]["finalizers"],
        json!(["kubernetes.io/pvc-protection"])
    );
    assert!(kept["metadata"]["deletionTimestamp"].is_string(), "{kept}");
}

#[tokio::test]
async fn plugins_can_be_switched_off_by_name() {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let plain = Client::new().await;
    let names = ["DefaultTolerationSeconds", "Priority", "ServiceAccount"];
    let names = names.map(|name| name.parse().unwrap());
    let without = Client::of(KubeApiServer::builder().disable_admission_plugins(names)).await;
    let pods = "/api/v1/namespaces/default/pods";
    let (_, created) = plain.post(pods, &pod).await;
    assert_eq!(created["spec"]["priority"], 0);
    assert!(created["spec"]["tolerations"].is_array());
    let (code, created) = without.post(pods, &pod).await;
    assert_eq!(code, 201, "{created}");
    assert_eq!(created["spec"]["priority"], Value::Null);
    assert_eq!(created["spec"]["tolerations"], Value::Null);
}

#[tokio::test]
async fn probes_list_their_checks() {
    let client = Client::new().await;
    let text = client.text("/readyz?verbose&exclude=etcd").await;
    assert!(
        text.starts_with("[+]ping ok\n[+]log ok\n[+]etcd excluded: ok\n[+]etcd-readiness ok\n"),
        "{text}"
    );
    assert!(
        text.contains("[+]poststarthook/bootstrap-controller ok\n"),
        "{text}"
    );
    assert!(text.ends_with("readyz check passed\n"), "{text}");
    for path in [
        "/healthz",
        "/livez/ping",
        "/livez/etcd",
        "/readyz/informer-sync",
        "/readyz/shutdown",
    ] {
        assert_eq!(client.text(path).await, "ok", "{path}");
    }
    for path in ["/livez/informer-sync", "/livez/shutdown", "/readyz/nothing"] {
        assert_eq!(client.text(path).await, "404 page not found\n", "{path}");
    }
    let paths = client.get("/").await;
    let paths = paths["paths"].as_array().unwrap();
    assert!(paths.contains(&json!("/readyz/etcd")), "{paths:?}");
}
