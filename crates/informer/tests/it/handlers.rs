//! Readers: when they come, what they receive, how far they may fall behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kube::core::DynamicObject;
use kubewright_informer::{Buffer, Cause, Event, InformerConfig, SharedInformer, SubscribeOptions};
use parking_lot::Mutex;

use crate::history::History;
use crate::simulated::{Fault, Server, config, converged, expired, widgets};

fn options() -> SubscribeOptions {
    SubscribeOptions::default()
}

fn filled(count: usize) -> Server {
    let server = Server::new(3);
    (0..count).for_each(|i| server.put(&format!("w{i}")));
    server
}

async fn settle() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}

#[tokio::test(start_paused = true)]
async fn a_late_handler_is_shown_everything_once() {
    let server = filled(20);
    let (informer, history, _first) = server.informer(config());
    converged(&server, &informer, &history).await;
    server.put("w3");
    server.delete("w4");
    converged(&server, &informer, &history).await;
    let (late, registration) = History::of(&informer, options());
    assert!(!registration.has_synced());
    server.put("w5");
    assert!(registration.synced().await);
    converged(&server, &informer, &late).await;
    assert_eq!(
        late.told()
            .iter()
            .filter(|l| l.contains("(initial)"))
            .count(),
        19
    );
    late.assert_consistent();
}

