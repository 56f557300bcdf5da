//! Shutdown and drain.

use kubewright_workqueue::{TryGetError, WorkQueue};

use crate::{drained, look};

#[test]
fn adds_after_a_shutdown_are_ignored() {
    let queue = WorkQueue::new();
    queue.add("a");
    assert!(!queue.shutting_down());
    queue.shut_down();
    assert!(queue.shutting_down());
    queue.add("b");
    assert_eq!(drained(&queue), ["a"]);
    assert_eq!(queue.try_get().err(), Some(TryGetError::ShutDown));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_wakes_all_waiting_workers() {
    let queue = WorkQueue::<u8>::new();
    let workers: Vec<_> = (0..100)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.get().await.is_none() })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.shut_down();
    for worker in workers {
        assert!(worker.await.expect("ended"));
    }
}

#[test]
fn a_drain_waits_for_what_is_processed() {
    let queue = WorkQueue::new();
    queue.add("a");
    let item = queue.try_get().expect("queued");
    let mut drain = queue.shut_down_with_drain();
    assert!(look(&mut drain).is_none());
    drop(item);
    assert!(look(&mut drain).is_some());
}

#[test]
fn a_drain_waits_for_what_is_queued_even_if_nothing_is_processed() {
    // Client-go's returns at once
    let queue = WorkQueue::new();
    queue.add("a");
    let mut drain = queue.shut_down_with_drain();
    assert!(look(&mut drain).is_none());
    let item = queue.try_get().expect("queued");
    assert!(look(&mut drain).is_none());
    drop(item);
    assert!(look(&mut drain).is_some());
}

#[test]
fn a_drain_waits_for_what_is_to_run_again_and_workers_get_it() {
    let queue = WorkQueue::new();
    queue.add("a");
    let item = queue.try_get().expect("queued");
    queue.add("a");
    let mut drain = queue.shut_down_with_drain();
    // A worker that asks meanwhile is not sent home.
    let mut get = queue.get();
    assert!(look(&mut get).is_none());
    drop(item);
    assert!(look(&mut drain).is_none());
    let again = look(&mut get).expect("ready").expect("a key");
    assert!(look(&mut drain).is_none());
    drop(again);
    assert!(look(&mut drain).is_some());
    assert!(look(queue.get()).expect("ready").is_none());
}

#[test]
fn a_drain_of_an_idle_queue_is_over_at_once() {
    let queue = WorkQueue::<u8>::new();
    assert!(look(queue.shut_down_with_drain()).is_some());
    assert!(queue.shutting_down());
}

#[test]
fn a_shutdown_ends_a_drain() {
    let queue = WorkQueue::new();
    queue.add("a");
    queue.add("b");
    let item = queue.try_get().expect("queued");
    let mut drain = queue.shut_down_with_drain();
    assert!(look(&mut drain).is_none());
    queue.shut_down();
    assert!(look(&mut drain).is_some());
    drop(item);
    assert_eq!(drained(&queue), ["b"]);
}

#[test]
fn a_plain_shutdown_does_not_wait_for_what_is_to_run_again() {
    let queue = WorkQueue::new();
    queue.add("a");
    let item = queue.try_get().expect("queued");
    queue.add("a");
    queue.shut_down();
    assert!(look(queue.get()).expect("ready").is_none());
    drop(item);
    assert_eq!(drained(&queue), ["a"]);
}

#[test]
fn several_can_wait_for_the_drain_and_one_can_give_up() {
    let queue = WorkQueue::new();
    queue.add("a");
    let mut first = queue.shut_down_with_drain();
    let mut second = queue.shut_down_with_drain();
    let mut third = queue.shut_down_with_drain();
    for drain in [&mut first, &mut second, &mut third] {
        assert!(look(drain).is_none());
    }
    drop(second);
    assert_eq!(drained(&queue), ["a"]);
    assert!(look(&mut first).is_some() && look(&mut third).is_some());
}
