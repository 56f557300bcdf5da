//! `resourceVersion` on list and get: unset, zero, a revision; with and without a limit; exact or not older than.

use std::time::Duration;

use kubewright_testing::TestCluster;
use serde_json::json;
use tokio::time::Instant;

use crate::http_client::{Http, MAPS, map, map_with, revision_of};

/// A cluster whose ConfigMaps had a past: at `early` there were `a` and `b` (old); now there are `b` (new), `c` and `d`.
struct Past {
    cluster: TestCluster,
    http: Http,
    early: u64,
    now: u64,
}

const EARLY: [&str; 2] = ["a", "b"];
const NOW: [&str; 3] = ["b", "c", "d"];

async fn past() -> Past {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    http.post(MAPS, map_with("a", "old")).await.ok();
    let early = revision_of(&http.post(MAPS, map_with("b", "old")).await.ok());
    http.delete(&format!("{MAPS}/a")).await.ok();
    http.put(&format!("{MAPS}/b"), map_with("b", "new"))
        .await
        .ok();
    http.post(MAPS, map("c")).await.ok();
    let now = revision_of(&http.post(MAPS, map("d")).await.ok());
    Past {
        cluster,
        http,
        early,
        now,
    }
}

impl Past {
    async fn list(&self, query: &str) -> crate::http_client::Answer {
        self.http.get(&format!("{MAPS}?{query}")).await
    }
}

#[tokio::test]
async fn unset_is_the_newest_state() {
    let past = past().await;
    let all = past.list("").await;
    assert_eq!(
        (all.names().as_slice(), all.revision()),
        (NOW.map(String::from).as_slice(), past.now)
    );
    assert_eq!(all.continue_token(), "");

    let some = past.list("limit=2").await;
    assert_eq!(
        (some.names(), some.revision()),
        (vec!["b".into(), "c".into()], past.now)
    );
    assert_ne!(some.continue_token(), "");
}

#[tokio::test]
async fn zero_is_any_state_and_ours_is_the_newest() {
    let past = past().await;
    for query in [
        "resourceVersion=0",
        "resourceVersion=0&resourceVersionMatch=NotOlderThan",
    ] {
        let all = past.list(query).await;
        assert_eq!(
            (all.names().as_slice(), all.revision()),
            (NOW.map(String::from).as_slice(), past.now)
        );
    }
}

#[tokio::test]
async fn a_revision_without_a_limit_is_a_lower_bound() {
    let past = past().await;
    for revision in [1, past.early, past.now] {
        let all = past.list(&format!("resourceVersion={revision}")).await;
        assert_eq!(
            (all.names().as_slice(), all.revision()),
            (NOW.map(String::from).as_slice(), past.now)
        );
    }
}

#[tokio::test]
async fn a_revision_with_a_limit_is_that_very_revision() {
    let past = past().await;
    let all = past
        .list(&format!("resourceVersion={}&limit=10", past.early))
        .await;
    assert_eq!(
        (all.names().as_slice(), all.revision()),
        (EARLY.map(String::from).as_slice(), past.early)
    );
    assert_eq!(all.json()["items"][1]["data"]["value"], "old");

    let first = past
        .list(&format!("resourceVersion={}&limit=1", past.early))
        .await;
    assert_eq!(
        (first.names(), first.revision()),
        (vec!["a".into()], past.early)
    );
    assert_eq!(first.json()["metadata"]["remainingItemCount"], 1);
    let rest = past
        .list(&format!("limit=1&continue={}", first.continue_token()))
        .await;
    assert_eq!(
        (rest.names(), rest.revision()),
        (vec!["b".into()], past.early)
    );
}

