//! `update`: optimistic concurrency, preconditions, and updates that change nothing or create.

use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::http_client::{Http, MAPS, map, map_with};

const CONFLICT: &str = "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again";

async fn with_one() -> (TestCluster, Http, Value) {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let a = http.post(MAPS, map_with("a", "1")).await.ok();
    (cluster, http, a)
}

fn path() -> String {
    format!("{MAPS}/a")
}

#[tokio::test]
async fn an_update_replaces_the_object() {
    let (cluster, http, mut a) = with_one().await;
    a["data"] = json!({"other": "2"});
    let answer = http.put(&path(), a.clone()).await;
    assert_eq!(answer.code, 200);
    let updated = answer.ok();
    assert_eq!(updated["data"], json!({"other": "2"}));
    assert_eq!(
        updated["metadata"]["resourceVersion"],
        cluster.revision().await.to_string()
    );
    for key in ["uid", "creationTimestamp", "name", "namespace"] {
        assert_eq!(updated["metadata"][key], a["metadata"][key], "{key}");
    }
    assert_eq!(http.get(&path()).await.ok(), updated);
}

#[tokio::test]
async fn a_stale_update_is_a_conflict() {
    let (cluster, http, a) = with_one().await;
    http.put(&path(), map_with("a", "2")).await.ok();
    let before = cluster.revision().await;
    let mut stale = a.clone();
    stale["data"]["value"] = json!("3");
    let status = http.put(&path(), stale).await.refused_with(409, CONFLICT);
    assert_eq!(status["reason"], "Conflict");
    assert_eq!(
        status["details"],
        json!({"name": "a", "kind": "configmaps"})
    );
    assert_eq!(cluster.revision().await, before);
    assert_eq!(http.get(&path()).await.ok()["data"]["value"], "2");
}

#[tokio::test]
async fn an_update_for_another_uid_is_a_conflict() {
    let (_cluster, http, a) = with_one().await;
    let object = json!({"metadata": {"name": "a", "uid": "nope"}});
    let uid = a["metadata"]["uid"].as_str().unwrap();
    http.put(&path(), object).await.refused_with(409, &format!(
        "Operation cannot be fulfilled on configmaps \"a\": StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: nope, UID in object meta: {uid}"
    ));
}

#[tokio::test]
async fn an_update_without_a_resource_version_is_unconditional() {
    let (_cluster, http, _) = with_one().await;
    http.put(&path(), map_with("a", "2")).await.ok();
    assert_eq!(
        http.put(&path(), map_with("a", "3")).await.ok()["data"]["value"],
        "3"
    );
}

#[tokio::test]
async fn an_update_that_changes_nothing_keeps_the_revision() {
    let (cluster, http, a) = with_one().await;
    let before = cluster.revision().await;
    // Fields are managed under the name they were created under: another manager would be a change.
    for same in [a.clone(), map_with("a", "1")] {
        let answer = http.put(&path(), same).await;
        assert_eq!((answer.code, answer.ok()), (200, a.clone()));
    }
    http.patch(&path(), json!({"data": {"value": "1"}}))
        .await
        .ok();
    http.patch(&path(), json!({})).await.ok();
    assert_eq!(cluster.revision().await, before);
}

#[tokio::test]
async fn the_name_is_that_of_the_path() {
    let (_cluster, http, _) = with_one().await;
    http.put(&path(), map("b")).await.refused_with(
        400,
        "the name of the object (b) does not match the name on the URL (a)",
    );
    http.patch(&path(), json!({"metadata": {"name": "b"}}))
        .await
        .refused_with(
            400,
            "the name of the object (b) does not match the name on the URL (a)",
        );
    http.put(
        &path(),
        json!({"metadata": {"name": "a", "namespace": "other"}}),
    )
    .await
    .refused_with(
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    );
}

#[tokio::test]
async fn missing_objects_cannot_be_updated() {
    let (cluster, http, _) = with_one().await;
    let before = cluster.revision().await;
    let status = http
        .put(&format!("{MAPS}/nope"), map("nope"))
        .await
        .refused_with(404, "configmaps \"nope\" not found");
    assert_eq!(
        status["details"],
        json!({"name": "nope", "kind": "configmaps"})
    );
    http.patch(&format!("{MAPS}/nope"), json!({}))
        .await
        .refused_with(404, "configmaps \"nope\" not found");
    assert_eq!(cluster.revision().await, before);
}

#[tokio::test]
async fn fields_of_the_server_are_not_changed_by_updates() {
    let (_cluster, http, a) = with_one().await;
    let object = json!({"metadata": {
        "name": "a",
        "creationTimestamp": "2001-01-01T00:00:00Z",
    }});
    let metadata = http.put(&path(), object).await.ok()["metadata"].clone();
    assert_eq!(
        metadata["creationTimestamp"],
        a["metadata"]["creationTimestamp"]
    );
    assert_eq!(metadata["uid"], a["metadata"]["uid"]);
    let object = json!({"metadata": {"name": "a", "deletionTimestamp": "2001-01-01T00:00:00Z"}});
    http.put(&path(), object).await.refused_with(
        422,
        "ConfigMap \"a\" is invalid: metadata.deletionTimestamp: Invalid value: \"2001-01-01T00:00:00Z\": field is immutable",
    );
}

