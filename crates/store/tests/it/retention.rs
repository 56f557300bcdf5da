//! History within its limits, and no further.

use kubewright_store::{Key, Limits, MemoryStore, Payload, ReadError, Revision, Store};

use super::notified::{PODS, create, current, delete, now, object, update, view};

fn limited(limits: Limits) -> MemoryStore {
    MemoryStore::with_limits(Revision(0), limits)
}

/// The oldest revision at which pods can be read.
fn oldest(store: &MemoryStore) -> u64 {
    (0..=current(store))
        .find(|at| view(store, PODS, *at).is_ok())
        .expect("the newest can be read")
}

#[test]
fn no_more_changes_are_kept_than_the_limit() {
    let store = limited(Limits {
        max_changes: 5,
        ..Limits::default()
    });
    let mut entry = create(&store, "a", 0);
    for n in 1..20 {
        entry = update(&store, &entry, n);
        assert_eq!(oldest(&store), (n + 1_u64).saturating_sub(5));
    }
}

#[test]
fn no_more_bytes_are_kept_than_the_limit() {
    let store = limited(Limits {
        max_bytes: 100_000,
        ..Limits::default()
    });
    let big = |n: u8| Payload::plain(vec![n; 10_000]);
    let key = || Key::new(PODS, "a");
    let mut entry = now(store.create(key(), big(0))).expect("created");
    for n in 1..50 {
        entry = now(store.update(key(), entry.revision, big(n)))
            .expect("updated")
            .entry;
    }
    let kept = current(&store) - oldest(&store);
    assert!((8..=9).contains(&kept), "{kept} are kept");
}

#[test]
fn a_busy_collection_does_not_push_out_the_history_of_another() {
    let store = limited(Limits {
        max_changes: 5,
        ..Limits::default()
    });
    let entry = create(&store, "a", "one");
    update(&store, &entry, "two");
    for n in 0..50 {
        let event = Key::new("events", format!("e-{n}"));
        now(store.create(event, object("x"))).expect("created");
    }
    assert_eq!(view(&store, PODS, 1).unwrap()["a"].1, "@1 one");
    let error = view(&store, "events", 10).expect_err("only five are kept");
    assert!(matches!(
        error,
        ReadError::Compacted {
            floor: Revision(47),
            ..
        }
    ));
    assert_eq!(view(&store, "events", 47).unwrap().len(), 45);
}

#[test]
fn a_store_may_start_at_any_revision_and_has_no_past_before_it() {
    let store = MemoryStore::starting_at(Revision(100));
    assert_eq!(current(&store), 100);
    assert_eq!(create(&store, "a", "x").revision, Revision(101));
    assert!(view(&store, PODS, 100).unwrap().is_empty());
    let error = view(&store, PODS, 99).expect_err("it was not there");
    assert!(matches!(
        error,
        ReadError::Compacted {
            floor: Revision(100),
            ..
        }
    ));
    assert!(now(store.watch(PODS, "", Revision(99))).is_err());
    assert!(now(store.watch(PODS, "", Revision(100))).is_ok());
}

#[test]
fn the_last_revision_of_all_is_refused_and_nothing_breaks() {
    let store = MemoryStore::starting_at(Revision(u64::MAX - 1));
    let entry = create(&store, "a", "x");
    assert_eq!(entry.revision.0, u64::MAX);
    assert!(now(store.create(Key::new(PODS, "b"), object("x"))).is_err());
    assert!(now(store.delete(Key::new(PODS, "a"), entry.revision)).is_err());
    assert_eq!(view(&store, PODS, u64::MAX).unwrap().len(), 1);
}

#[test]
fn a_clone_is_the_same_store() {
    let store = MemoryStore::new();
    let same = store.clone();
    create(&same, "a", "x");
    assert_eq!(current(&store), 1);
}

#[test]
fn deep_history_of_one_object_is_read_and_forgotten_without_trouble() {
    let store = limited(Limits {
        max_bytes: usize::MAX,
        ..Limits::default()
    });
    let mut entry = create(&store, "a", 0);
    for n in 1..50_000 {
        entry = update(&store, &entry, n);
    }
    assert_eq!(view(&store, PODS, 1).unwrap()["a"].1, "@1 0");
    let fork = store.fork();
    delete(&store, &entry);
    store.compact_now();
    assert!(view(&store, PODS, current(&store)).unwrap().is_empty());
    assert_eq!(view(&fork, PODS, 25_000).unwrap()["a"].1, "@25000 24999");
}