#[tokio::test]
async fn exact_is_that_very_revision_with_a_limit_or_without() {
    let past = past().await;
    for limit in ["", "&limit=10"] {
        let query = format!(
            "resourceVersionMatch=Exact&resourceVersion={}{limit}",
            past.early
        );
        let all = past.list(&query).await;
        assert_eq!(
            (all.names().as_slice(), all.revision()),
            (EARLY.map(String::from).as_slice(), past.early)
        );
        assert_eq!(all.json()["items"][0]["data"]["value"], "old");
        assert_eq!(all.json()["items"][1]["data"]["value"], "old");
    }
    // Before the first of them there was nothing.
    let before = past
        .list("resourceVersionMatch=Exact&resourceVersion=1")
        .await;
    assert_eq!((before.names(), before.revision()), (vec![], 1));
}

#[tokio::test]
async fn not_older_than_is_a_lower_bound_with_a_limit_or_without() {
    let past = past().await;
    let query = format!(
        "resourceVersionMatch=NotOlderThan&resourceVersion={}",
        past.early
    );
    let all = past.list(&query).await;
    assert_eq!(
        (all.names().as_slice(), all.revision()),
        (NOW.map(String::from).as_slice(), past.now)
    );

    let some = past.list(&format!("{query}&limit=2")).await;
    assert_eq!(
        (some.names(), some.revision()),
        (vec!["b".into(), "c".into()], past.now)
    );
    assert_eq!(some.json()["metadata"]["remainingItemCount"], 1);
}

#[tokio::test]
async fn combinations_of_options_can_be_invalid() {
    let past = past().await;
    let forbidden = [
        (
            "resourceVersionMatch=Exact",
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            "resourceVersionMatch=NotOlderThan",
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            "resourceVersionMatch=Exact&limit=1",
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            "resourceVersionMatch=Exact&resourceVersion=0",
            "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
        ),
        (
            "resourceVersionMatch=Exact&resourceVersion=0&limit=1",
            "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
        ),
        (
            "resourceVersionMatch=Exact&resourceVersion=5&continue=abc",
            "resourceVersionMatch is forbidden when continue is provided",
        ),
        (
            "resourceVersionMatch=NotOlderThan&resourceVersion=5&continue=abc",
            "resourceVersionMatch is forbidden when continue is provided",
        ),
    ];
    for (query, text) in forbidden {
        let message = format!(
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: {text}"
        );
        let status = past.list(query).await.refused_with(422, &message);
        assert_eq!(status["reason"], "Invalid");
        let cause = json!({
            "reason": "FieldValueForbidden",
            "message": format!("Forbidden: {text}"),
            "field": "resourceVersionMatch",
        });
        let details = json!({"group": "meta.k8s.io", "kind": "ListOptions", "causes": [cause]});
        assert_eq!(status["details"], details, "{query}");
    }
}

#[tokio::test]
async fn unknown_matches_and_initial_events_of_a_list_are_invalid() {
    let past = past().await;
    past.list("resourceVersionMatch=Foo&resourceVersion=1").await.refused_with(
        422,
        "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Unsupported value: \"Foo\": supported values: \"Exact\", \"NotOlderThan\", \"\"",
    );
    past.list("sendInitialEvents=true").await.refused_with(
        422,
        "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
    );
}

