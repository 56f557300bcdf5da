//! How long a key waits before it is tried again.
//!
//! | limiter | delay |
//! |---|---|
//! | [`ItemExponentialFailureRateLimiter`] | base · 2^failures of that key, up to a maximum |
//! | [`ItemFastSlowRateLimiter`] | a short one for the first attempts of that key, then a long one |
//! | [`BucketRateLimiter`] | what the whole queue has to wait for a token |
//! | [`MaxOfRateLimiter`] | the longest of several |
//! | [`WithMaxWaitRateLimiter`] | that of another, up to a maximum |
//!
//! A limiter remembers every key until it is [forgotten](RateLimiter::forget); its memory is bounded by the number of
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

/// Says how long a key waits before it is tried again.
pub trait RateLimiter<K>: Send + Sync {
    /// How long the key has to wait. Asking counts as an attempt.
    fn when(&self, key: &K) -> Duration;
    /// The key needs no more attempts; whether because it succeeded or was given up.
    fn forget(&self, key: &K);
    /// How many attempts were counted since the key was last forgotten.
    fn num_requeues(&self, key: &K) -> usize;
}

/// What client-go gives a controller: 5 ms doubled with each failure of a key up to 1,000 s, and never less than a bucket
/// of 100 tokens, filled at 10 a second, has the whole queue wait.
///
/// After the first hundred failures at once, all keys share those 10 attempts a second.
pub fn default_controller_rate_limiter<K: Key>() -> MaxOfRateLimiter<K> {
    let each =
        ItemExponentialFailureRateLimiter::new(Duration::from_millis(5), Duration::from_secs(1000));
    MaxOfRateLimiter::new([
        Arc::new(each) as Arc<dyn RateLimiter<K>>,
        Arc::new(BucketRateLimiter::new(10.0, 100)),
    ])
}

/// client-go's limiter for keys alone: 1 ms doubled with each failure up to 1,000 s.
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