#[tokio::test]
async fn some_kinds_are_created_by_an_update() {
    let (cluster, http, _) = with_one().await;
    let namespaced = "/api/v1/namespaces/default";
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role_ref =
        json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "x"});
    let cases = [
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases/x".to_owned(),
            json!({}),
        ),
        (format!("{namespaced}/endpoints/x"), json!({})),
        (
            format!("{namespaced}/limitranges/x"),
            json!({"spec": {"limits": []}}),
        ),
        (
            format!("{rbac}/namespaces/default/roles/x"),
            json!({"rules": []}),
        ),
        (format!("{rbac}/clusterroles/x"), json!({"rules": []})),
        (
            format!("{rbac}/namespaces/default/rolebindings/x"),
            json!({"roleRef": role_ref}),
        ),
        (
            format!("{rbac}/clusterrolebindings/x"),
            json!({"roleRef": role_ref}),
        ),
        (
            "/apis/node.k8s.io/v1/runtimeclasses/x".to_owned(),
            json!({"handler": "h"}),
        ),
    ];
    for (path, mut object) in cases {
        object["metadata"] = json!({"name": "x"});
        let before = cluster.revision().await;
        let dry = http
            .put(&format!("{path}?dryRun=All"), object.clone())
            .await;
        assert_eq!(
            (dry.code, cluster.revision().await),
            (201, before),
            "{path}"
        );
        http.get(&path).await.refused(404);
        let created = http.put(&path, object.clone()).await;
        assert_eq!(created.code, 201, "{path} {}", created.message());
        assert_eq!(cluster.revision().await, before + 1, "{path}");
        let again = http.put(&path, created.ok()).await;
        assert_eq!(
            (again.code, cluster.revision().await),
            (200, before + 1),
            "{path}"
        );
        // Some of them want to know which one is updated.
        let blind = http.put(&path, object).await;
        if path.contains("/leases/") || path.contains("/runtimeclasses/") {
            let message = blind.refused(422)["message"].clone();
            let why = "is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update";
            assert!(message.as_str().unwrap().ends_with(why), "{message}");
        } else {
            assert_eq!(blind.code, 200, "{path}");
        }
    }
}

#[tokio::test]
async fn an_update_that_creates_ignores_the_resource_version() {
    let (_cluster, http, _) = with_one().await;
    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/x";
    let object = json!({"metadata": {"name": "x", "resourceVersion": "5"}});
    assert_eq!(http.put(path, object).await.code, 201);
}

#[tokio::test]
async fn most_kinds_are_not_created_by_an_update() {
    let (_cluster, http, _) = with_one().await;
    http.put("/api/v1/namespaces/default/secrets/x", map("x"))
        .await
        .refused_with(404, "secrets \"x\" not found");
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let deployment = json!({
        "metadata": {"name": "x"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    });
    let path = "/apis/apps/v1/namespaces/default/deployments/x";
    let status = http
        .put(path, deployment)
        .await
        .refused_with(404, "deployments.apps \"x\" not found");
    assert_eq!(
        status["details"],
        json!({"name": "x", "group": "apps", "kind": "deployments"})
    );
}

#[tokio::test]
async fn generation_counts_changes_of_the_specification() {
    let (_cluster, http, _) = with_one().await;
    let path = "/apis/apps/v1/namespaces/default/deployments";
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let deployment = json!({
        "metadata": {"name": "x"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    });
    let created = http.post(path, deployment).await.ok();
    let one = format!("{path}/x");
    assert_eq!(created["metadata"]["generation"], 1);
    let labelled = http
        .patch(&one, json!({"metadata": {"labels": {"x": "y"}}}))
        .await
        .ok();
    assert_eq!(labelled["metadata"]["generation"], 1);
    let scaled = http
        .patch(&one, json!({"spec": {"replicas": 3}}))
        .await
        .ok();
    assert_eq!(scaled["metadata"]["generation"], 2);
    // Status has an endpoint of its own: here it is not heard, there it changes nothing else.
    let ignored = http
        .patch(&one, json!({"status": {"replicas": 3}}))
        .await
        .ok();
    assert_eq!(ignored, scaled);
    let patch = json!({"status": {"replicas": 3}, "spec": {"replicas": 9}});
    let reported = http.patch(&format!("{one}/status"), patch).await.ok();
    assert_eq!(
        (
            &reported["status"]["replicas"],
            &reported["spec"]["replicas"]
        ),
        (&json!(3), &json!(3))
    );
    assert_eq!(reported["metadata"]["generation"], 2);
}
