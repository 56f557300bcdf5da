//! Delayed adds.

use std::time::Duration;

use kubewright_workqueue::{AddOptions, DelayPolicy, TryGetError, WorkQueue};
use tokio::time::{Instant, advance};

use crate::{drained, look};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn with(policy: DelayPolicy, delay: Duration) -> AddOptions {
    AddOptions::new().after(delay).policy(policy)
}

#[tokio::test(start_paused = true)]
async fn a_delayed_key_is_queued_when_its_time_has_come() {
    let queue = WorkQueue::new();
    queue.add_after("a", ms(50));
    advance(ms(49)).await;
    assert_eq!(queue.try_get().err(), Some(TryGetError::Empty));
    advance(ms(1)).await;
    assert_eq!(queue.len(), 1);
    assert_eq!(drained(&queue), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn no_delay_is_an_add_now() {
    let queue = WorkQueue::new();
    queue.add_after("a", Duration::ZERO);
    assert_eq!(drained(&queue), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_worker_gets_a_delayed_key_on_time() {
    let queue = WorkQueue::new();
    let start = Instant::now();
    queue.add_after("late", ms(500));
    queue.add_after("soon", ms(50));
    assert_eq!(queue.get().await.as_deref(), Some(&"soon"));
    assert_eq!(start.elapsed(), ms(50));
    assert_eq!(queue.get().await.as_deref(), Some(&"late"));
    assert_eq!(start.elapsed(), ms(500));
}

#[tokio::test(start_paused = true)]
async fn an_earlier_key_wakes_a_waiting_worker() {
    let queue = WorkQueue::new();
    queue.add_after("late", ms(500));
    let start = Instant::now();
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move { (*queue.get().await.expect("a key"), Instant::now()) }
    });
    tokio::task::yield_now().await;
    queue.add_after("soon", ms(50));
    assert_eq!(worker.await.expect("ended"), ("soon", start + ms(50)));
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_waited_for_a_cancelled_key_gets_the_next() {
    let queue = WorkQueue::new();
    queue.add_after("a", ms(10));
    let start = Instant::now();
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move { (*queue.get().await.expect("a key"), Instant::now()) }
    });
    tokio::task::yield_now().await;
    assert!(queue.cancel_delayed(&"a"));
    // It wakes for what is no more, and keeps the time for nothing.
    tokio::time::sleep(ms(100)).await;
    queue.add_after("b", ms(50));
    assert_eq!(worker.await.expect("ended"), ("b", start + ms(150)));
}

#[tokio::test(start_paused = true)]
async fn when_the_one_that_keeps_the_time_leaves_another_takes_over() {
    let queue = WorkQueue::new();
    queue.add_after("a", ms(50));
    let start = Instant::now();
    let first = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await.is_some() }
    });
    tokio::task::yield_now().await;
    let second = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await.is_some() }
    });
    tokio::task::yield_now().await;
    first.abort();
    assert!(second.await.expect("ended"));
    assert_eq!(start.elapsed(), ms(50));
}

