//! What a reflector asks for, and what it makes of the answers.

use std::sync::Arc;
use std::time::Duration;

use kube::core::{DynamicObject, Status};
use kubewright_informer::lister_watcher::replay::{Answer, Asked};
use kubewright_informer::lister_watcher::{ListRequest, WatchRequest};
use kubewright_informer::{InformerConfig, RelistCause, Replay, SharedInformer};

use crate::simulated::{config, expired, status, widgets};

fn object(name: &str, version: u32) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","uid":"{name}","resourceVersion":"{version}"}}}}"#)
}

fn page(version: u32, token: &str, names: &[&str]) -> Answer {
    let items: Vec<_> = names.iter().map(|name| object(name, version)).collect();
    let text = format!(
        r#"{{"kind":"WidgetList","metadata":{{"resourceVersion":"{version}","continue":"{token}"}},"items":[{}]}}"#,
        items.join(",")
    );
    Answer::bytes(text)
}

fn event(kind: &str, json: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{json}}}\n")
}

fn bookmark(version: u32, mark: Option<&str>) -> String {
    let annotations = mark
        .map(|mark| format!(r#","annotations":{{"k8s.io/initial-events-end":"{mark}"}}"#))
        .unwrap_or_default();
    event(
        "BOOKMARK",
        &format!(
            r#"{{"kind":"Widget","metadata":{{"resourceVersion":"{version}"{annotations}}}}}"#
        ),
    )
}

fn error(status: &Status) -> String {
    event("ERROR", &serde_json::to_string(status).unwrap())
}

fn start(replay: &Replay, config: InformerConfig) -> SharedInformer<DynamicObject> {
    let informer = SharedInformer::new(widgets(), vec![Arc::new(replay.clone())], config);
    informer.start();
    informer
}

fn names(informer: &SharedInformer<DynamicObject>) -> Vec<String> {
    let mut names: Vec<_> = informer
        .indexer()
        .snapshot()
        .iter()
        .map(|o| o.name().to_owned())
        .collect();
    names.sort();
    names
}

fn list_at(asked: &Asked) -> Option<(&str, Option<u32>, &str)> {
    match asked {
        Asked::List(ListRequest {
            resource_version,
            limit,
            continue_token,
        }) => Some((resource_version, *limit, continue_token)),
        Asked::Watch(_) => None,
    }
}

fn watch_at(asked: &Asked) -> Option<(&str, bool)> {
    match asked {
        Asked::Watch(WatchRequest {
            resource_version,
            send_initial_events,
            ..
        }) => Some((resource_version, *send_initial_events)),
        Asked::List(_) => None,
    }
}

async fn later() {
    tokio::time::sleep(Duration::from_secs(600)).await;
}

// RF-10, RF-12, RF-40, RF-45
#[tokio::test(start_paused = true)]
async fn the_first_list_takes_anything_and_later_ones_nothing_older_than_was_seen() {
    let replay = Replay::new()
        .without_watch_list()
        .list(page(10, "", &["a"]))
        .watch(Answer::bytes(event("ADDED", &object("b", 12))).then(error(&expired())))
        .list(page(20, "", &["b"]));
    let informer = start(&replay, config());
    let asked = replay.asked_times(4).await;
    assert_eq!(list_at(&asked[0]), Some(("0", Some(500), "")));
    assert_eq!(watch_at(&asked[1]), Some(("10", false)));
    // No page size: it would make the server read its storage.
    assert_eq!(list_at(&asked[2]), Some(("12", None, "")));
    assert_eq!(watch_at(&asked[3]), Some(("20", false)));
    later().await;
    assert_eq!(names(&informer), ["b"]);
    assert_eq!(informer.metrics().relists(RelistCause::Expired), 1);
}

// RF-13, RF-15
#[tokio::test(start_paused = true)]
async fn a_list_at_a_revision_that_is_gone_is_made_at_the_newest_at_once() {
    for refusal in [expired(), status(410, "Gone"), too_large()] {
        let replay = Replay::new()
            .without_watch_list()
            .list(page(10, "", &["a"]))
            .watch(Answer::refuse(expired()))
            .list(Answer::refuse(refusal))
            .list(page(5, "", &["b"]));
        let informer = start(&replay, config());
        let asked = replay.asked_times(5).await;
        assert_eq!(list_at(&asked[2]), Some(("10", None, "")));
        assert_eq!(list_at(&asked[3]), Some(("", Some(500), "")));
        assert_eq!(watch_at(&asked[4]), Some(("5", false)));
        assert_eq!(names(&informer), ["b"]);
    }
}

fn too_large() -> Status {
    serde_json::from_str(r#"{"status":"Failure","code":504,"reason":"Timeout","message":"Too large resource version: 10, current: 5","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1}}"#).unwrap()
}

// RF-14
#[tokio::test(start_paused = true)]
async fn too_large_is_known_by_cause_by_message_and_on_timeouts_only() {
    use kubewright_informer::ReflectorError;
    let error = |status: Status| ReflectorError::Refused {
        status: Box::new(status),
        retry_after: None,
    };
    assert!(error(too_large()).is_too_large_resource_version());
    let mut by_message = status(504, "Timeout");
    "Too large resource version: 7, current: 3".clone_into(&mut by_message.message);
    assert!(error(by_message.clone()).is_too_large_resource_version());
    "BadRequest".clone_into(&mut by_message.reason);
    assert!(!error(by_message).is_too_large_resource_version());
}

// PG-2, PG-4, PG-5, RF-17
#[tokio::test(start_paused = true)]
async fn pages_are_put_together_at_the_first_ones_revision() {
    let replay = Replay::new()
        .without_watch_list()
        .list(page(10, "t1", &["a"]))
        .list(page(10, "t2", &["b"]).cut(1))
        .list(page(10, "", &["c"]))
        .watch(Answer::refuse(expired()))
        .list(page(20, "", &["d"]));
    let informer = start(&replay, config());
    let asked = replay.asked_times(6).await;
    assert_eq!(list_at(&asked[1]), Some(("", Some(500), "t1")));
    assert_eq!(list_at(&asked[2]), Some(("", Some(500), "t2")));
    assert_eq!(watch_at(&asked[3]), Some(("10", false)));
    // RF-12: a server that pages a list of anything has no cache: pages then, too.
    assert_eq!(list_at(&asked[4]), Some(("10", Some(500), "")));
    assert_eq!(names(&informer), ["d"]);
}

// PG-6
#[tokio::test(start_paused = true)]
async fn pages_that_expire_become_one_whole_list() {
    let replay = Replay::new()
        .without_watch_list()
        .list(page(10, "t1", &["a", "old"]))
        .list(Answer::refuse(expired()))
        .list(page(12, "", &["a", "b"]));
    let informer = start(&replay, config());
    let asked = replay.asked_times(4).await;
    assert_eq!(list_at(&asked[2]), Some(("0", None, "")));
    assert_eq!(watch_at(&asked[3]), Some(("12", false)));
    assert_eq!(names(&informer), ["a", "b"]);
}

// RF-12
#[tokio::test(start_paused = true)]
async fn a_given_page_size_is_always_used() {
    let mut config = config();
    config.reflector.page_size = Some(7);
    let replay = Replay::new()
        .without_watch_list()
        .list(page(10, "", &["a"]))
        .watch(Answer::refuse(expired()))
        .list(page(11, "", &["a"]));
    let _informer = start(&replay, config);
    let asked = replay.asked_times(4).await;
    assert_eq!(list_at(&asked[0]), Some(("0", Some(7), "")));
    assert_eq!(list_at(&asked[2]), Some(("10", Some(7), "")));
}

// RF-16
#[tokio::test(start_paused = true)]
async fn a_table_is_no_list() {
    let table = r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","items":[{"metadata":{"name":"x"}}],"metadata":{"resourceVersion":"1"}}"#;
    let replay = Replay::new()
        .without_watch_list()
        .list(Answer::bytes(table))
        .list(page(2, "", &["a"]));
    let informer = start(&replay, config());
    later().await;
    assert_eq!(names(&informer), ["a"]);
}

// RF-20, RF-21, RF-22, RF-23, RF-24
#[tokio::test(start_paused = true)]
async fn a_watch_with_initial_events_fills_at_its_marker_and_goes_on() {
    let replay = Replay::new().watch(
        Answer::bytes(event("ADDED", &object("a", 9)))
            .then(event("ADDED", &object("b", 3)))
            .then(event("MODIFIED", &object("a", 11)))
            .then(event("DELETED", &object("b", 12)))
            .then(bookmark(13, Some("false")))
            .then(bookmark(13, None))
            .pause(Duration::from_secs(5))
            .then(event("ADDED", &object("c", 14)))
            .then(bookmark(15, Some("true")))
            .pause(Duration::from_secs(5))
            .then(event("ADDED", &object("d", 16)))
            .hangs(),
    );
    let informer = start(&replay, config());
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(!informer.has_synced());
    assert!(names(&informer).is_empty());
    assert_eq!(informer.resource_version(), None);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(informer.has_synced());
    assert_eq!(names(&informer), ["a", "c"]);
    assert_eq!(informer.resource_version().as_deref(), Some("15"));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(names(&informer), ["a", "c", "d"]);
    let asked = replay.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(watch_at(&asked[0]), Some(("", true)));
}

// RF-26
#[tokio::test(start_paused = true)]
async fn a_server_that_knows_no_initial_events_is_listed() {
    for refusal in [
        status(422, "Invalid"),
        status(403, "Forbidden"),
        status(500, "InternalError"),
    ] {
        let replay = Replay::new()
            .watch(Answer::refuse(refusal))
            .list(page(4, "", &["a"]));
        let informer = start(&replay, config());
        let asked = replay.asked_times(3).await;
        assert_eq!(list_at(&asked[1]), Some(("0", Some(500), "")));
        assert_eq!(watch_at(&asked[2]), Some(("4", false)));
        assert_eq!(names(&informer), ["a"]);
        assert_eq!(informer.metrics().watch_list_fallbacks, 1);
    }
}

// RF-26, RF-27
#[tokio::test(start_paused = true)]
async fn too_many_requests_are_waited_for_and_an_expired_watch_list_is_not() {
    let busy = || Answer::refuse_for(status(429, "TooManyRequests"), Duration::from_secs(100));
    let filled = || Answer::bytes(event("ADDED", &object("a", 1)) + &bookmark(2, Some("true")));
    let replay = Replay::new()
        .watch(busy())
        .watch(Answer::no_connection())
        .watch(filled().then(error(&expired())))
        .watch(Answer::refuse(expired()))
        .watch(filled().hangs());
    let begin = tokio::time::Instant::now();
    let _informer = start(&replay, config());
    let asked = replay.asked_times(3).await;
    assert!(begin.elapsed() >= Duration::from_secs(100));
    assert_eq!(watch_at(&asked[2]), Some(("", true)));
    let asked = replay.asked_times(5).await;
    assert_eq!(watch_at(&asked[3]), Some(("2", true)));
    assert_eq!(watch_at(&asked[4]), Some(("", true)));
    assert!(asked.iter().all(|asked| list_at(asked).is_none()));
}

// RF-25: ours waits, and does not try for ever.
#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_before_its_marker_twice_becomes_a_list() {
    let early = || Answer::bytes(event("ADDED", &object("a", 1)));
    let replay = Replay::new()
        .watch(early())
        .watch(early())
        .list(page(3, "", &["a", "b"]));
    let begin = tokio::time::Instant::now();
    let informer = start(&replay, config());
    let asked = replay.asked_times(4).await;
    assert!(begin.elapsed() >= Duration::from_millis(800));
    assert!(list_at(&asked[2]).is_some());
    assert_eq!(names(&informer), ["a", "b"]);
}

// RF-28: ours falls back.
#[tokio::test(start_paused = true)]
async fn a_marker_that_never_comes_becomes_a_list() {
    // Silent, and busy with live events: neither is waited for without end.
    let silent = Answer::bytes(event("ADDED", &object("a", 1))).hangs();
    let mut busy = Answer::bytes(event("ADDED", &object("a", 1)));
    for i in 0..100 {
        busy = busy
            .then(event("MODIFIED", &object("a", 10 + i)))
            .pause(Duration::from_secs(5));
    }
    for answer in [silent, busy] {
        let replay = Replay::new()
            .watch(answer)
            .list(page(3, "", &["a", "b"]))
            .watch(Answer::refuse(expired()))
            .list(page(4, "", &["c"]));
        let informer = start(&replay, config());
        informer
            .wait_for_sync(Duration::from_secs(70))
            .await
            .unwrap();
        let asked = replay.asked_times(5).await;
        // It is not tried again.
        assert!(list_at(&asked[3]).is_some());
        later().await;
        assert_eq!(names(&informer), ["c"]);
    }
}

// RF-40
#[tokio::test(start_paused = true)]
async fn watches_last_between_five_and_ten_minutes() {
    let mut replay = Replay::new().without_watch_list().list(page(1, "", &[]));
    for i in 0..30 {
        replay = replay.watch(Answer::bytes(bookmark(10 + i, None)).pause(Duration::from_secs(10)));
    }
    let _informer = start(&replay, config());
    let asked = replay.asked_times(30).await;
    let mut seen = std::collections::HashSet::new();
    for asked in &asked {
        if let Asked::Watch(watch) = asked {
            assert!((300..=600).contains(&watch.timeout.as_secs()));
            seen.insert(watch.timeout);
        }
    }
    assert!(seen.len() > 10);
}

// RF-41
#[tokio::test(start_paused = true)]
async fn a_watch_that_cannot_be_opened_now_is_opened_later_without_a_list() {
    let replay = Replay::new()
        .without_watch_list()
        .list(page(5, "", &["a"]))
        .watch(Answer::no_connection())
        .watch(Answer::refuse(status(429, "TooManyRequests")))
        .watch(Answer::bytes(event("DELETED", &object("a", 6))).hangs());
    let informer = start(&replay, config());
    let asked = replay.asked_times(4).await;
    assert!(
        asked[1..]
            .iter()
            .all(|asked| watch_at(asked) == Some(("5", false)))
    );
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(names(&informer).is_empty());
    assert_eq!(informer.metrics().total_relists(), 0);
}

// RF-43
#[tokio::test(start_paused = true)]
async fn bookmarks_move_the_revision_of_the_next_watch_and_of_the_cache() {
    let replay = Replay::new()
        .without_watch_list()
        .list(page(5, "", &["a"]))
        .watch(Answer::bytes(bookmark(50, None)).pause(Duration::from_secs(2)));
    let informer = start(&replay, config());
    let asked = replay.asked_times(3).await;
    assert_eq!(watch_at(&asked[2]), Some(("50", false)));
    assert_eq!(informer.resource_version().as_deref(), Some("50"));
}

// RF-44
#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_is_resumed_and_one_that_ends_at_once_is_not() {
    let replay = Replay::new()
        .without_watch_list()
        .list(page(5, "", &["a"]))
        .watch(Answer::bytes(event("ADDED", &object("b", 6))))
        .watch(Answer::bytes("").pause(Duration::from_secs(2)))
        .watch(Answer::empty())
        .list(page(9, "", &["c"]));
    let informer = start(&replay, config());
    let asked = replay.asked_times(6).await;
    assert_eq!(watch_at(&asked[2]), Some(("6", false)));
    assert_eq!(watch_at(&asked[3]), Some(("6", false)));
    assert_eq!(list_at(&asked[4]), Some(("6", None, "")));
    assert_eq!(informer.metrics().relists(RelistCause::ShortWatch), 1);
}

// Ours: a server that ends every watch at once, each with an event, is not asked without a pause.
#[tokio::test(start_paused = true)]
async fn short_watches_in_a_row_are_slowed_down() {
    let mut replay = Replay::new().without_watch_list().list(page(5, "", &[]));
    for i in 0..20 {
        replay = replay.watch(Answer::bytes(bookmark(10 + i, None)));
    }
    let begin = tokio::time::Instant::now();
    let _informer = start(&replay, config());
    replay.asked_times(15).await;
    assert!(
        begin.elapsed() > Duration::from_secs(60),
        "{:?}",
        begin.elapsed()
    );
}

// RF-45
#[tokio::test(start_paused = true)]
async fn too_many_requests_in_the_stream_cause_no_list() {
    let busy = error(&status(429, "TooManyRequests"));
    let replay = Replay::new()
        .without_watch_list()
        .list(page(5, "", &["a"]))
        .watch(Answer::bytes(event("ADDED", &object("b", 6))).then(busy));
    let informer = start(&replay, config());
    let asked = replay.asked_times(3).await;
    assert_eq!(watch_at(&asked[2]), Some(("6", false)));
    assert_eq!(informer.metrics().total_relists(), 0);
}

// RF-45, RF-46
#[tokio::test(start_paused = true)]
async fn internal_errors_cause_no_list_for_as_long_as_is_said() {
    let internal = || {
        let text = event("ADDED", &object("b", 6)) + &error(&status(500, "InternalError"));
        Answer::bytes("").pause(Duration::from_secs(2)).then(text)
    };
    let lists = |replay: &Replay| {
        replay
            .asked()
            .iter()
            .filter(|a| list_at(a).is_some())
            .count()
    };
    for (most, expected) in [(0, 3), (3, 2), (60, 1)] {
        let mut config = config();
        config.reflector.internal_error_retry = Duration::from_secs(most);
        let replay = Replay::new()
            .without_watch_list()
            .list(page(5, "", &["a"]))
            .watch(internal())
            .watch(internal())
            .watch(internal())
            .list(page(9, "", &[]));
        let _informer = start(&replay, config);
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(lists(&replay), expected, "{most} s");
    }
}

// RF-48
#[tokio::test(start_paused = true)]
async fn an_object_that_the_server_cannot_read_disappears_by_a_list() {
    let replay = Replay::new()
        .without_watch_list()
        .list(page(5, "", &["a", "broken"]))
        .watch(Answer::bytes(error(&status(500, "StoreReadError"))))
        .list(page(6, "", &["a"]));
    let informer = start(&replay, config());
    later().await;
    assert_eq!(names(&informer), ["a"]);
}

// RF-42: an object that cannot be cached moves nothing.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_cached_is_reported_and_does_not_move_the_revision() {
    let replay = Replay::new()
        .without_watch_list()
        .list(page(5, "", &["a"]))
        .watch(
            Answer::bytes(event(
                "ADDED",
                r#"{"kind":"Gadget","metadata":{"name":"x","resourceVersion":"9"}}"#,
            ))
            .pause(Duration::from_secs(2)),
        );
    let informer = start(&replay, config());
    let asked = replay.asked_times(3).await;
    assert_eq!(watch_at(&asked[2]), Some(("5", false)));
    assert_eq!(informer.metrics().rejected, 1);
    assert!(informer.last_rejected().unwrap().why.contains("Gadget"));
    assert_eq!(names(&informer), ["a"]);
}

