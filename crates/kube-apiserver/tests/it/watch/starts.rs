//! The start of a watch, and the order of its events: every change once.

use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::http_client::{Http, JSON, MAPS, event, map, map_with, revision_of, seen};

async fn with_two() -> (TestCluster, Http) {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    http.post(MAPS, map_with("a", "1")).await.ok();
    http.post(MAPS, map_with("b", "1")).await.ok();
    (cluster, http)
}

#[tokio::test]
async fn a_watch_from_a_revision_shows_what_came_after_it() {
    let (cluster, http) = with_two().await;
    let from = cluster.revision().await;
    let changed = http
        .put(&format!("{MAPS}/a"), map_with("a", "2"))
        .await
        .ok();
    let added = http.post(MAPS, map("c")).await.ok();
    let mut watch = http.watch(MAPS, &format!("resourceVersion={from}")).await;
    http.delete(&format!("{MAPS}/b")).await.ok();

    let modified = watch.next().await.unwrap();
    assert_eq!(modified, json!({"type": "MODIFIED", "object": changed}));
    assert_eq!(
        watch.next().await.unwrap(),
        json!({"type": "ADDED", "object": added})
    );
    assert_eq!(watch.step().await, event("DELETED", "b"));
}

#[tokio::test]
async fn a_watch_from_nowhere_begins_with_what_there_is() {
    let (_cluster, http) = with_two().await;
    for query in ["", "resourceVersion=0", "resourceVersion="] {
        let mut watch = http.watch(MAPS, query).await;
        let first = watch.next().await.unwrap();
        let stored = http.get(&format!("{MAPS}/a")).await.ok();
        assert_eq!(first, json!({"type": "ADDED", "object": stored}));
        assert_eq!(watch.step().await, event("ADDED", "b"));
        http.put(&format!("{MAPS}/b"), map_with("b", query))
            .await
            .ok();
        assert_eq!(watch.step().await, event("MODIFIED", "b"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_initial_events_shows_only_what_comes() {
    let (_cluster, http) = with_two().await;
    let query = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=1";
    let mut watch = http.watch(MAPS, query).await;
    http.post(MAPS, map("c")).await.ok();
    let events: Vec<_> = watch.rest().await.iter().map(seen).collect();
    assert_eq!(events, [event("ADDED", "c")]);
}

#[tokio::test]
async fn deleted_objects_carry_the_revision_of_their_deletion() {
    let (cluster, http) = with_two().await;
    let last = http.get(&format!("{MAPS}/a")).await.ok();
    let mut watch = http
        .watch(
            MAPS,
            &format!("resourceVersion={}", cluster.revision().await),
        )
        .await;
    http.delete(&format!("{MAPS}/a")).await.ok();
    let deleted = watch.next().await.unwrap();
    assert_eq!(deleted["type"], "DELETED");
    assert_eq!(revision_of(&deleted["object"]), cluster.revision().await);
    assert!(revision_of(&deleted["object"]) > revision_of(&last));
    assert_eq!(deleted["object"]["data"], last["data"]);
    assert_eq!(
        deleted["object"]["metadata"]["uid"],
        last["metadata"]["uid"]
    );
}

#[tokio::test]
async fn updates_without_changes_are_not_events() {
    let (cluster, http) = with_two().await;
    let mut watch = http
        .watch(
            MAPS,
            &format!("resourceVersion={}", cluster.revision().await),
        )
        .await;
    http.put(&format!("{MAPS}/a"), map_with("a", "1"))
        .await
        .ok();
    http.patch(&format!("{MAPS}/a"), json!({"data": {"value": "1"}}))
        .await
        .ok();
    http.put(&format!("{MAPS}/a?dryRun=All"), map_with("a", "2"))
        .await
        .ok();
    http.delete(&format!("{MAPS}/a?dryRun=All")).await.ok();
    http.post(MAPS, map("mark")).await.ok();
    assert_eq!(watch.step().await, event("ADDED", "mark"));
}

#[tokio::test]
async fn a_forgotten_revision_is_an_error_in_the_stream() {
    let (cluster, http) = with_two().await;
    let old = cluster.revision().await;
    http.post(MAPS, map("c")).await.ok();
    http.post(MAPS, map("d")).await.ok();
    cluster.compact_now().await;
    let events = http
        .watch(MAPS, &format!("resourceVersion={old}"))
        .await
        .rest()
        .await;
    let [error] = events.as_slice() else {
        panic!("{events:?}")
    };
    assert_eq!(error["type"], "ERROR");
    let status = &error["object"];
    assert_eq!(
        (&status["kind"], &status["code"]),
        (&json!("Status"), &json!(410))
    );
    assert_eq!(status["reason"], "Expired");
    let message = status["message"].as_str().unwrap();
    assert!(
        message.starts_with(&format!("too old resource version: {old} (")),
        "{message}"
    );
    // From the newest revision there is nothing to miss.
    let mut watch = http
        .watch(
            MAPS,
            &format!("resourceVersion={}", cluster.revision().await),
        )
        .await;
    http.post(MAPS, map("e")).await.ok();
    assert_eq!(watch.step().await, event("ADDED", "e"));
}

#[tokio::test]
async fn a_watch_that_has_seen_everything_survives_compaction() {
    let (cluster, http) = with_two().await;
    let mut watch = http
        .watch(
            MAPS,
            &format!("resourceVersion={}", cluster.revision().await),
        )
        .await;
    for name in ["c", "d", "e"] {
        http.post(MAPS, map(name)).await.ok();
        assert_eq!(watch.step().await, event("ADDED", name));
        cluster.compact_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_the_future_waits_for_it() {
    let (cluster, http) = with_two().await;
    let current = cluster.revision().await;
    let query = format!("resourceVersion={}&timeoutSeconds=5", current + 2);
    let mut watch = http.watch(MAPS, &query).await;
    for name in ["c", "d", "e"] {
        http.post(MAPS, map(name)).await.ok();
    }
    let events: Vec<_> = watch.rest().await.iter().map(seen).collect();
    assert_eq!(events, [event("ADDED", "e")]);
}

#[tokio::test]
async fn refused_watches_say_why_before_they_start() {
    let (_cluster, http) = with_two().await;
    let watch = async |query: &str| http.get(&format!("{MAPS}?watch=1&{query}")).await;
    let status = watch("resourceVersion=abc").await.refused_with(
        500,
        "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax",
    );
    assert!(status["reason"].is_null());
    watch("timeoutSeconds=abc")
        .await
        .refused_with(400, "strconv.ParseInt: parsing \"abc\": invalid syntax");
    let invalid = "ListOptions.meta.k8s.io \"\" is invalid: ";
    let forbidden = "resourceVersionMatch: Forbidden: ";
    let requires = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
    watch("sendInitialEvents=true")
        .await
        .refused_with(422, &format!("{invalid}{forbidden}{requires}"));
    watch("sendInitialEvents=true&resourceVersionMatch=Exact").await.refused_with(422, &format!(
        "{invalid}[{forbidden}{requires}, resourceVersionMatch: Unsupported value: \"Exact\": supported values: \"NotOlderThan\"]"
    ));
    watch("resourceVersionMatch=NotOlderThan&resourceVersion=5").await.refused_with(422, &format!(
        "{invalid}{forbidden}resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
    ));
}

#[tokio::test]
async fn limits_mean_nothing_to_a_watch() {
    let (_cluster, http) = with_two().await;
    let mut watch = http.watch(MAPS, "limit=1").await;
    assert_eq!(watch.step().await, event("ADDED", "a"));
    assert_eq!(watch.step().await, event("ADDED", "b"));
}

#[tokio::test(start_paused = true)]
async fn one_object_can_be_watched_three_ways() {
    let (_cluster, http) = with_two().await;
    for path in [
        "/api/v1/watch/namespaces/default/configmaps/a?timeoutSeconds=5".to_owned(),
        format!("{MAPS}?watch=1&timeoutSeconds=5&fieldSelector=metadata.name%3Da"),
        format!("{MAPS}?watch=true&timeoutSeconds=5&fieldSelector=metadata.name%3D%3Da"),
    ] {
        let mut watch = http.watching(&path, JSON).await;
        http.put(&format!("{MAPS}/b"), map_with("b", &path))
            .await
            .ok();
        http.put(&format!("{MAPS}/a"), map_with("a", &path))
            .await
            .ok();
        let events: Vec<_> = watch.rest().await.iter().map(seen).collect();
        // The change may already have been part of the present state, or not; nothing else is seen.
        assert!(
            events.iter().all(|(_, name)| name == "a"),
            "{path}: {events:?}"
        );
        assert_eq!(events.first(), Some(&event("ADDED", "a")), "{path}");
        assert_eq!(events.last(), Some(&event("MODIFIED", "a")), "{path}");
    }
    // An object's own path with `watch` is a get.
    assert_eq!(
        http.get(&format!("{MAPS}/a?watch=1")).await.ok()["metadata"]["name"],
        "a"
    );
}

#[tokio::test(start_paused = true)]
async fn the_old_watch_paths_cover_collections_too() {
    let (_cluster, http) = with_two().await;
    for path in [
        "/api/v1/watch/namespaces/default/configmaps",
        "/api/v1/watch/configmaps",
    ] {
        let mut watch = http
            .watching(&format!("{path}?timeoutSeconds=1"), JSON)
            .await;
        let events: Vec<_> = watch.rest().await.iter().map(seen).collect();
        assert_eq!(events, [event("ADDED", "a"), event("ADDED", "b")], "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_watchers_see_one_order() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let from = cluster.revision().await;
    let mut watchers = Vec::new();
    for _ in 0..6 {
        watchers.push(http.watch(MAPS, &format!("resourceVersion={from}")).await);
    }
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let http = http.clone();
            tokio::spawn(async move {
                for i in 0..15 {
                    let name = format!("w{writer}");
                    match i % 3 {
                        0 => http.post(MAPS, map(&name)).await.ok(),
                        1 => http
                            .put(&format!("{MAPS}/{name}"), map_with(&name, "x"))
                            .await
                            .ok(),
                        _ => http.delete(&format!("{MAPS}/{name}")).await.ok(),
                    };
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let mut orders: Vec<Vec<Value>> = Vec::new();
    for watch in &mut watchers {
        let mut events = Vec::new();
        while events.len() < 60 {
            events.push(watch.next().await.unwrap());
        }
        orders.push(events);
    }
    let revisions: Vec<u64> = orders[0]
        .iter()
        .map(|e| revision_of(&e["object"]))
        .collect();
    assert!(revisions.is_sorted_by(|a, b| a < b), "{revisions:?}");
    assert!(orders.iter().all(|order| *order == orders[0]));
}

#[tokio::test]
async fn a_watch_sees_its_namespace_and_no_other() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    // Names of which one begins with the other.
    for namespace in ["team", "team-two"] {
        http.post("/api/v1/namespaces", map(namespace)).await.ok();
    }
    let mut watch = http.watch("/api/v1/namespaces/team/configmaps", "").await;
    let mut all = http.watch("/api/v1/configmaps", "").await;
    for (namespace, name) in [("team-two", "x"), ("team", "y"), ("default", "z")] {
        http.post(
            &format!("/api/v1/namespaces/{namespace}/configmaps"),
            map(name),
        )
        .await
        .ok();
    }
    http.post("/api/v1/namespaces/team/configmaps", map("mark"))
        .await
        .ok();
    for name in ["y", "mark"] {
        assert_eq!(watch.step().await, event("ADDED", name));
    }
    for name in ["x", "y", "z", "mark"] {
        assert_eq!(all.step().await, event("ADDED", name));
    }
}

#[tokio::test]
async fn the_longest_timeout_is_a_long_time() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    http.post(MAPS, map("a")).await.ok();
    for timeout in [i64::MAX, i64::MAX / 1_000_000_000, 1 << 40] {
        let query = format!("allowWatchBookmarks=true&timeoutSeconds={timeout}");
        let mut watch = http.watch(MAPS, &query).await;
        assert_eq!(
            watch.next().await.unwrap()["object"]["metadata"]["name"],
            "a"
        );
    }
}
