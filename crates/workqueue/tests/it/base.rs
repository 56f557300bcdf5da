//! Adding, getting and finishing keys.

use kubewright_workqueue::{TryGetError, WorkQueue};

use crate::drained;

#[test]
fn keys_come_out_in_the_order_they_went_in() {
    let queue = WorkQueue::new();
    for key in ["c", "a", "b"] {
        queue.add(key);
    }
    assert_eq!(drained(&queue), ["c", "a", "b"]);
}

#[test]
fn a_queued_key_is_queued_once_and_keeps_its_place() {
    let queue = WorkQueue::new();
    for key in ["a", "b", "a"] {
        queue.add(key);
    }
    assert_eq!(queue.len(), 2);
    assert_eq!(drained(&queue), ["a", "b"]);
}

#[test]
fn a_key_added_while_processed_is_not_handed_out_before_it_is_done() {
    let queue = WorkQueue::new();
    queue.add("a");
    let item = queue.try_get().expect("queued");
    queue.add("a");
    assert_eq!(queue.len(), 0);
    assert_eq!(queue.try_get().err(), Some(TryGetError::Empty));
    item.done();
    assert_eq!(queue.len(), 1);
    assert_eq!(drained(&queue), ["a"]);
}

#[test]
fn many_adds_while_processed_lead_to_one_more_run() {
    let queue = WorkQueue::new();
    queue.add("a");
    let item = queue.try_get().expect("queued");
    for _ in 0..5 {
        queue.add("a");
    }
    drop(item);
    assert_eq!(drained(&queue), ["a"]);
    assert_eq!(queue.try_get().err(), Some(TryGetError::Empty));
}

#[test]
fn a_key_that_runs_again_goes_behind_what_was_queued_meanwhile() {
    let queue = WorkQueue::new();
    queue.add("a");
    let item = queue.try_get().expect("queued");
    queue.add("a");
    queue.add("b");
    drop(item);
    assert_eq!(drained(&queue), ["b", "a"]);
}

#[test]
fn a_key_handed_back_is_not_queued_twice() {
    // There is no way to hand back what one does not have; and once handed back, an add makes one run.
    let queue = WorkQueue::new();
    queue.add("a");
    drop(queue.try_get().expect("queued"));
    queue.add("a");
    assert_eq!(queue.len(), 1);
    assert_eq!(drained(&queue), ["a"]);
}

#[test]
fn the_length_counts_neither_processed_nor_delayed_keys() {
    let queue = WorkQueue::new();
    for key in ["a", "b", "c"] {
        queue.add(key);
    }
    queue.add_after("d", std::time::Duration::from_secs(1));
    let _item = queue.try_get().expect("queued");
    assert_eq!(queue.len(), 2);
    let status = queue.status();
    assert_eq!((status.processing, status.delayed), (1, 1));
    assert!(!status.is_idle());
}

#[test]
fn of_what_is_done_only_the_latest_keys_are_remembered() {
    let key = std::sync::Arc::new(());
    let queue = WorkQueue::new();
    for n in 0..10_000 {
        queue.add((n, key.clone()));
        drop(queue.try_get().expect("queued"));
        // The clone in the test, and what a queue may remember.
        assert!(std::sync::Arc::strong_count(&key) <= 1 + 256);
    }
    drop(queue);
    assert_eq!(std::sync::Arc::strong_count(&key), 1);
}

#[test]
fn a_key_that_was_done_lately_and_comes_again_is_queued_like_any_other() {
    let queue = WorkQueue::new();
    for round in 0..1000 {
        for key in [round % 7, round, round % 300] {
            queue.add(key);
            let item = queue.try_get().expect("queued");
            assert_eq!(*item.key(), key);
            queue.add(key);
            assert!(queue.try_get().is_err(), "a worker has it");
            drop(item);
            assert_eq!(*queue.try_get().expect("again").key(), key);
            assert!(queue.status().is_idle());
        }
    }
}

#[test]
fn queues_items_and_futures_go_to_other_threads() {
    fn sent<T: Send>() {}
    fn shared<T: Send + Sync>() {}
    shared::<WorkQueue<String>>();
    shared::<kubewright_workqueue::Item<'static, String>>();
    shared::<kubewright_workqueue::OwnedItem<String>>();
    sent::<kubewright_workqueue::Get<'static, String>>();
    sent::<kubewright_workqueue::Drain<'static, String>>();
}