// Ours: a watch that goes silent is noticed.
#[tokio::test(start_paused = true)]
async fn a_silent_watch_is_begun_anew_where_it_ended() {
    let replay = Replay::new()
        .without_watch_list()
        .list(page(5, "", &["a"]))
        .watch(Answer::bytes(event("ADDED", &object("b", 6))).hangs())
        .watch(Answer::bytes(event("ADDED", &object("c", 7))).hangs());
    let informer = start(&replay, config());
    let asked = replay.asked_times(3).await;
    assert_eq!(watch_at(&asked[2]), Some(("6", false)));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(names(&informer), ["a", "b", "c"]);
    assert_eq!(informer.metrics().silent_watches, 1);
}

// SI-4, and the reason that client-go does not give.
#[tokio::test(start_paused = true)]
async fn who_waits_for_sync_is_told_what_is_in_the_way() {
    let mut replay = Replay::new().without_watch_list();
    for _ in 0..50 {
        replay = replay.list(Answer::refuse(status(403, "Forbidden")));
    }
    let informer = start(&replay, config());
    let reason = informer.sync_or_error().await.unwrap_err();
    assert_eq!(reason.reason.as_ref().unwrap().code(), Some(403));
    let reason = informer
        .wait_for_sync(Duration::from_secs(5))
        .await
        .unwrap_err();
    assert_eq!(
        reason.to_string(),
        "widgets.example.com not synced: Forbidden happened: Forbidden"
    );
    let silent = start(&Replay::new(), config());
    let reason = silent
        .wait_for_sync(Duration::from_secs(5))
        .await
        .unwrap_err();
    assert_eq!(
        reason.to_string(),
        "widgets.example.com not synced: no answer yet"
    );
}

// RF-4
#[tokio::test(start_paused = true)]
async fn after_every_failed_cycle_there_is_a_pause_that_grows() {
    let mut replay = Replay::new().without_watch_list();
    for _ in 0..8 {
        replay = replay.list(Answer::refuse(status(503, "ServiceUnavailable")));
    }
    let begin = tokio::time::Instant::now();
    let _informer = start(&replay, config());
    replay.asked_times(8).await;
    let least = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0].iter().sum::<f64>();
    let passed = begin.elapsed().as_secs_f64();
    assert!((least..2.0 * least).contains(&passed), "{passed}");
}
