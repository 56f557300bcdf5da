//! Dry runs of every verb that writes: the answer is that of the real thing, and nothing happens.

use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::http_client::{APPLY, Http, JSON_PATCH, MAPS, STRATEGIC, event, map, map_with};

async fn with_one() -> (TestCluster, Http, Value) {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let a = http.post(MAPS, map_with("a", "1")).await.ok();
    (cluster, http, a)
}

#[tokio::test]
async fn a_dry_create_answers_as_if() {
    let (cluster, http, _) = with_one().await;
    let before = cluster.revision().await;
    let answer = http
        .post(&format!("{MAPS}?dryRun=All"), map_with("b", "1"))
        .await;
    assert_eq!(answer.code, 201);
    let object = answer.ok();
    assert_eq!(object["data"]["value"], "1");
    assert!(
        object["metadata"]["uid"].is_string()
            && object["metadata"]["creationTimestamp"].is_string()
    );
    assert_eq!(object["metadata"]["resourceVersion"], Value::Null);
    assert_eq!(cluster.revision().await, before);
    http.get(&format!("{MAPS}/b")).await.refused(404);
    // What would fail fails.
    http.post(&format!("{MAPS}?dryRun=All"), map("a"))
        .await
        .refused(409);
    http.post(&format!("{MAPS}?dryRun=All"), map("UPPER"))
        .await
        .refused(422);
    http.post("/api/v1/namespaces/nope/configmaps?dryRun=All", map("a"))
        .await
        .refused(404);
    let made_up = http
        .post(
            &format!("{MAPS}?dryRun=All"),
            json!({"metadata": {"generateName": "x-"}}),
        )
        .await;
    assert!(
        made_up.ok()["metadata"]["name"]
            .as_str()
            .unwrap()
            .starts_with("x-")
    );
}

#[tokio::test]
async fn a_dry_update_and_dry_patches_answer_as_if() {
    let (cluster, http, a) = with_one().await;
    let before = cluster.revision().await;
    let path = format!("{MAPS}/a?dryRun=All&fieldManager=me");
    let apply = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {new: '2'}}";
    let answers = [
        http.put(
            &path,
            json!({"metadata": {"name": "a"}, "data": {"value": "1", "new": "2"}}),
        )
        .await,
        http.patch(&path, json!({"data": {"new": "2"}})).await,
        http.send(
            http::Method::PATCH,
            &path,
            STRATEGIC,
            r#"{"data": {"new": "2"}}"#,
        )
        .await,
        http.send(
            http::Method::PATCH,
            &path,
            JSON_PATCH,
            r#"[{"op": "add", "path": "/data/new", "value": "2"}]"#,
        )
        .await,
        http.send(http::Method::PATCH, &path, APPLY, apply).await,
    ];
    for (i, answer) in answers.iter().enumerate() {
        assert_eq!(answer.code, 200, "{i}: {}", answer.message());
        assert_eq!(
            answer.ok()["data"],
            json!({"value": "1", "new": "2"}),
            "{i}"
        );
        assert_eq!(
            answer.ok()["metadata"]["resourceVersion"],
            a["metadata"]["resourceVersion"],
            "{i}"
        );
    }
    assert_eq!(cluster.revision().await, before);
    assert_eq!(http.get(&format!("{MAPS}/a")).await.ok(), a);
    // What would fail fails.
    let stale = json!({"metadata": {"name": "a", "resourceVersion": "1"}});
    http.put(&path, stale).await.refused(409);
}

#[tokio::test]
async fn a_dry_apply_of_something_new_creates_nothing() {
    let (cluster, http, _) = with_one().await;
    let before = cluster.revision().await;
    let path = format!("{MAPS}/b?dryRun=All&fieldManager=me");
    let apply = "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {new: '2'}}";
    assert_eq!(
        http.send(http::Method::PATCH, &path, APPLY, apply)
            .await
            .code,
        201
    );
    assert_eq!(cluster.revision().await, before);
    http.get(&format!("{MAPS}/b")).await.refused(404);
}

