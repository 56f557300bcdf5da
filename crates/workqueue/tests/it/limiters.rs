//! Rate limiters.

use std::{sync::Arc, time::Duration};

use kubewright_workqueue::{
    AddOptions, BucketRateLimiter, ItemExponentialFailureRateLimiter, ItemFastSlowRateLimiter,
    MaxOfRateLimiter, RateLimiter, WithMaxWaitRateLimiter, WorkQueue,
    default_controller_rate_limiter, default_item_based_rate_limiter,
};
use tokio::time::{Instant, advance};

use crate::drained;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn the_delay_doubles_with_each_failure_of_a_key() {
    let limiter = ItemExponentialFailureRateLimiter::new(ms(1), Duration::from_secs(1));
    let delays: Vec<_> = (0..12).map(|_| limiter.when(&"one").as_millis()).collect();
    assert_eq!(delays, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000]);
    assert_eq!(limiter.num_requeues(&"one"), 12);
    assert_eq!(limiter.when(&"two"), ms(1));
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    assert_eq!(limiter.when(&"one"), ms(1));
    assert_eq!(limiter.num_requeues(&"two"), 1);
}

#[test]
fn no_number_of_failures_overflows() {
    let limiter = ItemExponentialFailureRateLimiter::new(ms(1), Duration::from_secs(1000));
    for _ in 0..5 {
        limiter.when(&"one");
    }
    assert_eq!(limiter.when(&"one"), ms(32));
    for _ in 0..2000 {
        limiter.when(&"one");
    }
    assert_eq!(limiter.when(&"one"), Duration::from_secs(1000));
    let vast = ItemExponentialFailureRateLimiter::new(Duration::MAX, Duration::MAX);
    assert_eq!(vast.when(&0), Duration::MAX);
    let none = ItemExponentialFailureRateLimiter::new(Duration::ZERO, ms(1));
    assert!((0..2000).all(|_| none.when(&0).is_zero()));
}

#[test]
fn the_default_for_items_begins_with_a_millisecond() {
    let limiter = default_item_based_rate_limiter();
    assert_eq!(limiter.when(&0), ms(1));
    for _ in 0..30 {
        limiter.when(&0);
    }
    assert_eq!(limiter.when(&0), Duration::from_secs(1000));
}

#[test]
fn the_first_attempts_are_fast_and_the_others_slow() {
    let limiter = ItemFastSlowRateLimiter::new(ms(5), ms(10_000), 3);
    let delays: Vec<_> = (0..5).map(|_| limiter.when(&"a").as_millis()).collect();
    assert_eq!(delays, [5, 5, 5, 10_000, 10_000]);
    assert_eq!(limiter.num_requeues(&"a"), 5);
    limiter.forget(&"a");
    assert_eq!(limiter.when(&"a"), ms(5));
}

#[tokio::test(start_paused = true)]
async fn all_keys_share_the_tokens_of_a_bucket() {
    let limiter = BucketRateLimiter::new(10.0, 3);
    let delays: Vec<_> = (0..6).map(|key| limiter.when(&key).as_millis()).collect();
    assert_eq!(delays, [0, 0, 0, 100, 200, 300]);
    RateLimiter::<i32>::forget(&limiter, &0);
    assert_eq!(limiter.num_requeues(&0), 0);
    // What was owed is earned back first.
    advance(ms(300)).await;
    assert_eq!(limiter.when(&0), ms(100));
    advance(Duration::from_secs(3600)).await;
    let delays: Vec<_> = (0..4).map(|key| limiter.when(&key).as_millis()).collect();
    assert_eq!(delays, [0, 0, 0, 100]);
}

#[tokio::test(start_paused = true)]
async fn odd_buckets_wait_forever_or_not_at_all() {
    // As golang.org/x/time/rate does
    let never = Duration::from_nanos(i64::MAX as u64);
    assert_eq!(
        BucketRateLimiter::new(f64::INFINITY, 0).when(&0),
        Duration::ZERO
    );
    assert_eq!(BucketRateLimiter::new(10.0, 0).when(&0), never);
    for qps in [0.0, -1.0, f64::NAN] {
        let limiter = BucketRateLimiter::new(qps, 1);
        assert_eq!(limiter.when(&0), Duration::ZERO);
        assert_eq!(limiter.when(&0), never);
    }
}

