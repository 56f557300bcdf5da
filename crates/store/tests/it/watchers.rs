//! Watchers: the slow, the quiet, the many, and the end.

use std::time::Duration;

use futures_util::FutureExt;
use kubewright_store::{Limits, MemoryStore, Revision, Store, WatchError};

use super::notified::{create, current, delete, drain, now, object, pod, update, watch};

fn limited(limits: Limits) -> MemoryStore {
    MemoryStore::with_limits(Revision(0), limits)
}

#[test]
fn a_slow_watcher_loses_only_itself() {
    let store = limited(Limits {
        max_lag: 10,
        ..Limits::default()
    });
    let mut slow = watch(&store, "", 0);
    let mut quick = watch(&store, "", 0);
    let mut told = 0;
    for n in 0..30 {
        create(&store, &format!("a-{n}"), "x");
        told += drain(&mut *quick).0.len();
    }
    assert_eq!(told, 30);
    for _ in 0..2 {
        let (changes, error) = drain(&mut *slow);
        assert!(changes.is_empty());
        assert!(matches!(error, Some(WatchError::Lagged { .. })));
    }
    create(&store, "b", "x");
    assert_eq!(drain(&mut *quick).0.len(), 1);
    assert_eq!(drain(&mut *watch(&store, "", 0)).0.len(), 31);
}

#[test]
fn a_watcher_may_be_as_far_behind_as_the_limit() {
    let store = limited(Limits {
        max_lag: 10,
        ..Limits::default()
    });
    let mut just = watch(&store, "", 0);
    (0..10).for_each(|n| drop(create(&store, &format!("a-{n}"), "x")));
    let (changes, error) = drain(&mut *just);
    assert_eq!((changes.len(), error.is_none()), (10, true));
}

#[test]
fn a_watcher_that_starts_far_back_may_catch_up() {
    let store = limited(Limits {
        max_lag: 10,
        ..Limits::default()
    });
    (0..2000).for_each(|n| drop(create(&store, &format!("a-{n}"), "x")));
    let mut late = watch(&store, "", 0);
    (0..10).for_each(|n| drop(create(&store, &format!("b-{n}"), "x")));
    let (changes, error) = drain(&mut *late);
    assert_eq!((changes.len(), error.is_none()), (2010, true));
    // From now on it is like any other.
    (0..11).for_each(|n| drop(create(&store, &format!("c-{n}"), "x")));
    assert!(matches!(
        drain(&mut *late).1,
        Some(WatchError::Lagged { .. })
    ));
}

#[test]
fn a_quiet_watcher_is_not_lost_however_much_happens_elsewhere() {
    let store = limited(Limits {
        max_changes: 3,
        max_lag: 2,
        ..Limits::default()
    });
    let mut quiet = watch(&store, "quiet/", 0);
    assert!(quiet.next().now_or_never().is_none());
    let mut entry = create(&store, "busy/a", "x");
    for n in 0..5000 {
        entry = update(&store, &entry, n);
    }
    store.compact_now();
    assert_eq!(quiet.progress().0, current(&store));
    entry = update(&store, &entry, "more");
    update(&store, &entry, "and more");
    let wanted = create(&store, "quiet/a", "x");
    let (changes, error) = drain(&mut *quiet);
    assert!(error.is_none());
    assert_eq!(changes[0].revision, wanted.revision);
}

#[test]
fn a_watcher_that_was_woken_and_did_not_look_is_not_passed_over() {
    // The change it was woken for is trimmed before it looks: it must learn that, not skip the change.
    let store = limited(Limits {
        max_changes: 3,
        ..Limits::default()
    });
    let mut sleepy = watch(&store, "a/", 0);
    assert!(sleepy.next().now_or_never().is_none());
    create(&store, "a/x", "x");
    let mut entry = create(&store, "b/x", "x");
    for n in 0..10 {
        entry = update(&store, &entry, n);
    }
    let (changes, error) = drain(&mut *sleepy);
    assert!(changes.is_empty());
    assert!(matches!(error, Some(WatchError::Lagged { .. })));
    assert!(sleepy.progress() < Revision(1));
}

