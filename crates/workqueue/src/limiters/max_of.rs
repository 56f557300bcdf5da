//! The strictest of several limiters.

use std::{fmt, sync::Arc, time::Duration};

use super::RateLimiter;

/// The longest delay of several limiters. All of them count the attempt.
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use kubewright_workqueue::{ItemExponentialFailureRateLimiter, ItemFastSlowRateLimiter, MaxOfRateLimiter, RateLimiter};
///
/// let ms = Duration::from_millis;
/// let limiter = MaxOfRateLimiter::<&str>::new([
///     Arc::new(ItemExponentialFailureRateLimiter::new(ms(5), ms(1000))) as Arc<dyn RateLimiter<&str>>,
///     Arc::new(ItemFastSlowRateLimiter::new(ms(7), ms(100), 3)),
/// ]);
/// assert_eq!(limiter.when(&"web"), ms(7));
/// ```
pub struct MaxOfRateLimiter<K> {
    limiters: Vec<Arc<dyn RateLimiter<K>>>,
}

impl<K> MaxOfRateLimiter<K> {
    /// Combines these limiters. An empty list means no delay.
    pub fn new(limiters: impl IntoIterator<Item = Arc<dyn RateLimiter<K>>>) -> Self {
        Self {
            limiters: limiters.into_iter().collect(),
        }
    }
}

impl<K> RateLimiter<K> for MaxOfRateLimiter<K> {
    fn when(&self, key: &K) -> Duration {
        let delays = self.limiters.iter().map(|limiter| limiter.when(key));
        delays.max().unwrap_or_default()
    }

    fn forget(&self, key: &K) {
        for limiter in &self.limiters {
            limiter.forget(key);
        }
    }

    fn num_requeues(&self, key: &K) -> usize {
        let counts = self
            .limiters
            .iter()
            .map(|limiter| limiter.num_requeues(key));
        counts.max().unwrap_or_default()
    }
}

impl<K> fmt::Debug for MaxOfRateLimiter<K> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("MaxOfRateLimiter")
            .field("limiters", &self.limiters.len())
            .finish()
    }
}