#[tokio::test(start_paused = true)]
async fn handlers_come_and_go_while_things_change() {
    let server = filled(30);
    let (informer, history, _first) = server.informer(config());
    let mut others = Vec::new();
    for i in 0..60 {
        server.put(&format!("w{}", i % 37));
        if i % 3 == 0 {
            server.delete(&format!("w{}", i % 11));
        }
        let buffer = [Buffer::Unbounded, Buffer::Bounded(2), Buffer::Coalesce][i % 3];
        others.push(History::of(&informer, options().buffer(buffer)));
        if i % 5 == 4 {
            let (history, registration) = others.remove(0);
            registration.shut_down().await;
            history.assert_consistent();
        }
        tokio::time::sleep(Duration::from_millis(7 * (i as u64 % 4))).await;
    }
    converged(&server, &informer, &history).await;
    for (history, registration) in &others {
        converged(&server, &informer, history).await;
        assert!(registration.has_synced());
        assert_eq!(registration.depth(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_has_synced_when_it_has_dealt_with_the_first_list() {
    for buffer in [Buffer::Unbounded, Buffer::Bounded(4), Buffer::Coalesce] {
        let server = filled(10);
        let informer = SharedInformer::<DynamicObject>::new(
            widgets(),
            vec![Arc::new(server.clone())],
            config(),
        );
        let mut subscription = informer.subscribe(options().buffer(buffer));
        informer.start();
        for _ in 0..10 {
            assert!(subscription.next().await.is_some());
            assert!(!subscription.has_synced(), "{buffer:?}");
        }
        assert!(informer.has_synced());
        // Asking for more says that the tenth was dealt with.
        let more = tokio::time::timeout(Duration::from_secs(1), subscription.next()).await;
        assert!(more.is_err());
        assert!(subscription.has_synced(), "{buffer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_syncs_too() {
    let server = filled(0);
    let (informer, _history, registration) = server.informer(config());
    informer
        .wait_for_sync(Duration::from_secs(5))
        .await
        .unwrap();
    assert!(registration.synced().await);
}

#[tokio::test(start_paused = true)]
async fn a_removed_handler_receives_no_more_events() {
    let server = filled(3);
    let (informer, history, _kept) = server.informer(config());
    converged(&server, &informer, &history).await;
    let (removed, registration) = History::of(&informer, options());
    registration.synced().await;
    registration.remove();
    registration.remove();
    registration.shut_down().await;
    server.put("w1");
    converged(&server, &informer, &history).await;
    assert_eq!(removed.told().len(), 3);
    assert_eq!(informer.metrics().handlers.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_contained_and_reported() {
    let server = filled(5);
    let (informer, history, _other) = server.informer(config());
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let registration = informer.add_handler_with(
        options().name("clumsy"),
        move |event: Event<DynamicObject>| {
            counted.fetch_add(1, Ordering::SeqCst);
            assert!(event.key().name() != "w2", "not this one");
        },
    );
    assert!(registration.synced().await);
    converged(&server, &informer, &history).await;
    assert_eq!(calls.load(Ordering::SeqCst), 5);
    let panic = informer.last_panic().unwrap();
    assert_eq!(
        (&*panic.handler, &*panic.key, &*panic.message),
        ("clumsy", "ns/w2", "not this one")
    );
    assert_eq!(informer.metrics().handler_panics, 1);
}

#[tokio::test(start_paused = true)]
async fn a_resync_shows_everything_to_those_who_asked() {
    let server = filled(4);
    let (informer, history, _handler) = server.informer(config());
    let every = Duration::from_secs(30);
    let (resynced, _registration) = History::of(&informer, options().resync(every));
    // Less than a second is a second.
    let (hasty, _hasty) = History::of(&informer, options().resync(Duration::from_millis(1)));
    converged(&server, &informer, &history).await;
    tokio::time::sleep(Duration::from_secs(95)).await;
    let resyncs = |h: &History| h.told().iter().filter(|l| l.ends_with("Resync")).count();
    assert_eq!(resyncs(&resynced), 3 * 4);
    assert!(
        (90 * 4..=96 * 4).contains(&resyncs(&hasty)),
        "{}",
        resyncs(&hasty)
    );
    assert_eq!(resyncs(&history), 0);
    resynced.assert_consistent();
    hasty.assert_consistent();
    assert_eq!(server.lists().len(), 0);
    assert_eq!(server.watches().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_relist_reports_changes_and_resyncs_the_rest() {
    let server = filled(4);
    let (informer, history, _handler) = server.informer(config());
    let (resynced, _registration) =
        History::of(&informer, options().resync(Duration::from_secs(86_400)));
    converged(&server, &informer, &history).await;
    let before = history.told().len();
    server.fail_watches([Fault::Refuse(expired())]);
    server.disconnect();
    server.put("w1");
    converged(&server, &informer, &history).await;
    converged(&server, &informer, &resynced).await;
    assert_eq!(history.told().len(), before + 1);
    assert_eq!(
        resynced
            .told()
            .iter()
            .filter(|l| l.ends_with("Relist"))
            .count(),
        3
    );
}

#[tokio::test(start_paused = true)]
async fn another_uid_under_the_same_name_is_reported() {
    let server = filled(1);
    let (informer, history, _handler) = server.informer(config());
    converged(&server, &informer, &history).await;
    server.recreate("w0");
    converged(&server, &informer, &history).await;
    assert!(history.told().last().unwrap().ends_with("Recreated"));
}

// The cache has changed before a handler is called.
#[tokio::test(start_paused = true)]
async fn the_cache_is_ahead_of_its_readers() {
    let server = filled(3);
    let informer =
        SharedInformer::<DynamicObject>::new(widgets(), vec![Arc::new(server.clone())], config());
    let lister = informer.lister();
    let wrong = Arc::new(Mutex::new(Vec::new()));
    let noted = wrong.clone();
    let _handler = informer.add_handler(move |event: Event<DynamicObject>| {
        let cached = lister.cached(event.key());
        let there = !matches!(event, Event::Deleted { .. });
        if cached.is_some() != there {
            noted.lock().push(format!("{event:?}"));
        }
    });
    informer.start();
    informer
        .wait_for_sync(Duration::from_secs(5))
        .await
        .unwrap();
    for i in 0..10 {
        server.put(&format!("x{i}"));
        settle().await;
        server.delete(&format!("x{i}"));
        settle().await;
    }
    assert!(wrong.lock().is_empty(), "{:?}", wrong.lock());
}

#[test]
fn a_filter_turns_updates_into_what_they_mean() {
    use kubewright_informer::Cached;
    use kubewright_informer::{Compression, Ingest, ObjectKind};
    let ingest = Ingest::new(ObjectKind::new(widgets(), Compression::None));
    let object = |app: &str| {
        let json = format!(r#"{{"metadata":{{"name":"a","labels":{{"app":"{app}"}}}}}}"#);
        Cached::<DynamicObject>::new(ingest.object(json.as_bytes()).unwrap())
    };
    let passes = |o: &Cached<DynamicObject>| o.label("app").as_deref() == Some("in");
    let update = |old, new| Event::Updated {
        old: object(old),
        object: object(new),
        cause: Cause::Change,
    };
    assert!(matches!(
        update("in", "in").filtered(passes),
        Some(Event::Updated { .. })
    ));
    assert!(matches!(
        update("out", "in").filtered(passes),
        Some(Event::Added { initial: false, .. })
    ));
    assert!(matches!(
        update("in", "out").filtered(passes),
        Some(Event::Deleted { .. })
    ));
    assert!(update("out", "out").filtered(passes).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_stopped_informer_ends_its_readers_and_does_not_start_again() {
    let server = filled(2);
    let (informer, history, _handler) = server.informer(config());
    converged(&server, &informer, &history).await;
    let mut subscription = informer.subscribe(options());
    informer.stop();
    while subscription.next().await.is_some() {}
    informer.start();
    assert!(informer.is_stopped());
    let mut late = informer.subscribe(options());
    assert!(late.next().await.is_some());
    assert!(late.next().await.is_some());
    assert!(late.next().await.is_none());
    assert!(informer.wait_for("999999").await.is_err());
}

#[tokio::test(start_paused = true)]
async fn the_last_user_ends_the_watch() {
    let server = filled(2);
    let (informer, history, handler) = server.informer(InformerConfig::default());
    converged(&server, &informer, &history).await;
    drop(informer);
    server.put("w9");
    tokio::time::sleep(Duration::from_secs(1)).await;
    // The handler is a user.
    assert_eq!(history.model(), server.model());
    handler.shut_down().await;
    let watches = server.watches().len();
    server.disconnect();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(server.watches().len(), watches);
}

// The deletion that a list found out has the last state that was known, and says so.
#[tokio::test(start_paused = true)]
async fn a_deletion_that_a_list_found_out_says_so() {
    let server = filled(3);
    let (informer, history, _handler) = server.informer(config());
    converged(&server, &informer, &history).await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let noted = told.clone();
    let _handler = informer.add_handler(move |event: Event<DynamicObject>| {
        if let Event::Deleted {
            object: last,
            exact,
        } = event
        {
            let what = format!("{}@{}", last.key(), last.resource_version());
            noted.lock().push((what, exact));
        }
    });
    let before = server.model()["ns/w1"].1.clone();
    server.delete("w0");
    converged(&server, &informer, &history).await;
    let seen = server.version().to_string();
    server.fail_watches([Fault::Refuse(expired())]);
    server.disconnect();
    server.put("w1");
    server.delete("w1");
    converged(&server, &informer, &history).await;
    settle().await;
    assert_eq!(
        *told.lock(),
        [
            (format!("ns/w0@{seen}"), true),
            (format!("ns/w1@{before}"), false)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_is_added_twice_is_called_twice() {
    let server = filled(3);
    let (informer, history, _handler) = server.informer(config());
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let handler = move |_: Event<DynamicObject>| {
        counted.fetch_add(1, Ordering::SeqCst);
    };
    let one = informer.add_handler(handler.clone());
    let two = informer.add_handler(handler);
    assert!(one.synced().await && two.synced().await);
    assert_eq!(calls.load(Ordering::SeqCst), 6);
    one.shut_down().await;
    server.put("w1");
    converged(&server, &informer, &history).await;
    settle().await;
    assert_eq!(calls.load(Ordering::SeqCst), 7);
}

// One that has not received anything yet ends as well.
#[tokio::test(start_paused = true)]
async fn a_handler_ends_though_the_informer_never_started() {
    let server = filled(1);
    let informer =
        SharedInformer::<DynamicObject>::new(widgets(), vec![Arc::new(server.clone())], config());
    for buffer in [Buffer::Unbounded, Buffer::Coalesce, Buffer::Bounded(1)] {
        let handler =
            informer.add_handler_with(options().buffer(buffer), |_: Event<DynamicObject>| {});
        settle().await;
        handler.shut_down().await;
        assert!(!handler.synced().await);
    }
    assert!(informer.metrics().handlers.is_empty());
}

// The report names the object, be it of the replay, of a change, or one that waited merged.
#[tokio::test(start_paused = true)]
async fn a_panic_names_its_object() {
    let server = filled(2);
    let (informer, history, _other) = server.informer(config());
    converged(&server, &informer, &history).await;
    for buffer in [Buffer::Unbounded, Buffer::Coalesce] {
        let handler =
            informer.add_handler_with(options().buffer(buffer), |event: Event<DynamicObject>| {
                assert!(!matches!(&event, Event::Added { object, .. } if object.name() == "w1"));
                assert!(!matches!(event, Event::Updated { .. }));
            });
        assert!(handler.synced().await);
        assert_eq!(informer.last_panic().unwrap().key, "ns/w1");
        server.put("w0");
        converged(&server, &informer, &history).await;
        settle().await;
        assert_eq!(informer.last_panic().unwrap().key, "ns/w0");
        handler.shut_down().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_drained_once_the_last_event_was_dealt_with() {
    for buffer in [Buffer::Unbounded, Buffer::Bounded(10), Buffer::Coalesce] {
        let server = filled(2);
        let (informer, history, _first) = server.informer(config());
        let mut events = informer.subscribe(options().buffer(buffer));
        let progress = events.progress();
        converged(&server, &informer, &history).await;
        assert!(!progress.is_drained(), "{buffer:?}: two events wait");
        assert!(!progress.has_synced());
        events.next().await.unwrap();
        events.next().await.unwrap();
        assert_eq!(progress.depth(), 0);
        assert!(!progress.is_drained(), "{buffer:?}: the second is in hand");
        assert!(events.try_next_event().is_none());
        assert!(progress.is_drained() && progress.has_synced(), "{buffer:?}");
        server.put("w0");
        converged(&server, &informer, &history).await;
        assert!(!progress.is_drained(), "{buffer:?}");
        drop(events);
        assert!(progress.is_drained(), "{buffer:?}: nobody reads");
    }
}
