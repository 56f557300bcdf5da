//! `delete` and `deletecollection`: preconditions, finalizers, and what becomes of dependents.

use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::http_client::{Http, MAPS, labelled, map, map_with, revision_of};

async fn start() -> (TestCluster, Http) {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    (cluster, http)
}

fn held(name: &str) -> Value {
    json!({"metadata": {"name": name, "finalizers": ["example.com/a"]}})
}

#[tokio::test]
async fn deleted_objects_are_gone_and_the_response_has_their_uid() {
    let (cluster, http) = start().await;
    let a = http.post(MAPS, map("a")).await.ok();
    let before = cluster.revision().await;
    let answer = http.delete(&format!("{MAPS}/a")).await;
    let details = json!({"name": "a", "kind": "configmaps", "uid": a["metadata"]["uid"]});
    let wanted = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
    });
    assert_eq!((answer.code, answer.json()), (200, wanted));
    assert_eq!(cluster.revision().await, before + 1);
    let not_found = "configmaps \"a\" not found";
    http.get(&format!("{MAPS}/a"))
        .await
        .refused_with(404, not_found);
    http.delete(&format!("{MAPS}/a"))
        .await
        .refused_with(404, not_found);
    assert_eq!(cluster.revision().await, before + 1);
}

#[tokio::test]
async fn some_kinds_answer_with_what_was_deleted() {
    let (_cluster, http) = start().await;
    let path = "/api/v1/namespaces/default/serviceaccounts";
    let account = http.post(path, map("a")).await.ok();
    let deleted = http.delete(&format!("{path}/a")).await.ok();
    assert_eq!(
        (&deleted["kind"], &deleted["metadata"]["uid"]),
        (&json!("ServiceAccount"), &account["metadata"]["uid"])
    );
}

#[tokio::test]
async fn preconditions_must_hold() {
    let (cluster, http) = start().await;
    let a = http.post(MAPS, map("a")).await.ok();
    let (uid, revision) = (a["metadata"]["uid"].as_str().unwrap(), revision_of(&a));
    let path = format!("{MAPS}/a");
    let conflict = "Operation cannot be fulfilled on ConfigMap \"a\": ";
    http.delete_with(&path, json!({"preconditions": {"uid": "nope"}})).await.refused_with(409, &format!(
        "{conflict}the UID in the precondition (nope) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
    ));
    http.delete_with(&path, json!({"preconditions": {"resourceVersion": "1"}})).await.refused_with(409, &format!(
        "{conflict}the ResourceVersion in the precondition (1) does not match the ResourceVersion in record ({revision}). The object might have been modified"
    ));
    assert_eq!(cluster.revision().await, revision);
    let both = json!({"uid": uid, "resourceVersion": revision.to_string()});
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": both});
    assert_eq!(http.delete_with(&path, options).await.code, 200);
}

