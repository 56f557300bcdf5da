//! Watches that begin with the objects there are.

use std::time::Duration;

use kubewright_informer::replay::Replay;
use kubewright_informer::replay::Response;

use super::{bookmark, error, event, later, list_at, names, object, page, start, watch_at};
use crate::simulated::{config, expired, status};

#[tokio::test(start_paused = true)]
async fn a_watch_with_initial_events_fills_at_its_marker_and_continues() {
    let replay = Replay::new().watch(
        Response::bytes(event("ADDED", &object("a", 9)))
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
    let asked = replay.requests();
    assert_eq!(asked.len(), 1);
    assert_eq!(watch_at(&asked[0]), Some(("", true)));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_knows_no_initial_events_is_listed() {
    for refusal in [
        status(422, "Invalid"),
        status(403, "Forbidden"),
        status(500, "InternalError"),
    ] {
        let replay = Replay::new()
            .watch(Response::refuse(refusal))
            .list(page(4, "", &["a"]));
        let informer = start(&replay, config());
        let asked = replay.wait_for_requests(3).await;
        assert_eq!(list_at(&asked[1]), Some(("0", Some(500), "")));
        assert_eq!(watch_at(&asked[2]), Some(("4", false)));
        assert_eq!(names(&informer), ["a"]);
        assert_eq!(informer.metrics().watch_list_fallbacks, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_are_waited_for_and_an_expired_watch_list_is_not() {
    let busy = || Response::refuse_for(status(429, "TooManyRequests"), Duration::from_secs(100));
    let filled = || Response::bytes(event("ADDED", &object("a", 1)) + &bookmark(2, Some("true")));
    let replay = Replay::new()
        .watch(busy())
        .watch(Response::no_connection())
        .watch(filled().then(error(&expired())))
        .watch(Response::refuse(expired()))
        .watch(filled().hangs());
    let begin = tokio::time::Instant::now();
    let _informer = start(&replay, config());
    let asked = replay.wait_for_requests(3).await;
    assert!(begin.elapsed() >= Duration::from_secs(100));
    assert_eq!(watch_at(&asked[2]), Some(("", true)));
    let asked = replay.wait_for_requests(5).await;
    assert_eq!(watch_at(&asked[3]), Some(("2", true)));
    assert_eq!(watch_at(&asked[4]), Some(("", true)));
    assert!(asked.iter().all(|asked| list_at(asked).is_none()));
}

// Ours waits, and does not try forever.
#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_before_its_marker_twice_becomes_a_list() {
    let early = || Response::bytes(event("ADDED", &object("a", 1)));
    let replay = Replay::new()
        .watch(early())
        .watch(early())
        .list(page(3, "", &["a", "b"]));
    let begin = tokio::time::Instant::now();
    let informer = start(&replay, config());
    let asked = replay.wait_for_requests(4).await;
    assert!(begin.elapsed() >= Duration::from_millis(800));
    assert!(list_at(&asked[2]).is_some());
    assert_eq!(names(&informer), ["a", "b"]);
}

// Ours falls back.
#[tokio::test(start_paused = true)]
async fn a_marker_that_never_comes_becomes_a_list() {
    // Silent, and busy with live events: neither is waited for without end.
    let silent = Response::bytes(event("ADDED", &object("a", 1))).hangs();
    let mut busy = Response::bytes(event("ADDED", &object("a", 1)));
    for i in 0..100 {
        busy = busy
            .then(event("MODIFIED", &object("a", 10 + i)))
            .pause(Duration::from_secs(5));
    }
    for answer in [silent, busy] {
        let replay = Replay::new()
            .watch(answer)
            .list(page(3, "", &["a", "b"]))
            .watch(Response::refuse(expired()))
            .list(page(4, "", &["c"]));
        let informer = start(&replay, config());
        informer
            .wait_for_sync(Duration::from_secs(70))
            .await
            .unwrap();
        let asked = replay.wait_for_requests(5).await;
        // It is not tried again.
        assert!(list_at(&asked[3]).is_some());
        later().await;
        assert_eq!(names(&informer), ["c"]);
    }
}

// Ours transforms every object once, and reports what cannot be transformed.
#[tokio::test(start_paused = true)]
async fn an_object_is_transformed_once() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use kubewright_informer::Transform;

    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let transform = Transform::json(move |object| {
        counted.fetch_add(1, Ordering::SeqCst);
        assert!(object["metadata"]["name"] != "bad", "not this one");
        object["seen"] = serde_json::json!(true);
    });
    let replay = Replay::new().watch(
        Response::bytes(event("ADDED", &object("a", 1)))
            .then(event("ADDED", &object("bad", 2)))
            .then(bookmark(3, Some("true")))
            .then(event("MODIFIED", &object("a", 4)))
            .hangs(),
    );
    let mut config = config();
    config.transform = Some(transform);
    let informer = start(&replay, config);
    informer.wait_for("4").await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 3);
    assert_eq!(names(&informer), ["a"]);
    let a = informer.indexer().get("a").unwrap();
    assert!(String::from_utf8_lossy(&a.json()).contains("seen"));
    assert!(informer.last_rejected().unwrap().why.contains("panicked"));
}