#[tokio::test]
async fn versions_that_are_not_numbers_are_bad_requests() {
    let past = past().await;
    for (text, why) in [
        ("abc", "invalid syntax"),
        ("-1", "invalid syntax"),
        ("1.5", "invalid syntax"),
        ("99999999999999999999999", "value out of range"),
    ] {
        for query in [
            "",
            "&limit=1",
            "&resourceVersionMatch=Exact",
            "&resourceVersionMatch=NotOlderThan",
        ] {
            past.list(&format!("resourceVersion={text}{query}")).await.refused_with(
                400,
                &format!("invalid resource version: resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": {why}"),
            );
        }
    }
    past.list("limit=abc")
        .await
        .refused_with(400, "strconv.ParseInt: parsing \"abc\": invalid syntax");
    // A limit below zero is none.
    assert_eq!(past.list("limit=-1").await.names(), NOW);
}

#[tokio::test]
async fn a_forgotten_revision_is_gone() {
    let past = past().await;
    past.cluster.compact_now().await;
    let early = past.early;
    for query in [
        format!("resourceVersion={early}&resourceVersionMatch=Exact"),
        format!("resourceVersion={early}&resourceVersionMatch=Exact&limit=1"),
        format!("resourceVersion={early}&limit=1"),
    ] {
        let status = past
            .list(&query)
            .await
            .refused_with(410, "The resourceVersion for the provided list is too old.");
        assert_eq!(status["reason"], "Expired");
        assert_eq!(status["metadata"], json!({}));
    }
    // Where it is but a lower bound, nothing is lost.
    for query in [
        format!("resourceVersion={early}"),
        format!("resourceVersion={early}&resourceVersionMatch=NotOlderThan"),
        "resourceVersion=0".to_owned(),
        format!("resourceVersion={}&resourceVersionMatch=Exact", past.now),
    ] {
        assert_eq!(past.list(&query).await.names(), NOW, "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_revision_that_does_not_come_times_out_after_three_seconds() {
    let past = past().await;
    for path in [
        format!("{MAPS}?resourceVersion=99999999"),
        format!("{MAPS}?resourceVersion=99999999&limit=2"),
        format!("{MAPS}?resourceVersion=99999999&resourceVersionMatch=Exact"),
        format!("{MAPS}?resourceVersion=99999999&resourceVersionMatch=NotOlderThan"),
        format!("{MAPS}/b?resourceVersion=99999999"),
    ] {
        let began = Instant::now();
        let status = past.http.get(&path).await.refused_with(
            504,
            &format!(
                "Timeout: Too large resource version: 99999999, current: {}",
                past.now
            ),
        );
        let waited = began.elapsed();
        assert!(
            Duration::from_secs(3) <= waited && waited < Duration::from_secs(4),
            "{waited:?}"
        );
        assert_eq!(status["reason"], "Timeout");
        let cause =
            json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
        assert_eq!(
            status["details"],
            json!({"causes": [cause], "retryAfterSeconds": 1})
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_revision_that_is_about_to_come_is_waited_for() {
    let past = past().await;
    let next = past.now + 1;
    let list_path = format!("{MAPS}?resourceVersion={next}");
    let object_path = format!("{MAPS}/e?resourceVersion={next}");
    let (list, object, _) = tokio::join!(
        past.http.get(&list_path),
        past.http.get(&object_path),
        async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            past.http.post(MAPS, map("e")).await.ok();
        },
    );
    assert_eq!(list.names(), ["b", "c", "d", "e"]);
    assert_eq!(object.revision(), next);
}

#[tokio::test]
async fn a_get_shows_the_newest_state_with_any_lower_bound() {
    let past = past().await;
    for query in [
        "",
        "?resourceVersion=",
        "?resourceVersion=0",
        "?resourceVersion=1",
    ] {
        let answer = past.http.get(&format!("{MAPS}/b{query}")).await;
        assert_eq!(answer.ok()["data"]["value"], "new");
    }
    let status = past.http.get(&format!("{MAPS}/b?resourceVersion=abc")).await.refused_with(
        500,
        "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax",
    );
    assert!(status["reason"].is_null());
    // Lists forget, single objects do not.
    past.cluster.compact_now().await;
    past.http
        .get(&format!("{MAPS}/b?resourceVersion={}", past.early))
        .await
        .ok();
}

#[tokio::test]
async fn revisions_are_ordered_decimal_numbers_across_kinds() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let mut last = cluster.revision().await;
    for i in 0..5 {
        for plural in ["configmaps", "secrets", "serviceaccounts"] {
            let path = format!("/api/v1/namespaces/default/{plural}");
            let revision = http.post(&path, map(&format!("x{i}"))).await.revision();
            assert!(revision > last);
            last = revision;
            assert_eq!(http.get(&path).await.revision(), last);
        }
    }
    assert_eq!(cluster.revision().await, last);
}
