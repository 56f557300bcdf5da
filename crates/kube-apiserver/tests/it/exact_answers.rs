//! Answers that clients compare literally: tokens, names, options and the errors of invalid bodies.

use http::Method;
use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::http_client::{APPLY, Http, JSON, MAPS, MERGE, event, map_with};

const UNRECOGNIZED: &str = "the object provided is unrecognized (must be of type ConfigMap): ";

async fn with_two() -> (TestCluster, Http) {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    http.post(MAPS, map_with("a", "1")).await.ok();
    http.post(MAPS, map_with("b", "1")).await.ok();
    (cluster, http)
}

#[tokio::test]
async fn zero_ignores_the_limit() {
    let (_cluster, http) = with_two().await;
    for query in [
        "resourceVersion=0",
        "resourceVersion=0&resourceVersionMatch=NotOlderThan",
    ] {
        let all = http.get(&format!("{MAPS}?limit=1&{query}")).await;
        assert_eq!(all.names().len(), 2, "{query}");
        assert_eq!(all.continue_token(), "");
        assert_eq!(all.ok()["metadata"]["remainingItemCount"], Value::Null);
    }
}

#[tokio::test]
async fn a_token_that_is_not_base64_is_reported() {
    let (_cluster, http) = with_two().await;
    http.get(&format!("{MAPS}?limit=1&continue=%25%25")).await.refused_with(
        400,
        "invalid continue token: continue key is not valid: illegal base64 data at input byte 0",
    );
}

#[tokio::test]
async fn a_token_of_nothing_has_no_version() {
    let (_cluster, http) = with_two().await;
    // base64 of `null`
    http.get(&format!("{MAPS}?limit=1&continue=bnVsbA")).await.refused_with(
        400,
        "invalid continue token: continue key is not valid: server does not recognize this encoded version ",
    );
}

#[tokio::test]
async fn a_token_starts_with_a_slash() {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    let (cluster, http) = with_two().await;
    let token = http.get(&format!("{MAPS}?limit=1")).await.continue_token();
    let inside: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token).unwrap()).unwrap();
    let revision = cluster.revision().await;
    assert_eq!(
        inside,
        json!({"v": "meta.k8s.io/v1", "rv": revision, "start": "/a\u{0}"})
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_nowhere_marks_the_end_of_its_state_too() {
    let (cluster, http) = with_two().await;
    for revision in ["", "&resourceVersion=0"] {
        let mut watch = http
            .watch(MAPS, &format!("allowWatchBookmarks=true{revision}"))
            .await;
        assert_eq!(watch.step().await, event("ADDED", "a"));
        assert_eq!(watch.step().await, event("ADDED", "b"));
        let metadata = json!({
            "resourceVersion": cluster.revision().await.to_string(),
            "annotations": {"k8s.io/initial-events-end": "true"},
        });
        let mark = watch.next().await.unwrap();
        assert_eq!(mark["type"], "BOOKMARK");
        assert_eq!(mark["object"]["metadata"], metadata, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn initial_events_of_a_revision_that_does_not_come_are_an_error_in_the_stream() {
    let (cluster, http) = with_two().await;
    let current = cluster.revision().await;
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=99999999";
    let events = http.watch(MAPS, query).await.rest().await;
    let [error] = events.as_slice() else {
        panic!("{events:?}")
    };
    assert_eq!(error["type"], "ERROR");
    assert_eq!(error["object"]["code"], 504);
    assert_eq!(
        error["object"]["message"],
        format!("Timeout: Too large resource version: 99999999, current: {current}")
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_with_a_token_is_invalid() {
    let (_cluster, http) = with_two().await;
    http.get(&format!("{MAPS}?watch=1&continue=abc&timeoutSeconds=1")).await.refused_with(
        422,
        "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided",
    );
}

#[tokio::test]
async fn names_that_climb_are_bad_requests() {
    let (_cluster, http) = with_two().await;
    for (name, shown) in [("..%2f", ".."), ("..", ".."), (".", "."), ("%2e%2e", "..")] {
        http.get(&format!("{MAPS}/{name}")).await.refused_with(
            400,
            &format!("Name parameter invalid: \"{shown}\": may not be '{shown}'"),
        );
    }
}

#[tokio::test]
async fn a_group_version_of_three_parts_is_refused() {
    let (_cluster, http) = with_two().await;
    let body = r#"{"kind": "ConfigMap", "apiVersion": "a/b/c", "metadata": {"name": "k"}}"#;
    http.send(Method::POST, MAPS, JSON, body).await.refused_with(
        400,
        &format!("{UNRECOGNIZED}unexpected GroupVersion string: a/b/c ({{\"kind\": \"ConfigMap\", \"apiVers ...)"),
    );
}

#[tokio::test]
async fn delete_options_of_another_kind_delete_nothing() {
    let (_cluster, http) = with_two().await;
    let path = format!("{MAPS}/a");
    http.send(Method::DELETE, &path, JSON, r#"{"kind":"ConfigMap"}"#).await.refused_with(
        400,
        "no kind \"ConfigMap\" is registered for version \"meta.k8s.io/v1\" in scheme \"pkg/runtime/scheme.go:111\"",
    );
}

#[tokio::test]
async fn delete_options_that_cannot_be_read_say_why() {
    let (_cluster, http) = with_two().await;
    http.send(Method::DELETE, &format!("{MAPS}/a"), JSON, "[")
        .await
        .refused_with(
            400,
            "couldn't get version/kind; json parse error: unexpected end of JSON input",
        );
}

#[tokio::test]
async fn an_empty_merge_patch_is_rejected() {
    let (_cluster, http) = with_two().await;
    let answer = http
        .send(Method::PATCH, &format!("{MAPS}/a"), MERGE, "null")
        .await;
    answer.refused_with(400, "Invalid JSON Patch");
}

#[tokio::test]
async fn an_apply_of_invalid_yaml_says_why() {
    let (_cluster, http) = with_two().await;
    let path = format!("{MAPS}/a?fieldManager=me");
    let prefix = "error decoding YAML: error converting YAML to JSON: yaml: line 1: ";
    http.send(Method::PATCH, &path, APPLY, "a: [1,2")
        .await
        .refused_with(400, &format!("{prefix}did not find expected ',' or ']'"));
}
