//! Watches that go on from a revision.

use std::time::Duration;

use kubewright_informer::replay::{RecordedRequest, Response};
use kubewright_informer::{RelistCause, replay::Replay};

use super::{bookmark, error, event, later, list_at, names, object, page, start, watch_at};
use crate::simulated::{config, status};

#[tokio::test(start_paused = true)]
async fn watches_last_between_five_and_ten_minutes() {
    let mut replay = Replay::new().without_watch_list().list(page(1, "", &[]));
    for i in 0..30 {
        replay =
            replay.watch(Response::bytes(bookmark(10 + i, None)).pause(Duration::from_secs(10)));
    }
    let _informer = start(&replay, config());
    let asked = replay.wait_for_requests(30).await;
    let mut seen = std::collections::HashSet::new();
    for asked in &asked {
        if let RecordedRequest::Watch(watch) = asked {
            assert!((300..=600).contains(&watch.timeout.as_secs()));
            seen.insert(watch.timeout);
        }
    }
    assert!(seen.len() > 10);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_cannot_be_opened_now_is_opened_later_without_a_list() {
    let replay = Replay::new()
        .without_watch_list()
        .list(page(5, "", &["a"]))
        .watch(Response::no_connection())
        .watch(Response::refuse(status(429, "TooManyRequests")))
        .watch(Response::bytes(event("DELETED", &object("a", 6))).hangs());
    let informer = start(&replay, config());
    let asked = replay.wait_for_requests(4).await;
    assert!(
        asked[1..]
            .iter()
            .all(|asked| watch_at(asked) == Some(("5", false)))
    );
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(names(&informer).is_empty());
    assert_eq!(informer.metrics().total_relists(), 0);
}

#[tokio::test(start_paused = true)]
async fn bookmarks_move_the_revision_of_the_next_watch_and_of_the_cache() {
    let replay = Replay::new()
        .without_watch_list()
        .list(page(5, "", &["a"]))
        .watch(Response::bytes(bookmark(50, None)).pause(Duration::from_secs(2)));
    let informer = start(&replay, config());
    let asked = replay.wait_for_requests(3).await;
    assert_eq!(watch_at(&asked[2]), Some(("50", false)));
    assert_eq!(informer.resource_version().as_deref(), Some("50"));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_is_resumed_and_one_that_ends_at_once_is_not() {
    let replay = Replay::new()
        .without_watch_list()
        .list(page(5, "", &["a"]))
        .watch(Response::bytes(event("ADDED", &object("b", 6))))
        .watch(Response::bytes("").pause(Duration::from_secs(2)))
        .watch(Response::empty())
        .list(page(9, "", &["c"]));
    let informer = start(&replay, config());
    let asked = replay.wait_for_requests(6).await;
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
        replay = replay.watch(Response::bytes(bookmark(10 + i, None)));
    }
    let begin = tokio::time::Instant::now();
    let _informer = start(&replay, config());
    replay.wait_for_requests(15).await;
    assert!(
        begin.elapsed() > Duration::from_secs(60),
        "{:?}",
        begin.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_in_the_stream_cause_no_list() {
    let busy = error(&status(429, "TooManyRequests"));
    let replay = Replay::new()
        .without_watch_list()
        .list(page(5, "", &["a"]))
        .watch(Response::bytes(event("ADDED", &object("b", 6))).then(busy));
    let informer = start(&replay, config());
    let asked = replay.wait_for_requests(3).await;
    assert_eq!(watch_at(&asked[2]), Some(("6", false)));
    assert_eq!(informer.metrics().total_relists(), 0);
}

#[tokio::test(start_paused = true)]
async fn internal_errors_cause_no_list_for_as_long_as_is_said() {
    let internal = || {
        let text = event("ADDED", &object("b", 6)) + &error(&status(500, "InternalError"));
        Response::bytes("").pause(Duration::from_secs(2)).then(text)
    };
    let lists = |replay: &Replay| {
        replay
            .requests()
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

#[tokio::test(start_paused = true)]
async fn an_object_that_the_server_cannot_read_disappears_by_a_list() {
    let replay = Replay::new()
        .without_watch_list()
        .list(page(5, "", &["a", "broken"]))
        .watch(Response::bytes(error(&status(500, "StoreReadError"))))
        .list(page(6, "", &["a"]));
    let informer = start(&replay, config());
    later().await;
    assert_eq!(names(&informer), ["a"]);
}

// An object that cannot be cached moves nothing.
#[tokio::test(start_paused = true)]
async fn uncacheable_objects_are_reported_and_do_not_move_the_revision() {
    let replay = Replay::new()
        .without_watch_list()
        .list(page(5, "", &["a"]))
        .watch(
            Response::bytes(event(
                "ADDED",
                r#"{"kind":"Gadget","metadata":{"name":"x","resourceVersion":"9"}}"#,
            ))
            .pause(Duration::from_secs(2)),
        );
    let informer = start(&replay, config());
    let asked = replay.wait_for_requests(3).await;
    assert_eq!(watch_at(&asked[2]), Some(("5", false)));
    assert_eq!(informer.metrics().rejected, 1);
    assert!(informer.last_rejected().unwrap().why.contains("Gadget"));
    assert_eq!(names(&informer), ["a"]);
}

// Ours: a watch that goes silent is noticed.
#[tokio::test(start_paused = true)]
async fn a_silent_watch_is_resumed_where_it_ended() {
    let replay = Replay::new()
        .without_watch_list()
        .list(page(5, "", &["a"]))
        .watch(Response::bytes(event("ADDED", &object("b", 6))).hangs())
        .watch(Response::bytes(event("ADDED", &object("c", 7))).hangs());
    let informer = start(&replay, config());
    let asked = replay.wait_for_requests(3).await;
    assert_eq!(watch_at(&asked[2]), Some(("6", false)));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(names(&informer), ["a", "b", "c"]);
    assert_eq!(informer.metrics().silent_watches, 1);
}

// A watch from no revision sends what is there, in no order; only then revisions count.
#[tokio::test(start_paused = true)]
async fn objects_without_a_revision_do_not_move_it() {
    let replay = Replay::new()
        .without_watch_list()
        .list(Response::bytes(
            r#"{"kind":"WidgetList","metadata":{},"items":[]}"#,
        ))
        .watch(
            Response::bytes(event("ADDED", &object("a", 90)))
                .then(event("ADDED", &object("b", 7)))
                .pause(Duration::from_secs(2)),
        )
        .watch(
            Response::bytes(event("ADDED", &object("a", 90)))
                .then(event("MODIFIED", &object("b", 91)))
                .then(event("ADDED", &object("c", 92)))
                .pause(Duration::from_secs(2)),
        );
    let informer = start(&replay, config());
    let asked = replay.wait_for_requests(4).await;
    assert_eq!(watch_at(&asked[1]), Some(("", false)));
    assert_eq!(watch_at(&asked[2]), Some(("", false)));
    assert_eq!(watch_at(&asked[3]), Some(("92", false)));
    assert_eq!(names(&informer), ["a", "b", "c"]);
}

// Ours: a server that was restored from a backup is noticed by its bookmarks.
#[tokio::test(start_paused = true)]
async fn a_bookmark_that_goes_backwards_lists_the_newest() {
    let replay = Replay::new()
        .without_watch_list()
        .list(page(50, "", &["a", "lost"]))
        .watch(
            Response::bytes(bookmark(50, None))
                .then(bookmark(49, None))
                .hangs(),
        )
        .list(page(49, "", &["a"]));
    let informer = start(&replay, config());
    let asked = replay.wait_for_requests(4).await;
    assert_eq!(list_at(&asked[2]), Some(("", Some(500), "")));
    assert_eq!(watch_at(&asked[3]), Some(("49", false)));
    assert_eq!(names(&informer), ["a"]);
    assert_eq!(informer.metrics().relists(RelistCause::Backwards), 1);
}

// Without a revision nobody can say that nothing has changed.
#[tokio::test(start_paused = true)]
async fn an_object_without_a_revision_is_always_reported() {
    use kubewright_informer::{Cause, Event, SubscribeOptions};

    let bare = r#"{"metadata":{"name":"a","uid":"a"}}"#;
    let twice = event("ADDED", bare) + &event("MODIFIED", bare);
    let replay = Replay::new()
        .without_watch_list()
        .list(page(5, "", &["b"]))
        .watch(Response::bytes(twice).hangs());
    let informer = start(&replay, config());
    let mut events = informer.subscribe(SubscribeOptions::default());
    let mut told = Vec::new();
    while told.len() < 3 {
        told.push(events.next().await.unwrap());
    }
    let cause = match &told[2] {
        Event::Updated { cause, .. } => *cause,
        other => panic!("{other:?}"),
    };
    assert_eq!(cause, Cause::Change);
}