#[tokio::test(start_paused = true)]
async fn the_earliest_of_two_delays_counts() {
    for delays in [[ms(50), ms(500)], [ms(500), ms(50)]] {
        let queue = WorkQueue::new();
        for delay in delays {
            queue.add_after("a", delay);
        }
        advance(ms(50)).await;
        assert_eq!(drained(&queue), ["a"]);
        advance(ms(500)).await;
        assert_eq!(queue.len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn the_latest_delay_counts_if_configured() {
    for delays in [[ms(50), ms(500)], [ms(500), ms(50)]] {
        let queue = WorkQueue::new();
        for delay in delays {
            queue.add_with("a", with(DelayPolicy::Latest, delay));
        }
        advance(ms(499)).await;
        assert_eq!(queue.len(), 0);
        advance(ms(1)).await;
        assert_eq!(drained(&queue), ["a"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_delay_can_be_replaced_by_an_earlier_or_later_one() {
    let queue = WorkQueue::new();
    let start = Instant::now();
    queue.add_after("a", ms(50));
    queue.add_with("a", with(DelayPolicy::Replace, ms(500)));
    assert_eq!(queue.due(&"a"), Some(start + ms(500)));
    queue.add_with("a", with(DelayPolicy::Replace, ms(20)));
    assert_eq!(queue.due(&"a"), Some(start + ms(20)));
    advance(ms(1000)).await;
    assert_eq!(drained(&queue), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_key_can_be_cancelled() {
    let queue = WorkQueue::new();
    queue.add_after("a", ms(50));
    assert!(queue.cancel_delayed(&"a"));
    assert!(!queue.cancel_delayed(&"a"));
    assert!(!queue.cancel_delayed(&"unknown"));
    advance(ms(100)).await;
    assert_eq!(queue.try_get().err(), Some(TryGetError::Empty));
}

#[tokio::test(start_paused = true)]
async fn due_keys_cannot_be_cancelled() {
    let queue = WorkQueue::new();
    queue.add_after("a", ms(50));
    advance(ms(50)).await;
    assert!(!queue.cancel_delayed(&"a"));
    assert_eq!(drained(&queue), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn cancelling_leaves_a_queued_key_queued() {
    let queue = WorkQueue::new();
    queue.add("a");
    queue.add_after("a", ms(50));
    assert!(queue.cancel_delayed(&"a"));
    assert_eq!(drained(&queue), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_add_leads_to_a_run_also_if_the_key_ran_meanwhile() {
    // As client-go does.
    let queue = WorkQueue::new();
    queue.add_after("a", ms(50));
    queue.add("a");
    assert_eq!(drained(&queue), ["a"]);
    advance(ms(50)).await;
    assert_eq!(drained(&queue), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn one_run_answers_for_all_adds_where_delays_are_merged() {
    // As controller-runtime does.
    let queue = WorkQueue::builder().merge_delayed().build();
    queue.add_with("a", AddOptions::new().after(ms(50)).priority(7));
    queue.add("a");
    assert_eq!(queue.status().delayed, 0);
    queue.add_after("a", ms(20));
    assert_eq!(queue.status().delayed, 0);
    let item = queue.try_get().expect("queued");
    assert_eq!((*item, item.priority()), ("a", 7));
    drop(item);
    advance(ms(100)).await;
    assert_eq!(queue.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn keys_are_handed_out_by_due_time_then_by_order() {
    // client-go's CopyShifting, and ties
    let queue = WorkQueue::new();
    for (key, delay) in [("d", 300), ("c", 200), ("a", 100), ("b", 100)] {
        queue.add_after(key, ms(delay));
    }
    advance(ms(1000)).await;
    assert_eq!(drained(&queue), ["a", "b", "c", "d"]);
}

#[tokio::test(start_paused = true)]
async fn due_keys_precede_keys_that_were_added_later() {
    let queue = WorkQueue::new();
    queue.add_after("due", ms(10));
    advance(ms(20)).await;
    queue.add("added");
    assert_eq!(drained(&queue), ["due", "added"]);
}

#[tokio::test(start_paused = true)]
async fn delayed_keys_are_dropped_by_a_shutdown() {
    let queue = WorkQueue::new();
    queue.add_after("due", ms(10));
    queue.add_after("late", ms(100));
    advance(ms(10)).await;
    queue.shut_down();
    queue.add_after("refused", ms(1));
    assert_eq!(queue.status().delayed, 0);
    advance(ms(1000)).await;
    assert_eq!(drained(&queue), ["due"]);
    assert_eq!(queue.try_get().err(), Some(TryGetError::ShutDown));
}

#[tokio::test(start_paused = true)]
async fn an_endless_delay_is_handled() {
    let queue = WorkQueue::new();
    queue.add_after("a", Duration::MAX);
    assert!(queue.due(&"a").is_some());
    assert!(look(queue.get()).is_none());
}

#[test]
fn delayed_adds_need_no_runtime() {
    let queue = WorkQueue::new();
    queue.add_after("a", Duration::from_nanos(1));
    while queue.is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(drained(&queue), ["a"]);
}