#[test]
fn compaction_leaves_watchers_what_they_have_yet_to_read() {
    let store = MemoryStore::new();
    let mut unread = watch(&store, "", 0);
    let mut waiting = watch(&store, "", 0);
    assert!(waiting.next().now_or_never().is_none());
    let entry = create(&store, "a", "x");
    delete(&store, &entry);
    assert_eq!(store.compact_now(), Revision(2));
    assert_eq!(drain(&mut *unread).0.len(), 2);
    assert_eq!(drain(&mut *waiting).0.len(), 2);
    assert!(now(store.watch("pods", "", Revision(1))).is_err());
}

#[test]
fn closing_ends_watches_after_all_events() {
    let store = MemoryStore::new();
    let mut behind = watch(&store, "", 0);
    create(&store, "a", "x");
    store.close();
    let (changes, error) = drain(&mut *behind);
    assert_eq!(changes.len(), 1);
    assert!(matches!(error, Some(WatchError::Closed)));
    // Reads and writes go on, and a watch begun now ends at once.
    create(&store, "b", "x");
    let (changes, error) = drain(&mut *watch(&store, "", 1));
    assert_eq!(changes.len(), 1);
    assert!(matches!(error, Some(WatchError::Closed)));
}

#[tokio::test]
async fn closing_wakes_those_that_wait() {
    let store = MemoryStore::new();
    let mut watch = watch(&store, "", 0);
    let waiting = tokio::spawn(async move { watch.next().await.map(|changes| changes.len()) });
    tokio::task::yield_now().await;
    store.close();
    assert!(matches!(waiting.await.unwrap(), Err(WatchError::Closed)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_watchers_are_notified() {
    let store = MemoryStore::new();
    let tasks: Vec<_> = (0..300)
        .map(|n| {
            let mut watch = watch(&store, ["", "a/", "b/"][n % 3], 0);
            let expected = [200, 100, 100][n % 3];
            tokio::spawn(async move {
                let mut told = 0;
                while told < expected {
                    told += watch.next().await.expect("changes").len();
                }
                assert_eq!(told, expected);
            })
        })
        .collect();
    for n in 0..200 {
        let path = format!("{}/x-{n}", ["a", "b"][n % 2]);
        store
            .create(pod(&path), object("x"))
            .await
            .expect("created");
        if n % 10 == 0 {
            tokio::task::yield_now().await;
        }
    }
    for task in tasks {
        let told = tokio::time::timeout(Duration::from_secs(60), task).await;
        told.expect("a watcher was forgotten")
            .expect("every change");
    }
}

#[test]
fn a_runtime_that_ends_loses_no_wakeup() {
    let store = MemoryStore::new();
    let waiting: Vec<_> = (0..50).map(|_| watch(&store, "", 0)).collect();
    let survivor = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let tasks: Vec<_> = waiting
        .into_iter()
        .map(|mut watch| survivor.spawn(async move { watch.next().await.map(|told| told.len()) }))
        .collect();
    survivor.block_on(tokio::task::yield_now());
    // So many wait that the wakeup is left to a task, and this runtime ends before it runs.
    let brief = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    brief.block_on(async { create(&store, "a", "x") });
    drop(brief);
    survivor.block_on(async {
        for task in tasks {
            assert_eq!(task.await.expect("the watcher ends").expect("changes"), 1);
        }
    });
}

#[test]
fn payloads_are_returned_as_they_were_written() {
    let store = MemoryStore::new();
    let mut payload = object("x");
    payload.decoded = Some(std::sync::Arc::new("labels".to_owned()));
    let entry = now(store.create(pod("a"), payload)).expect("created");
    delete(&store, &entry);
    for change in drain(&mut *watch(&store, "", 0)).0 {
        let decoded = change.entry.decoded.clone().expect("a decoded form");
        assert_eq!(decoded.downcast_ref::<String>().unwrap(), "labels");
    }
}

#[test]
fn a_batch_is_small_however_far_behind_the_watcher_is() {
    let store = MemoryStore::new();
    let mut late = watch(&store, "", 0);
    let large = "x".repeat(10_000);
    (0..20).for_each(|n| drop(create(&store, &format!("a-{n}"), &large)));
    create(&store, "b", "x".repeat(100_000));
    let mut changes = 0;
    while changes < 21 {
        let batch = late
            .next()
            .now_or_never()
            .expect("changes")
            .expect("no error");
        let bytes: usize = batch.iter().map(|change| change.entry.bytes.len()).sum();
        assert!(bytes <= 32 << 10 || batch.len() == 1, "{bytes} bytes");
        changes += batch.len();
    }
}
