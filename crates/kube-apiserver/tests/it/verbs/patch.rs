//! `patch`: the four kinds of patches, as far as every verb needs them.

use http::Method;
use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::http_client::{APPLY, Answer, Http, JSON, JSON_PATCH, MAPS, MERGE, STRATEGIC};

async fn with_one() -> (TestCluster, Http) {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let object = json!({
        "metadata": {"name": "a", "labels": {"x": "1", "y": "2"}, "finalizers": ["example.com/a"]},
        "data": {"k": "v"},
    });
    http.post(MAPS, object).await.ok();
    (cluster, http)
}

async fn patch(http: &Http, content_type: &str, patch: &str) -> Answer {
    http.send(
        Method::PATCH,
        &format!("{MAPS}/a?fieldManager=me"),
        content_type,
        patch.to_owned(),
    )
    .await
}

#[tokio::test]
async fn a_merge_patch_sets_and_takes_away() {
    let (_cluster, http) = with_one().await;
    let body =
        r#"{"metadata": {"labels": {"x": null, "z": "3"}, "finalizers": ["example.com/b"]}}"#;
    let object = patch(&http, MERGE, body).await.ok();
    assert_eq!(object["metadata"]["labels"], json!({"y": "2", "z": "3"}));
    assert_eq!(object["metadata"]["finalizers"], json!(["example.com/b"]));
    assert_eq!(object["data"], json!({"k": "v"}));
}

#[tokio::test]
async fn a_strategic_patch_merges_lists() {
    let (_cluster, http) = with_one().await;
    let object = patch(
        &http,
        STRATEGIC,
        r#"{"metadata": {"finalizers": ["example.com/b"]}}"#,
    )
    .await
    .ok();
    let mut finalizers: Vec<&Value> = object["metadata"]["finalizers"]
        .as_array()
        .unwrap()
        .iter()
        .collect();
    finalizers.sort_by_key(|f| f.as_str());
    assert_eq!(finalizers, ["example.com/a", "example.com/b"]);
    let body = r#"{"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}"#;
    let object = patch(&http, STRATEGIC, body).await.ok();
    assert_eq!(object["metadata"]["finalizers"], json!(["example.com/b"]));
    let object = patch(
        &http,
        STRATEGIC,
        r#"{"data": {"$patch": "replace", "n": "w"}}"#,
    )
    .await
    .ok();
    assert_eq!(object["data"], json!({"n": "w"}));
}

#[tokio::test]
async fn a_json_patch_is_done_as_a_whole_or_not_at_all() {
    let (cluster, http) = with_one().await;
    let body = r#"[{"op": "test", "path": "/data/k", "value": "v"}, {"op": "move", "from": "/data/k", "path": "/data/l"}]"#;
    assert_eq!(
        patch(&http, JSON_PATCH, body).await.ok()["data"],
        json!({"l": "v"})
    );
    let before = cluster.revision().await;
    for body in [
        r#"[{"op": "add", "path": "/data/m", "value": "x"}, {"op": "test", "path": "/data/l", "value": "no"}]"#,
        r#"[{"op": "add", "path": "/data/m", "value": "x"}, {"op": "remove", "path": "/data/zz"}]"#,
    ] {
        let status = patch(&http, JSON_PATCH, body).await.refused_with(
            422,
            "the server rejected our request due to an error in our request",
        );
        assert_eq!(
            (&status["reason"], &status["details"]),
            (&json!("Invalid"), &json!({}))
        );
    }
    assert_eq!(cluster.revision().await, before);
}

#[tokio::test]
async fn an_apply_owns_what_it_says() {
    let (_cluster, http) = with_one().await;
    let body =
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {mine: '1', both: '1'}}";
    assert_eq!(
        patch(&http, APPLY, body).await.ok()["data"],
        json!({"k": "v", "mine": "1", "both": "1"})
    );
    // What is not said any more goes.
    let body = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {both: '1'}}";
    assert_eq!(
        patch(&http, APPLY, body).await.ok()["data"],
        json!({"k": "v", "both": "1"})
    );
    // What another owns is a conflict, unless it is taken by force.
    let other = format!("{MAPS}/a?fieldManager=other");
    let body = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {both: '2'}}";
    let status = http
        .send(Method::PATCH, &other, APPLY, body)
        .await
        .refused_with(
            409,
            "Apply failed with 1 conflict: conflict with \"me\": .data.both",
        );
    assert_eq!(status["reason"], "Conflict");
    let forced = http
        .send(Method::PATCH, &format!("{other}&force=true"), APPLY, body)
        .await
        .ok();
    assert_eq!(forced["data"], json!({"k": "v", "both": "2"}));
}

#[tokio::test]
async fn an_apply_of_something_new_creates_it() {
    let (cluster, http) = with_one().await;
    let path = format!("{MAPS}/b?fieldManager=me");
    let body = "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {k: v}}";
    assert_eq!(http.send(Method::PATCH, &path, APPLY, body).await.code, 201);
    let before = cluster.revision().await;
    let again = http.send(Method::PATCH, &path, APPLY, body).await;
    assert_eq!((again.code, cluster.revision().await), (200, before));
}

#[tokio::test]
async fn a_patch_with_a_stale_resource_version_is_a_conflict() {
    let (_cluster, http) = with_one().await;
    patch(&http, MERGE, r#"{"metadata": {"resourceVersion": "1"}, "data": {"k": "w"}}"#).await.refused_with(
        409,
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again",
    );
    let revision = http.get(&format!("{MAPS}/a")).await.revision();
    let body =
        format!(r#"{{"metadata": {{"resourceVersion": "{revision}"}}, "data": {{"k": "w"}}}}"#);
    assert_eq!(patch(&http, MERGE, &body).await.ok()["data"]["k"], "w");
}

#[tokio::test]
async fn other_kinds_of_patches_are_not_supported() {
    let (_cluster, http) = with_one().await;
    for content_type in [JSON, "text/plain", "application/cbor"] {
        let status = patch(&http, content_type, "{}").await.refused(415);
        assert_eq!(status["reason"], "UnsupportedMediaType", "{content_type}");
    }
}
