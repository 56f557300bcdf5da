//! The life of a namespace, and what can be done in one at each stage of it.

use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::http_client::{Http, event, map};

const NAMESPACES: &str = "/api/v1/namespaces";

async fn with_namespace() -> (TestCluster, Http) {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    http.post(NAMESPACES, map("life")).await.ok();
    (cluster, http)
}

#[tokio::test]
async fn a_cluster_begins_with_four_namespaces() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let list = http.get(NAMESPACES).await;
    assert_eq!(
        list.names(),
        ["default", "kube-node-lease", "kube-public", "kube-system"]
    );
    for namespace in list.json()["items"].as_array().unwrap() {
        assert_eq!(namespace["status"]["phase"], "Active");
        assert_eq!(namespace["spec"]["finalizers"], json!(["kubernetes"]));
        let labels = json!({"kubernetes.io/metadata.name": namespace["metadata"]["name"]});
        assert_eq!(namespace["metadata"]["labels"], labels);
    }
}

#[tokio::test]
async fn nothing_is_created_in_a_namespace_that_is_missing() {
    let (cluster, http) = with_namespace().await;
    let before = cluster.revision().await;
    let path = "/api/v1/namespaces/nope/configmaps";
    let status = http
        .post(path, map("x"))
        .await
        .refused_with(404, "namespaces \"nope\" not found");
    assert_eq!(
        status["details"],
        json!({"name": "nope", "kind": "namespaces"})
    );
    // Reading finds nothing, which is something else.
    assert_eq!(http.get(path).await.names(), Vec::<String>::new());
    let not_found = "configmaps \"x\" not found";
    http.get(&format!("{path}/x"))
        .await
        .refused_with(404, not_found);
    http.delete(&format!("{path}/x"))
        .await
        .refused_with(404, not_found);
    http.put(&format!("{path}/x"), map("x"))
        .await
        .refused_with(404, not_found);
    assert_eq!(cluster.revision().await, before);
}

#[tokio::test]
async fn a_namespace_terminates_before_it_goes() {
    let (cluster, http) = with_namespace().await;
    let path = format!("{NAMESPACES}/life");
    let mut watch = http
        .watch(
            NAMESPACES,
            &format!("resourceVersion={}", cluster.revision().await),
        )
        .await;
    let terminating = http.delete(&path).await.ok();
    assert_eq!(terminating["status"]["phase"], "Terminating");
    assert!(terminating["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(
        terminating["metadata"]["deletionGracePeriodSeconds"],
        Value::Null
    );
    assert_eq!(terminating["spec"]["finalizers"], json!(["kubernetes"]));
    assert_eq!(http.get(&path).await.ok(), terminating);
    let before = cluster.revision().await;
    assert_eq!(http.delete(&path).await.ok(), terminating);
    assert_eq!(cluster.revision().await, before);
    assert_eq!(watch.step().await, event("MODIFIED", "life"));
}

#[tokio::test]
async fn nothing_new_comes_into_a_terminating_namespace() {
    let (cluster, http) = with_namespace().await;
    let maps = format!("{NAMESPACES}/life/configmaps");
    http.post(&maps, map("old")).await.ok();
    http.delete(&format!("{NAMESPACES}/life")).await.ok();
    let before = cluster.revision().await;
    let status = http.post(&maps, map("x")).await.refused_with(
        403,
        "configmaps \"x\" is forbidden: unable to create new content in namespace life because it is being terminated",
    );
    assert_eq!(status["reason"], "Forbidden");
    let cause = json!({
        "reason": "NamespaceTerminating",
        "message": "namespace life is being terminated",
        "field": "metadata.namespace",
    });
    assert_eq!(
        status["details"],
        json!({"name": "x", "kind": "configmaps", "causes": [cause]})
    );
    assert_eq!(cluster.revision().await, before);
    // What is there can still change and go.
    http.patch(&format!("{maps}/old"), json!({"data": {"a": "b"}}))
        .await
        .ok();
    http.delete(&format!("{maps}/old")).await.ok();
}

#[tokio::test]
async fn finalizing_removes_a_terminating_namespace() {
    let (_cluster, http) = with_namespace().await;
    let path = format!("{NAMESPACES}/life");
    let finalize = format!("{path}/finalize");
    let two = json!({"metadata": {"name": "life"}, "spec": {"finalizers": ["kubernetes", "example.com/x"]}});
    let active = http.put(&finalize, two).await.ok();
    assert_eq!(
        active["spec"]["finalizers"],
        json!(["kubernetes", "example.com/x"])
    );
    assert_eq!(active["status"]["phase"], "Active");
    http.delete(&path).await.ok();

    let none = json!({"metadata": {"name": "life"}, "spec": {"finalizers": []}});
    http.put(&format!("{finalize}?dryRun=All"), none.clone())
        .await
        .ok();
    http.get(&path).await.ok();
    let one = json!({"metadata": {"name": "life"}, "spec": {"finalizers": ["example.com/x"]}});
    http.put(&finalize, one).await.ok();
    http.get(&path).await.ok();
    let last = http.put(&finalize, none).await;
    assert_eq!((last.code, &last.ok()["spec"]), (200, &json!({})));
    http.get(&path)
        .await
        .refused_with(404, "namespaces \"life\" not found");
    // Its name is free again.
    http.post(NAMESPACES, map("life")).await.ok();
}

#[tokio::test]
async fn ordinary_finalizers_hold_a_namespace_too() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    http.post(
        NAMESPACES,
        json!({"metadata": {"name": "life", "finalizers": ["example.com/y"]}}),
    )
    .await
    .ok();
    let path = format!("{NAMESPACES}/life");
    http.delete(&path).await.ok();
    let none = json!({"metadata": {"name": "life", "finalizers": ["example.com/y"]}, "spec": {}});
    http.put(&format!("{path}/finalize"), none).await.ok();
    http.get(&path).await.ok();
    http.patch(&path, json!({"metadata": {"finalizers": null}}))
        .await
        .ok();
    http.get(&path).await.refused(404);
}

#[tokio::test]
async fn some_namespaces_are_immortal() {
    let (cluster, http) = with_namespace().await;
    let before = cluster.revision().await;
    for name in ["default", "kube-system", "kube-public"] {
        let status = http
            .delete(&format!("{NAMESPACES}/{name}"))
            .await
            .refused_with(
                403,
                &format!("namespaces \"{name}\" is forbidden: this namespace may not be deleted"),
            );
        assert_eq!(status["reason"], "Forbidden");
        assert_eq!(
            status["details"],
            json!({"name": name, "kind": "namespaces"})
        );
    }
    assert_eq!(cluster.revision().await, before);
    let other = http
        .delete(&format!("{NAMESPACES}/kube-node-lease"))
        .await
        .ok();
    assert_eq!(other["status"]["phase"], "Terminating");
}

#[tokio::test]
async fn names_of_namespaces_are_labels() {
    let (_cluster, http) = with_namespace().await;
    http.post(NAMESPACES, map("UPPER")).await.refused_with(
        422,
        "Namespace \"UPPER\" is invalid: metadata.name: Invalid value: \"UPPER\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    );
    http.post(NAMESPACES, map("a.b")).await.refused(422);
}