#[tokio::test]
async fn a_finalizer_holds_an_object_until_it_is_taken_off() {
    let (cluster, http) = start().await;
    http.post(MAPS, held("f")).await.ok();
    let path = format!("{MAPS}/f");
    let answer = http.delete(&path).await;
    assert_eq!(answer.code, 200);
    let deleting = answer.ok();
    assert!(deleting["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(deleting["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(http.get(&path).await.ok(), deleting);

    // Deleting again changes nothing.
    let before = cluster.revision().await;
    assert_eq!(http.delete(&path).await.ok(), deleting);
    assert_eq!(cluster.revision().await, before);

    // It can still change, but nothing more can hold it, and its name is still taken.
    http.patch(&path, json!({"data": {"still": "editable"}}))
        .await
        .ok();
    let more = json!({"metadata": {"finalizers": ["example.com/a", "example.com/b"]}});
    let status = http.patch(&path, more).await.refused(422);
    let message = status["message"].as_str().unwrap();
    assert!(message.contains("metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"example.com/b\"}"), "{message}");
    let status = http.post(MAPS, map("f")).await.refused_with(
        409,
        "object is being deleted: configmaps \"f\" already exists",
    );
    assert_eq!(status["reason"], "AlreadyExists");

    let last = http
        .patch(&path, json!({"metadata": {"finalizers": null}}))
        .await;
    assert_eq!(
        (last.code, &last.ok()["data"]["still"]),
        (200, &json!("editable"))
    );
    http.get(&path).await.refused(404);
    http.post(MAPS, map("f")).await.ok();
}

#[tokio::test]
async fn finalizers_come_off_one_by_one() {
    let (_cluster, http) = start().await;
    let object =
        json!({"metadata": {"name": "f", "finalizers": ["example.com/a", "example.com/b"]}});
    http.post(MAPS, object).await.ok();
    let path = format!("{MAPS}/f");
    let mut watch = http.watch(MAPS, "").await;
    assert_eq!(watch.step().await.0, "ADDED");
    http.delete(&path).await.ok();
    assert_eq!(watch.step().await.0, "MODIFIED");
    let mut object = http.get(&path).await.ok();
    object["metadata"]["finalizers"] = json!(["example.com/b"]);
    let mut object = http.put(&path, object).await.ok();
    assert_eq!(watch.step().await.0, "MODIFIED");
    object["metadata"]["finalizers"] = json!([]);
    http.put(&path, object).await.ok();
    assert_eq!(watch.step().await.0, "DELETED");
    http.get(&path).await.refused(404);
}

#[tokio::test]
async fn propagation_leaves_its_finalizer() {
    let (_cluster, http) = start().await;
    for (query, finalizer) in [
        ("propagationPolicy=Foreground", "foregroundDeletion"),
        ("propagationPolicy=Orphan", "orphan"),
        ("orphanDependents=true", "orphan"),
    ] {
        http.post(MAPS, map("a")).await.ok();
        let path = format!("{MAPS}/a");
        let answer = http.delete(&format!("{path}?{query}")).await;
        assert_eq!(answer.code, 200);
        assert_eq!(
            answer.ok()["metadata"]["finalizers"],
            json!([finalizer]),
            "{query}"
        );
        assert!(answer.ok()["metadata"]["deletionTimestamp"].is_string());
        // A later word in favour of the background takes it away, and the object with it.
        let options =
            json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"});
        assert_eq!(
            http.delete_with(&path, options).await.ok()["status"],
            "Success"
        );
        http.get(&path).await.refused(404);
    }
    for query in ["propagationPolicy=Background", "orphanDependents=false", ""] {
        http.post(MAPS, map("a")).await.ok();
        assert_eq!(
            http.delete(&format!("{MAPS}/a?{query}")).await.ok()["status"],
            "Success",
            "{query}"
        );
    }
}

#[tokio::test]
async fn propagation_finalizers_join_the_others() {
    let (_cluster, http) = start().await;
    http.post(MAPS, held("f")).await.ok();
    let path = format!("{MAPS}/f");
    let deleted = http
        .delete(&format!("{path}?propagationPolicy=Foreground"))
        .await
        .ok();
    assert_eq!(
        deleted["metadata"]["finalizers"],
        json!(["example.com/a", "foregroundDeletion"])
    );
}

#[tokio::test]
async fn accepted_deletions_are_202() {
    let (_cluster, http) = start().await;
    http.post(MAPS, held("f")).await.ok();
    assert_eq!(
        http.delete(&format!("{MAPS}/f?orphanDependents=false"))
            .await
            .code,
        202
    );
}

#[tokio::test]
async fn jobs_orphan_their_pods_by_default() {
    let (_cluster, http) = start().await;
    let path = "/apis/batch/v1/namespaces/default/jobs";
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]});
    let job = json!({"metadata": {"name": "j"}, "spec": {"template": {"spec": pod}}});
    http.post(path, job.clone()).await.ok();
    let answer = http.delete(&format!("{path}/j")).await;
    let finalizers = answer.ok()["metadata"]["finalizers"].clone();
    assert_eq!(finalizers, json!(["orphan"]));
    assert_eq!(
        answer.warnings(),
        [
            "299 - \"child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning\""
        ]
    );
    let answer = http
        .delete(&format!("{path}/j?propagationPolicy=Background"))
        .await;
    assert_eq!(
        (&answer.ok()["status"], answer.warnings().len()),
        (&json!("Success"), 0)
    );
    http.get(&format!("{path}/j")).await.refused(404);
}