#[test]
fn of_several_limiters_the_strictest_counts_and_all_are_asked() {
    let slow = Arc::new(ItemFastSlowRateLimiter::new(ms(5), ms(3000), 3));
    let limiter = MaxOfRateLimiter::new([
        Arc::new(ItemExponentialFailureRateLimiter::new(ms(1), ms(1000)))
            as Arc<dyn RateLimiter<_>>,
        slow.clone(),
    ]);
    let delays: Vec<_> = (0..5).map(|_| limiter.when(&"a").as_millis()).collect();
    assert_eq!(delays, [5, 5, 5, 3000, 3000]);
    slow.when(&"a");
    assert_eq!(limiter.num_requeues(&"a"), 6);
    limiter.forget(&"a");
    assert_eq!(
        (limiter.num_requeues(&"a"), slow.num_requeues(&"a")),
        (0, 0)
    );
    assert_eq!(MaxOfRateLimiter::new([]).when(&"a"), Duration::ZERO);
}

#[test]
fn a_longest_wait_cuts_anothers_delay() {
    let slow = ItemFastSlowRateLimiter::new(ms(5), ms(10_000), 1);
    let limiter = WithMaxWaitRateLimiter::new(slow, ms(200));
    assert_eq!([limiter.when(&"a"), limiter.when(&"a")], [ms(5), ms(200)]);
    assert_eq!(limiter.num_requeues(&"a"), 2);
    limiter.forget(&"a");
    assert_eq!(limiter.num_requeues(&"a"), 0);
}

#[tokio::test(start_paused = true)]
async fn the_default_of_controllers_doubles_from_5_ms_to_1000_s() {
    let limiter = default_controller_rate_limiter();
    let mut expected = ms(5);
    for failure in 1..=25 {
        let delay = limiter.when(&"a");
        let capped = if failure >= 19 {
            Duration::from_secs(1000)
        } else {
            expected
        };
        assert_eq!(delay, capped, "failure {failure}");
        expected *= 2;
    }
}

#[tokio::test(start_paused = true)]
async fn many_failures_at_once_share_ten_attempts_a_second() {
    let limiter = default_controller_rate_limiter();
    let delays: Vec<_> = (0..120).map(|key| limiter.when(&key)).collect();
    assert!(delays[..100].iter().all(|delay| *delay == ms(5)));
    assert_eq!(delays[100], ms(100));
    assert_eq!(delays[119], ms(2000));
}

#[tokio::test(start_paused = true)]
async fn a_failed_key_is_retried_after_the_limiters_delay() {
    let queue = WorkQueue::builder()
        .rate_limiter(ItemExponentialFailureRateLimiter::new(ms(1), ms(1000)))
        .build();
    let start = Instant::now();
    for waited in [1, 3, 7] {
        queue.add_rate_limited("a");
        assert_eq!(queue.get().await.as_deref(), Some(&"a"));
        assert_eq!(start.elapsed(), ms(waited));
    }
    assert_eq!(queue.num_requeues(&"a"), 3);
    queue.forget(&"a");
    assert_eq!(queue.num_requeues(&"a"), 0);
    queue.add_rate_limited("a");
    assert_eq!(queue.due(&"a"), Some(Instant::now() + ms(1)));
}

#[tokio::test(start_paused = true)]
async fn forgetting_does_not_hand_back() {
    let queue = WorkQueue::new();
    queue.add("a");
    let item = queue.try_get().expect("queued");
    queue.forget(&item);
    queue.add("a");
    assert_eq!(drained(&queue), [""; 0]);
    drop(item);
    assert_eq!(drained(&queue), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn of_a_delay_and_the_limiters_the_shorter_counts() {
    let queue = WorkQueue::new();
    queue.add_with("a", AddOptions::new().rate_limited().after(ms(1)));
    queue.add_with("b", AddOptions::new().rate_limited().after(ms(100)));
    assert_eq!(queue.due(&"a"), Some(Instant::now() + ms(1)));
    assert_eq!(queue.due(&"b"), Some(Instant::now() + ms(5)));
}
