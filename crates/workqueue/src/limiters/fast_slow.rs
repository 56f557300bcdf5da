//! A few fast attempts, then slow ones.

use std::{fmt, time::Duration};

use hashbrown::HashMap;

use super::RateLimiter;
use crate::{Key, sync::Mutex};

/// A short delay for the first attempts of a key, and a long one for all others.
///
/// ```
/// use std::time::Duration;
/// use kubewright_workqueue::{ItemFastSlowRateLimiter, RateLimiter};
///
/// let (fast, slow) = (Duration::from_millis(5), Duration::from_secs(10));
/// let limiter = ItemFastSlowRateLimiter::new(fast, slow, 1);
/// assert_eq!(limiter.when(&"web"), fast);
/// assert_eq!(limiter.when(&"web"), slow);
/// ```
pub struct ItemFastSlowRateLimiter<K> {
    fast: Duration,
    slow: Duration,
    fast_attempts: u32,
    attempts: Mutex<HashMap<K, u32>>,
}

impl<K: Key> ItemFastSlowRateLimiter<K> {
    /// Creates a limiter whose first `fast_attempts` wait for `fast` and all others for `slow`.
    pub fn new(fast: Duration, slow: Duration, fast_attempts: u32) -> Self {
        Self {
            fast,
            slow,
            fast_attempts,
            attempts: Mutex::new(HashMap::new()),
        }
    }
}

impl<K: Key> RateLimiter<K> for ItemFastSlowRateLimiter<K> {
    fn when(&self, key: &K) -> Duration {
        let mut attempts = self.attempts.lock();
        let count = attempts.entry_ref(key).or_insert(0);
        *count = count.saturating_add(1);
        if *count <= self.fast_attempts {
            self.fast
        } else {
            self.slow
        }
    }

    fn forget(&self, key: &K) {
        self.attempts.lock().remove(key);
    }

    fn num_requeues(&self, key: &K) -> usize {
        self.attempts
            .lock()
            .get(key)
            .map_or(0, |count| *count as usize)
    }
}

impl<K> fmt::Debug for ItemFastSlowRateLimiter<K> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ItemFastSlowRateLimiter")
            .field("fast", &self.fast)
            .field("slow", &self.slow)
            .field("fast_attempts", &self.fast_attempts)
            .finish_non_exhaustive()
    }
}