#[tokio::test]
async fn bad_delete_options_are_refused() {
    let (cluster, http) = start().await;
    http.post(MAPS, map("a")).await.ok();
    let before = cluster.revision().await;
    let path = format!("{MAPS}/a");
    let invalid = "DeleteOptions.meta.k8s.io \"\" is invalid: ";
    http.delete(&format!("{path}?propagationPolicy=Foo")).await.refused_with(422, &format!(
        "{invalid}propagationPolicy: Unsupported value: \"Foo\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
    ));
    http.delete(&format!("{path}?propagationPolicy=Foreground&orphanDependents=true")).await.refused_with(422, &format!(
        "{invalid}propagationPolicy: Invalid value: \"Foreground\": orphanDependents and deletionPropagation cannot be both set"
    ));
    http.delete(&format!("{path}?dryRun=Foo"))
        .await
        .refused(422);
    http.delete(&format!("{path}?gracePeriodSeconds=abc"))
        .await
        .refused(400);
    assert_eq!(cluster.revision().await, before);
}

#[tokio::test]
async fn a_collection_is_deleted_through_selectors() {
    let (cluster, http) = start().await;
    for (name, colour) in [("a", "red"), ("b", "blue"), ("c", "red"), ("d", "blue")] {
        http.post(MAPS, labelled(name, "colour", colour)).await.ok();
    }
    http.post(
        "/api/v1/namespaces/kube-public/configmaps",
        labelled("a", "colour", "red"),
    )
    .await
    .ok();
    let before = cluster.revision().await;
    let dry = http.delete(&format!("{MAPS}?dryRun=All")).await;
    assert_eq!((dry.names().len(), cluster.revision().await), (4, before));

    let red = http
        .delete(&format!("{MAPS}?labelSelector=colour%3Dred"))
        .await;
    assert_eq!(red.ok()["kind"], "ConfigMapList");
    assert_eq!(red.names(), ["a", "c"]);
    assert_eq!(cluster.revision().await, before + 2);
    assert_eq!(http.get(MAPS).await.names(), ["b", "d"]);

    assert_eq!(
        http.delete(&format!("{MAPS}?fieldSelector=metadata.name%3Dd"))
            .await
            .names(),
        ["d"]
    );
    assert_eq!(
        http.delete(&format!("{MAPS}?labelSelector=no%3Done"))
            .await
            .names(),
        Vec::<String>::new()
    );
    assert_eq!(http.delete(MAPS).await.names(), ["b"]);
    assert_eq!(http.get(MAPS).await.names(), Vec::<String>::new());
    // Other namespaces are not touched.
    assert_eq!(
        http.get("/api/v1/namespaces/kube-public/configmaps")
            .await
            .names(),
        ["a"]
    );
}

#[tokio::test]
async fn a_collection_in_which_some_are_held_is_deleted_as_far_as_can_be() {
    let (_cluster, http) = start().await;
    http.post(MAPS, map_with("a", "x")).await.ok();
    http.post(MAPS, held("f")).await.ok();
    assert_eq!(http.delete(MAPS).await.names(), ["a", "f"]);
    let left = http.get(MAPS).await;
    assert_eq!(left.names(), ["f"]);
    assert!(left.json()["items"][0]["metadata"]["deletionTimestamp"].is_string());
}
