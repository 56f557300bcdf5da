//! Rate limiters: the delay before a key is retried.
//!
//! | limiter | delay |
//! |---|---|
//! | [`ItemExponentialFailureRateLimiter`] | base · 2^failures of the key, up to a maximum |
//! | [`ItemFastSlowRateLimiter`] | a short one for the first attempts of the key, then a long one |
//! | [`BucketRateLimiter`] | the wait for a token of the whole queue |
//! | [`MaxOfRateLimiter`] | the longest of several |
//! | [`WithMaxWaitRateLimiter`] | that of another limiter, up to a maximum |
//!
//! A limiter remembers a key until it is [forgotten](RateLimiter::forget); its memory is bounded by the number of
//! distinct keys that fail.

mod bucket;
mod exponential;
mod fast_slow;
mod max_of;
mod max_wait;

use std::{sync::Arc, time::Duration};

pub use bucket::BucketRateLimiter;
pub use exponential::ItemExponentialFailureRateLimiter;
pub use fast_slow::ItemFastSlowRateLimiter;
pub use max_of::MaxOfRateLimiter;
pub use max_wait::WithMaxWaitRateLimiter;

use crate::Key;

/// Determines the delay before a key is retried.
///
/// ```
/// use std::time::Duration;
/// use kubewright_workqueue::{RateLimiter, WorkQueue};
///
/// /// Delays every retry by a second.
/// struct EverySecond;
///
/// impl RateLimiter<u32> for EverySecond {
///     fn when(&self, _: &u32) -> Duration {
///         Duration::from_secs(1)
///     }
///     fn forget(&self, _: &u32) {}
///     fn num_requeues(&self, _: &u32) -> usize {
///         0
///     }
/// }
///
/// let queue: WorkQueue<u32> = WorkQueue::builder().rate_limiter(EverySecond).build();
/// # let _ = queue;
/// ```
pub trait RateLimiter<K>: Send + Sync {
    /// Returns the delay of the key, and counts an attempt.
    fn when(&self, key: &K) -> Duration;
    /// Clears the attempts of the key, because it succeeded or was given up.
    fn forget(&self, key: &K);
    /// Returns the number of attempts since the key was last forgotten.
    fn num_requeues(&self, key: &K) -> usize;
}

/// Returns client-go's default for controllers: the longer of 5 ms, doubled with each failure of a key up to 1000 s,
/// and a bucket of 100 tokens that earns 10 a second for the whole queue.
///
/// After a hundred failures at once, all keys share those 10 attempts a second.
///
/// ```
/// use std::time::Duration;
/// use kubewright_workqueue::{RateLimiter, default_controller_rate_limiter};
///
/// let limiter = default_controller_rate_limiter::<&str>();
/// assert_eq!(limiter.when(&"a"), Duration::from_millis(5));
/// assert_eq!(limiter.when(&"a"), Duration::from_millis(10));
/// ```
pub fn default_controller_rate_limiter<K: Key>() -> MaxOfRateLimiter<K> {
    let each =
        ItemExponentialFailureRateLimiter::new(Duration::from_millis(5), Duration::from_secs(1000));
    MaxOfRateLimiter::new([
        Arc::new(each) as Arc<dyn RateLimiter<K>>,
        Arc::new(BucketRateLimiter::new(10.0, 100)),
    ])
}

/// Returns client-go's limiter for single keys: 1 ms, doubled with each failure up to 1000 s.
///
/// ```
/// use std::time::Duration;
/// use kubewright_workqueue::{RateLimiter, default_item_based_rate_limiter};
///
/// let limiter = default_item_based_rate_limiter::<&str>();
/// assert_eq!(limiter.when(&"a"), Duration::from_millis(1));
/// ```
pub fn default_item_based_rate_limiter<K: Key>() -> ItemExponentialFailureRateLimiter<K> {
    ItemExponentialFailureRateLimiter::new(Duration::from_millis(1), Duration::from_secs(1000))
}

impl<K, L: RateLimiter<K> + ?Sized> RateLimiter<K> for Arc<L> {
    fn when(&self, key: &K) -> Duration {
        (**self).when(key)
    }

    fn forget(&self, key: &K) {
        (**self).forget(key);
    }

    fn num_requeues(&self, key: &K) -> usize {
        (**self).num_requeues(key)
    }
}
