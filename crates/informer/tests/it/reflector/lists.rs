//! Lists: at which revision, in which pages, how often.

use std::time::Duration;

use kube::core::Status;
use kubewright_informer::replay::Response;
use kubewright_informer::{RelistCause, replay::Replay};

use super::{error, event, later, list_at, names, object, page, start, watch_at};
use crate::simulated::{config, expired, status};

#[tokio::test(start_paused = true)]
async fn the_first_list_takes_anything_and_later_ones_nothing_older_than_was_seen() {
    let replay = Replay::new()
        .without_watch_list()
        .list(page(10, "", &["a"]))
        .watch(Response::bytes(event("ADDED", &object("b", 12))).then(error(&expired())))
        .list(page(20, "", &["b"]));
    let informer = start(&replay, config());
    let asked = replay.wait_for_requests(4).await;
    assert_eq!(list_at(&asked[0]), Some(("0", Some(500), "")));
    assert_eq!(watch_at(&asked[1]), Some(("10", false)));
    // No page size: it would make the server read its storage.
    assert_eq!(list_at(&asked[2]), Some(("12", None, "")));
    assert_eq!(watch_at(&asked[3]), Some(("20", false)));
    later().await;
    assert_eq!(names(&informer), ["b"]);
    assert_eq!(informer.metrics().relists(RelistCause::Expired), 1);
}

#[tokio::test(start_paused = true)]
async fn a_list_at_a_revision_that_is_gone_is_made_at_the_newest_at_once() {
    for refusal in [expired(), status(410, "Gone"), too_large()] {
        let replay = Replay::new()
            .without_watch_list()
            .list(page(10, "", &["a"]))
            .watch(Response::refuse(expired()))
            .list(Response::refuse(refusal))
            .list(page(5, "", &["b"]));
        let informer = start(&replay, config());
        let asked = replay.wait_for_requests(5).await;
        assert_eq!(list_at(&asked[2]), Some(("10", None, "")));
        assert_eq!(list_at(&asked[3]), Some(("", Some(500), "")));
        assert_eq!(watch_at(&asked[4]), Some(("5", false)));
        assert_eq!(names(&informer), ["b"]);
    }
}

fn too_large() -> Status {
    serde_json::from_str(r#"{"status":"Failure","code":504,"reason":"Timeout","message":"Too large resource version: 10, current: 5","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1}}"#).unwrap()
}

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

#[tokio::test(start_paused = true)]
async fn pages_are_put_together_at_the_first_ones_revision() {
    let replay = Replay::new()
        .without_watch_list()
        .list(page(10, "t1", &["a"]))
        .list(page(10, "t2", &["b"]).cut(1))
        .list(page(10, "", &["c"]))
        .watch(Response::refuse(expired()))
        .list(page(20, "", &["d"]));
    let informer = start(&replay, config());
    let asked = replay.wait_for_requests(6).await;
    assert_eq!(list_at(&asked[1]), Some(("", Some(500), "t1")));
    assert_eq!(list_at(&asked[2]), Some(("", Some(500), "t2")));
    assert_eq!(watch_at(&asked[3]), Some(("10", false)));
    // A server that pages a list of anything has no cache: pages then, too.
    assert_eq!(list_at(&asked[4]), Some(("10", Some(500), "")));
    assert_eq!(names(&informer), ["d"]);
}

#[tokio::test(start_paused = true)]
async fn pages_that_expire_become_one_whole_list() {
    let replay = Replay::new()
        .without_watch_list()
        .list(page(10, "t1", &["a", "old"]))
        .list(Response::refuse(expired()))
        .list(page(12, "", &["a", "b"]));
    let informer = start(&replay, config());
    let asked = replay.wait_for_requests(4).await;
    assert_eq!(list_at(&asked[2]), Some(("0", None, "")));
    assert_eq!(watch_at(&asked[3]), Some(("12", false)));
    assert_eq!(names(&informer), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_given_page_size_is_always_used() {
    let mut config = config();
    config.reflector.page_size = Some(7);
    let replay = Replay::new()
        .without_watch_list()
        .list(page(10, "", &["a"]))
        .watch(Response::refuse(expired()))
        .list(page(11, "", &["a"]));
    let _informer = start(&replay, config);
    let asked = replay.wait_for_requests(4).await;
    assert_eq!(list_at(&asked[0]), Some(("0", Some(7), "")));
    assert_eq!(list_at(&asked[2]), Some(("10", Some(7), "")));
}

#[tokio::test(start_paused = true)]
async fn a_table_is_not_a_list() {
    let table = r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","items":[{"metadata":{"name":"x"}}],"metadata":{"resourceVersion":"1"}}"#;
    let replay = Replay::new()
        .without_watch_list()
        .list(Response::bytes(table))
        .list(page(2, "", &["a"]));
    let informer = start(&replay, config());
    later().await;
    assert_eq!(names(&informer), ["a"]);
}

// With the reason, which client-go does not give.
#[tokio::test(start_paused = true)]
async fn waiting_for_sync_reports_the_obstacle() {
    let mut replay = Replay::new().without_watch_list();
    for _ in 0..50 {
        replay = replay.list(Response::refuse(status(403, "Forbidden")));
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

#[tokio::test(start_paused = true)]
async fn after_every_failed_cycle_there_is_a_pause_that_grows() {
    let mut replay = Replay::new().without_watch_list();
    for _ in 0..8 {
        replay = replay.list(Response::refuse(status(503, "ServiceUnavailable")));
    }
    let begin = tokio::time::Instant::now();
    let _informer = start(&replay, config());
    replay.wait_for_requests(8).await;
    let least = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0].iter().sum::<f64>();
    let passed = begin.elapsed().as_secs_f64();
    assert!((least..2.0 * least).contains(&passed), "{passed}");
}

// One curve for lists and watches: after watches have failed, a list does not begin with the shortest delay again.
#[tokio::test(start_paused = true)]
async fn lists_and_watches_share_one_backoff() {
    let mut replay = Replay::new().without_watch_list().list(page(5, "", &["a"]));
    for _ in 0..4 {
        replay = replay.watch(Response::no_connection());
    }
    replay = replay
        .watch(Response::refuse(expired()))
        .list(page(6, "", &["a"]));
    let _informer = start(&replay, config());
    replay.wait_for_requests(6).await;
    let begin = tokio::time::Instant::now();
    replay.wait_for_requests(7).await;
    let passed = begin.elapsed().as_secs_f64();
    assert!((12.8..25.6).contains(&passed), "{passed}");
}

#[tokio::test(start_paused = true)]
async fn an_informer_is_stopped_in_the_middle_of_a_list() {
    let half = Response::bytes("{\"items\":[").hangs();
    let replay = Replay::new().without_watch_list().list(half);
    let informer = start(&replay, config());
    replay.wait_for_requests(1).await;
    let waiting = {
        let informer = informer.clone();
        tokio::spawn(async move { informer.wait_for_sync(Duration::from_secs(3600)).await })
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    informer.stop();
    let begin = tokio::time::Instant::now();
    assert!(waiting.await.unwrap().is_err());
    assert_eq!(begin.elapsed(), Duration::ZERO);
    assert_eq!(replay.requests().len(), 1);
}
