//! Lifetimes and the age of history, in paused time.

use std::time::Duration;

use kubewright_store::{COMPACTION_INTERVAL, MemoryStore, Payload, ReadError, Revision, Store};

use super::notified::{PODS, create, current, now, object, pod, update, view, watch};

fn mortal(says: &str, seconds: u64) -> Payload {
    Payload {
        ttl: Some(Duration::from_secs(seconds)),
        ..object(says)
    }
}

fn kept(store: &MemoryStore) -> impl Future<Output = ()> + 'static {
    let store = store.clone();
    async move { store.run_maintenance().await }
}

#[tokio::test(start_paused = true)]
async fn lifetimes_end_in_order_and_at_their_time() {
    let store = MemoryStore::new();
    let maintenance = tokio::spawn(kept(&store));
    let start = tokio::time::Instant::now();
    for (path, seconds) in [("c", 30), ("a", 10), ("b", 20)] {
        store
            .create(pod(path), mortal("x", seconds))
            .await
            .expect("created");
    }
    let mut watch = watch(&store, "", 3);
    for (revision, (path, seconds)) in (4..).zip([("a", 10), ("b", 20), ("c", 30)]) {
        let change = watch.next().await.expect("changes").remove(0);
        assert_eq!(&*change.entry.path, path);
        assert_eq!(change.revision, Revision(revision));
        let late = start.elapsed() - Duration::from_secs(seconds);
        assert!(late < Duration::from_millis(10), "{late:?} late");
    }
    store.close();
    maintenance.await.expect("it ends with the store");
}

#[tokio::test(start_paused = true)]
async fn a_shorter_lifetime_is_noticed_while_waiting_for_a_longer() {
    let store = MemoryStore::new();
    tokio::spawn(kept(&store));
    store
        .create(pod("long"), mortal("x", 100))
        .await
        .expect("created");
    tokio::time::sleep(Duration::from_secs(1)).await;
    store
        .create(pod("short"), mortal("x", 5))
        .await
        .expect("created");
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert!(
        view(&store, PODS, current(&store))
            .unwrap()
            .contains_key("long")
    );
    assert!(
        !view(&store, PODS, current(&store))
            .unwrap()
            .contains_key("short")
    );
}

#[tokio::test(start_paused = true)]
async fn without_maintenance_nothing_goes_away_and_all_else_works() {
    let store = MemoryStore::new();
    let entry = store
        .create(pod("a"), mortal("x", 1))
        .await
        .expect("created");
    tokio::time::advance(Duration::from_secs(60)).await;
    assert!(store.get(&pod("a")).await.expect("read").is_some());
    update(&store, &entry, "y");
    assert_eq!(store.expire_due(), 0, "the update ended the lifetime");
}

#[tokio::test(start_paused = true)]
async fn the_same_bytes_with_the_same_lifetime_write_nothing_and_with_another_something() {
    let store = MemoryStore::new();
    let first = store
        .create(pod("a"), mortal("x", 10))
        .await
        .expect("created");
    tokio::time::advance(Duration::from_secs(6)).await;
    let same = store
        .update(pod("a"), first.revision, mortal("x", 10))
        .await
        .unwrap();
    assert!(!same.changed);
    let longer = store
        .update(pod("a"), first.revision, mortal("x", 20))
        .await
        .unwrap();
    assert!(longer.changed);
    tokio::time::advance(Duration::from_secs(19)).await;
    assert_eq!(store.expire_due(), 0);
    let ever = store
        .update(pod("a"), longer.entry.revision, object("x"))
        .await
        .unwrap();
    assert!(ever.changed);
    tokio::time::advance(Duration::from_secs(1000)).await;
    assert_eq!(store.expire_due(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_lifetime_ends_in_a_fork_as_in_its_original() {
    let store = MemoryStore::new();
    store
        .create(pod("a"), mortal("x", 10))
        .await
        .expect("created");
    let fork = store.fork();
    tokio::time::advance(Duration::from_secs(11)).await;
    assert_eq!(fork.expire_due(), 1);
    assert!(now(fork.get(&pod("a"))).unwrap().is_none());
    assert!(now(store.get(&pod("a"))).unwrap().is_some());
    assert_eq!(store.expire_due(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_longest_lifetime_never_ends() {
    let store = MemoryStore::new();
    let payload = Payload {
        ttl: Some(Duration::MAX),
        ..object("x")
    };
    store.create(pod("a"), payload).await.expect("created");
    tokio::time::advance(Duration::from_secs(1 << 30)).await;
    assert_eq!(store.expire_due(), 0);
}

#[tokio::test(start_paused = true)]
async fn history_is_forgotten_when_it_is_too_old() {
    let store = MemoryStore::new();
    tokio::spawn(kept(&store));
    let mut entry = create(&store, "a", "x");
    tokio::task::yield_now().await;
    for n in 0..2000 {
        entry = update(&store, &entry, n);
    }
    tokio::time::sleep(Duration::from_secs(300)).await;
    let young = update(&store, &entry, "young");
    assert!(view(&store, PODS, 1).is_ok());
    tokio::time::sleep(Duration::from_secs(400)).await;
    let error = view(&store, PODS, 1).expect_err("ten minutes are over");
    assert!(matches!(error, ReadError::Compacted { floor, .. } if floor == entry.revision));
    assert!(view(&store, PODS, entry.revision.0).is_ok());
    assert_eq!(current(&store), young.revision.0);
}

#[tokio::test(start_paused = true)]
async fn past_states_are_compacted_while_nothing_happens() {
    let store = MemoryStore::new();
    let (owner, interval) = (store.clone(), COMPACTION_INTERVAL);
    tokio::spawn(async move { owner.run_compaction(interval).await });
    let first = store.create(pod("a"), object("x")).await.expect("created");
    let old = first.revision;
    tokio::time::sleep(interval + Duration::from_secs(1)).await;
    assert!(store.snapshot(Some(old)).await.is_ok(), "one interval");
    tokio::time::sleep(interval).await;
    let refused = store.snapshot(Some(old)).await.err();
    assert!(
        matches!(refused, Some(ReadError::Compacted { requested, floor }) if requested == old && floor > old),
        "{refused:?}"
    );
    let newest = store.current().await.expect("a revision");
    assert!(store.snapshot(Some(newest)).await.is_ok());
    // A watch of that time goes on without a gap.
    let mut watch = watch(&store, "", old.0);
    let second = store.create(pod("b"), object("x")).await.expect("created");
    let change = watch.next().await.expect("changes").remove(0);
    assert_eq!(change.revision, second.revision);
}
