//! Bookmarks and deadlines. Time is virtual here: minutes pass in no time.

use std::time::Duration;

use kubewright_testing::TestCluster;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::http_client::{Http, MAPS, event, map, revision_of, seen};

const END: &str = "k8s.io/initial-events-end";

async fn with_two() -> (TestCluster, Http) {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    http.post(MAPS, map("a")).await.ok();
    http.post(MAPS, map("b")).await.ok();
    (cluster, http)
}

fn bookmark(revision: u64) -> Value {
    let metadata = json!({"resourceVersion": revision.to_string()});
    json!({"type": "BOOKMARK", "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}})
}

fn end_of_state(revision: u64) -> Value {
    let mut bookmark = bookmark(revision);
    bookmark["object"]["metadata"]["annotations"] = json!({END: "true"});
    bookmark
}

#[tokio::test(start_paused = true)]
async fn a_bookmark_comes_every_minute() {
    let (cluster, http) = with_two().await;
    let began = Instant::now();
    let query = format!(
        "resourceVersion={}&allowWatchBookmarks=true",
        cluster.revision().await
    );
    let mut watch = http.watch(MAPS, &query).await;
    for minute in 1..=3 {
        // Others move the revision on; the bookmark says that nothing was missed.
        http.post(
            "/api/v1/namespaces/default/secrets",
            map(&format!("s{minute}")),
        )
        .await
        .ok();
        assert_eq!(
            watch.next().await.unwrap(),
            bookmark(cluster.revision().await)
        );
        let passed = began.elapsed().as_secs();
        assert!(
            (60 * minute..60 * minute + 3).contains(&passed),
            "{passed} s"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_can_resume_from_a_bookmark_after_compaction() {
    let (cluster, http) = with_two().await;
    let query = format!(
        "resourceVersion={}&allowWatchBookmarks=true",
        cluster.revision().await
    );
    let mut watch = http.watch(MAPS, &query).await;
    for i in 0..5 {
        http.post("/api/v1/namespaces/default/secrets", map(&format!("s{i}")))
            .await
            .ok();
    }
    let seen_up_to = revision_of(&watch.next().await.unwrap()["object"]);
    cluster.compact_now().await;
    let mut again = http
        .watch(MAPS, &format!("resourceVersion={seen_up_to}"))
        .await;
    http.post(MAPS, map("c")).await.ok();
    assert_eq!(again.step().await, event("ADDED", "c"));
}

#[tokio::test(start_paused = true)]
async fn a_last_bookmark_comes_two_seconds_before_the_deadline() {
    let (cluster, http) = with_two().await;
    let now = cluster.revision().await;
    let began = Instant::now();
    let query = format!("resourceVersion={now}&allowWatchBookmarks=true&timeoutSeconds=10");
    let mut watch = http.watch(MAPS, &query).await;
    assert_eq!(watch.next().await.unwrap(), bookmark(now));
    assert_eq!(began.elapsed().as_secs(), 8);
    assert_eq!(watch.next().await, None);
    assert_eq!(began.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn bookmarks_are_sent_only_if_allowed() {
    let (cluster, http) = with_two().await;
    let query = format!(
        "resourceVersion={}&timeoutSeconds=130",
        cluster.revision().await
    );
    assert_eq!(
        http.watch(MAPS, &query).await.rest().await,
        Vec::<Value>::new()
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_when_its_time_is_up() {
    let (_cluster, http) = with_two().await;
    for seconds in [1, 7, 100] {
        let began = Instant::now();
        let mut watch = http.watch(MAPS, &format!("timeoutSeconds={seconds}")).await;
        let events: Vec<_> = watch.rest().await.iter().map(seen).collect();
        assert_eq!(events, [event("ADDED", "a"), event("ADDED", "b")]);
        assert_eq!(began.elapsed().as_secs(), seconds);
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_a_deadline_lasts_half_an_hour_to_an_hour() {
    let (cluster, http) = with_two().await;
    let revision = cluster.revision().await;
    let began = Instant::now();
    let mut watch = http
        .watch(
            MAPS,
            &format!("resourceVersion={revision}&allowWatchBookmarks=1"),
        )
        .await;
    while watch.next().await.is_some() {}
    let lasted = began.elapsed();
    let half_an_hour = Duration::from_secs(1800);
    assert!(
        half_an_hour <= lasted && lasted <= 2 * half_an_hour,
        "{lasted:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn initial_events_end_with_a_marked_bookmark() {
    let (cluster, http) = with_two().await;
    let now = cluster.revision().await;
    for revision in ["", "&resourceVersion=0", "&resourceVersion=1"] {
        let began = Instant::now();
        let query =
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
        let mut watch = http.watch(MAPS, &format!("{query}{revision}")).await;
        assert_eq!(watch.step().await, event("ADDED", "a"));
        assert_eq!(watch.step().await, event("ADDED", "b"));
        assert_eq!(watch.next().await.unwrap(), end_of_state(now), "{revision}");
        assert_eq!(began.elapsed().as_secs(), 0);
        // Later bookmarks are plain.
        assert_eq!(watch.next().await.unwrap(), bookmark(now));
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_state_ends_with_a_marked_bookmark_too() {
    let (cluster, http) = with_two().await;
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=no%3Done";
    let mut watch = http.watch(MAPS, query).await;
    assert_eq!(
        watch.next().await.unwrap(),
        end_of_state(cluster.revision().await)
    );
}

#[tokio::test(start_paused = true)]
async fn initial_events_without_leave_for_bookmarks_have_no_mark() {
    let (_cluster, http) = with_two().await;
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=70";
    let mut watch = http.watch(MAPS, query).await;
    http.post(MAPS, map("c")).await.ok();
    let events: Vec<_> = watch.rest().await.iter().map(seen).collect();
    assert_eq!(events, ["a", "b", "c"].map(|name| event("ADDED", name)));
}

#[tokio::test(start_paused = true)]
async fn initial_events_are_of_one_state_and_changes_follow_the_mark() {
    let (cluster, http) = with_two().await;
    let now = cluster.revision().await;
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = http.watch(MAPS, query).await;
    // Nothing has been read yet; what changes now is a change all the same.
    http.delete(&format!("{MAPS}/a")).await.ok();
    http.post(MAPS, map("c")).await.ok();
    assert_eq!(watch.step().await, event("ADDED", "a"));
    assert_eq!(watch.step().await, event("ADDED", "b"));
    assert_eq!(watch.next().await.unwrap(), end_of_state(now));
    assert_eq!(watch.step().await, event("DELETED", "a"));
    assert_eq!(watch.step().await, event("ADDED", "c"));
}
