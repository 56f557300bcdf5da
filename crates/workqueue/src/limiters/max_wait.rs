//! Another limiter, with a longest wait.

use std::time::Duration;

use super::RateLimiter;

/// The delay of another limiter, up to a maximum.
#[derive(Debug)]
pub struct WithMaxWaitRateLimiter<L> {
    limiter: L,
    max: Duration,
}

impl<L> WithMaxWaitRateLimiter<L> {
    /// What `limiter` says, but never more than `max`.
    pub fn new(limiter: L, max: Duration) -> Self {
        Self { limiter, max }
    }
}

impl<K, L: RateLimiter<K>> RateLimiter<K> for WithMaxWaitRateLimiter<L> {
    fn when(&self, key: &K) -> Duration {
        self.limiter.when(key).min(self.max)
    }

    fn forget(&self, key: &K) {
        self.limiter.forget(key);
    }

    fn num_requeues(&self, key: &K) -> usize {
        self.limiter.num_requeues(key)
    }
}
