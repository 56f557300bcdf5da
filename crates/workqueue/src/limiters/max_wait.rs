//! Another limiter with a maximum wait.

use std::time::Duration;

use super::RateLimiter;

/// The delay of another limiter, up to a maximum.
///
/// ```
/// use std::time::Duration;
/// use kubewright_workqueue::{ItemExponentialFailureRateLimiter, RateLimiter, WithMaxWaitRateLimiter};
///
/// let hour = Duration::from_secs(3600);
/// let limiter = WithMaxWaitRateLimiter::new(ItemExponentialFailureRateLimiter::new(hour, hour), Duration::from_secs(1));
/// assert_eq!(limiter.when(&"web"), Duration::from_secs(1));
/// ```
#[derive(Debug)]
pub struct WithMaxWaitRateLimiter<L> {
    limiter: L,
    max: Duration,
}

impl<L> WithMaxWaitRateLimiter<L> {
    /// Limits the delay of `limiter` to `max`.
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
