//! A token bucket for the whole queue.
//!
//! Every attempt takes a token, on credit if there is none, and waits until the token has been earned.

use std::time::Duration;

use super::RateLimiter;
use crate::sync::{Instant, Mutex};

/// The wait for a token that never arrives: the longest duration in Go.
const NEVER: Duration = Duration::from_nanos(i64::MAX as u64);

/// A token bucket that all keys share.
///
/// ```
/// use std::time::Duration;
/// use kubewright_workqueue::{BucketRateLimiter, RateLimiter};
///
/// let limiter = BucketRateLimiter::new(10.0, 2);
/// assert_eq!(limiter.when(&"a"), Duration::ZERO);
/// assert_eq!(limiter.when(&"b"), Duration::ZERO);
/// assert!(limiter.when(&"c") > Duration::from_millis(50));
/// ```
#[derive(Debug)]
pub struct BucketRateLimiter {
    qps: f64,
    burst: u32,
    bucket: Mutex<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    /// Negative if tokens are owed.
    tokens: f64,
    /// The time of that balance.
    at: Instant,
}

impl BucketRateLimiter {
    /// Creates a full bucket of `burst` tokens that earns `qps` tokens a second.
    ///
    /// With infinite `qps` nothing waits. Without a `burst`, or once it is used up without `qps`, everything waits for
    /// ever.
    pub fn new(qps: f64, burst: u32) -> Self {
        let bucket = Bucket {
            tokens: f64::from(burst),
            at: Instant::now(),
        };
        Self {
            qps: if qps.is_nan() { 0.0 } else { qps.max(0.0) },
            burst,
            bucket: Mutex::new(bucket),
        }
    }

    fn reserve(&self) -> Duration {
        if self.qps.is_infinite() {
            return Duration::ZERO;
        }
        if self.burst == 0 {
            return NEVER;
        }
        let mut bucket = self.bucket.lock();
        let now = Instant::now();
        let earned = now.saturating_duration_since(bucket.at).as_secs_f64() * self.qps;
        let left = (bucket.tokens + earned).min(f64::from(self.burst)) - 1.0;
        let wait = if left >= 0.0 {
            Duration::ZERO
        } else {
            Duration::try_from_secs_f64(-left / self.qps).map_or(NEVER, |wait| wait.min(NEVER))
        };
        // A token that never arrives is not owed.
        if wait < NEVER {
            *bucket = Bucket {
                tokens: left,
                at: now.max(bucket.at),
            };
        }
        wait
    }
}

impl<K> RateLimiter<K> for BucketRateLimiter {
    fn when(&self, _: &K) -> Duration {
        self.reserve()
    }

    fn forget(&self, _: &K) {}

    fn num_requeues(&self, _: &K) -> usize {
        0
    }
}
