//! A delay that doubles with each failure of a key.

use std::{fmt, time::Duration};

use hashbrown::HashMap;

use super::RateLimiter;
use crate::{Key, sync::Mutex};

/// A delay of base · 2^failures, up to a maximum.
///
/// ```
/// use std::time::Duration;
/// use kubewright_workqueue::{ItemExponentialFailureRateLimiter, RateLimiter};
///
/// let limiter = ItemExponentialFailureRateLimiter::new(Duration::from_millis(5), Duration::from_secs(1));
/// assert_eq!(limiter.when(&"web"), Duration::from_millis(5));
/// assert_eq!(limiter.when(&"web"), Duration::from_millis(10));
/// limiter.forget(&"web");
/// assert_eq!(limiter.when(&"web"), Duration::from_millis(5));
/// ```
pub struct ItemExponentialFailureRateLimiter<K> {
    base: Duration,
    max: Duration,
    failures: Mutex<HashMap<K, u32>>,
}

impl<K: Key> ItemExponentialFailureRateLimiter<K> {
    /// Creates a limiter that starts at `base` and never exceeds `max`.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self {
            base,
            max,
            failures: Mutex::new(HashMap::new()),
        }
    }

    fn delay(&self, failures: u32) -> Duration {
        let factor = 2f64.powi(i32::try_from(failures).unwrap_or(i32::MAX));
        let nanos = self.base.as_nanos() as f64 * factor;
        // The longest duration in Go. Zero times infinity is not a number and falls through to zero.
        if nanos > i64::MAX as f64 {
            return self.max;
        }
        Duration::from_nanos(nanos as u64).min(self.max)
    }
}

impl<K: Key> RateLimiter<K> for ItemExponentialFailureRateLimiter<K> {
    fn when(&self, key: &K) -> Duration {
        let mut failures = self.failures.lock();
        let count = failures.entry_ref(key).or_insert(0);
        let before = *count;
        *count = before.saturating_add(1);
        self.delay(before)
    }

    fn forget(&self, key: &K) {
        self.failures.lock().remove(key);
    }

    fn num_requeues(&self, key: &K) -> usize {
        self.failures
            .lock()
            .get(key)
            .map_or(0, |count| *count as usize)
    }
}

impl<K> fmt::Debug for ItemExponentialFailureRateLimiter<K> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ItemExponentialFailureRateLimiter")
            .field("base", &self.base)
            .field("max", &self.max)
            .finish_non_exhaustive()
    }
}