#[tokio::test]
async fn dry_deletes_answer_as_if() {
    let (cluster, http, a) = with_one().await;
    let before = cluster.revision().await;
    let path = format!("{MAPS}/a");
    let by_query = http.delete(&format!("{path}?dryRun=All")).await;
    let by_body = http.delete_with(&path, json!({"dryRun": ["All"]})).await;
    for answer in [by_query, by_body] {
        assert_eq!(answer.ok()["status"], "Success");
        assert_eq!(answer.ok()["details"]["uid"], a["metadata"]["uid"]);
    }
    assert_eq!(
        http.delete(&format!("{MAPS}?dryRun=All")).await.names(),
        ["a"]
    );
    http.delete(&format!("{MAPS}/nope?dryRun=All"))
        .await
        .refused(404);
    assert_eq!(cluster.revision().await, before);
    assert_eq!(http.get(&path).await.ok(), a);
}

#[tokio::test]
async fn dry_deletes_that_would_take_time_mark_nothing() {
    let (cluster, http, _) = with_one().await;
    let pods = "/api/v1/namespaces/default/pods";
    let spec = json!({"nodeName": "n", "containers": [{"name": "c", "image": "i"}]});
    let pod = http
        .post(pods, json!({"metadata": {"name": "p"}, "spec": spec}))
        .await
        .ok();
    http.post(
        MAPS,
        json!({"metadata": {"name": "f", "finalizers": ["example.com/a"]}}),
    )
    .await
    .ok();
    http.post("/api/v1/namespaces", map("n")).await.ok();
    let before = cluster.revision().await;

    let dry = http.delete(&format!("{pods}/p?dryRun=All")).await.ok();
    assert_eq!(dry["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_eq!(http.get(&format!("{pods}/p")).await.ok(), pod);

    let dry = http.delete(&format!("{MAPS}/f?dryRun=All")).await.ok();
    assert!(dry["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(
        http.get(&format!("{MAPS}/f")).await.ok()["metadata"]["deletionTimestamp"],
        Value::Null
    );

    let dry = http.delete("/api/v1/namespaces/n?dryRun=All").await.ok();
    assert_eq!(dry["status"]["phase"], "Terminating");
    assert_eq!(
        http.get("/api/v1/namespaces/n").await.ok()["status"]["phase"],
        "Active"
    );
    assert_eq!(cluster.revision().await, before);
}

#[tokio::test]
async fn dry_runs_are_not_events() {
    let (cluster, http, _) = with_one().await;
    let mut watch = http
        .watch(
            MAPS,
            &format!("resourceVersion={}", cluster.revision().await),
        )
        .await;
    http.post(&format!("{MAPS}?dryRun=All"), map("b"))
        .await
        .ok();
    http.put(&format!("{MAPS}/a?dryRun=All"), map_with("a", "2"))
        .await
        .ok();
    http.patch(&format!("{MAPS}/a?dryRun=All"), json!({"data": {"x": "y"}}))
        .await
        .ok();
    http.delete(&format!("{MAPS}/a?dryRun=All")).await.ok();
    http.delete(&format!("{MAPS}?dryRun=All")).await.ok();
    http.post(MAPS, map("mark")).await.ok();
    assert_eq!(watch.step().await, event("ADDED", "mark"));
}

#[tokio::test]
async fn all_is_the_only_way_to_run_dry() {
    let (cluster, http, _) = with_one().await;
    let before = cluster.revision().await;
    let text = "is invalid: dryRun: Unsupported value: [\"Foo\"]: supported values: \"All\"";
    let created = http.post(&format!("{MAPS}?dryRun=Foo"), map("b")).await;
    created.refused_with(422, &format!("CreateOptions.meta.k8s.io \"\" {text}"));
    let path = format!("{MAPS}/a?dryRun=Foo");
    http.put(&path, map("a"))
        .await
        .refused_with(422, &format!("UpdateOptions.meta.k8s.io \"\" {text}"));
    http.patch(&path, json!({}))
        .await
        .refused_with(422, &format!("PatchOptions.meta.k8s.io \"\" {text}"));
    http.delete(&path)
        .await
        .refused_with(422, &format!("DeleteOptions.meta.k8s.io \"\" {text}"));
    assert_eq!(cluster.revision().await, before);
}
