//! [`TokenBucket`]: a rate with a burst.
//!
//! Time is tokio's. A token is taken when it is requested, however long the wait for it, so that waiters are served in
//! turn; a waiter that gives up returns its token.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// A bucket that holds `burst` tokens, starts full and gains `qps` tokens a second.
///
/// ```
/// use kubewright_client::policy::TokenBucket;
///
/// let bucket = TokenBucket::new(10.0, 1);
/// assert!(bucket.try_acquire());
/// assert!(!bucket.try_acquire());
/// ```
#[derive(Debug)]
pub struct TokenBucket {
    qps: f64,
    burst: f64,
    state: Mutex<State>,
}

/// The token would arrive after the deadline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("client rate limiter: the next token arrives in {wait:?}, which is after the deadline")]
pub struct RateLimited {
    /// The wait that was necessary.
    pub wait: Duration,
}

#[derive(Debug)]
struct State {
    /// Negative if callers are waiting.
    tokens: f64,
    /// The time of that balance; `None` before the first use.
    at: Option<Instant>,
}

impl TokenBucket {
    /// Creates a full bucket. A rate that is not positive and a burst of zero count as one.
    pub fn new(qps: f64, burst: u32) -> Self {
        let qps = if qps.is_finite() && qps > 0.0 {
            qps
        } else {
            1.0
        };
        let burst = f64::from(burst.max(1));
        Self {
            qps,
            burst,
            state: Mutex::new(State {
                tokens: burst,
                at: None,
            }),
        }
    }

    /// Returns the number of tokens per second.
    pub fn qps(&self) -> f64 {
        self.qps
    }

    /// Takes a token if there is one.
    pub fn try_acquire(&self) -> bool {
        let mut state = self.state.lock();
        self.refill(&mut state);
        let there = state.tokens >= 1.0;
        if there {
            state.tokens -= 1.0;
        }
        there
    }

    /// Takes a token, waiting for it if necessary, and returns the time it took.
    ///
    /// # Errors
    ///
    /// Fails at once, without taking anything, if the token arrives after the deadline.
    pub async fn acquire(&self, deadline: Option<Instant>) -> Result<Duration, RateLimited> {
        let wait = {
            let mut state = self.state.lock();
            let now = self.refill(&mut state);
            let missing = (1.0 - state.tokens).max(0.0);
            let wait = Duration::try_from_secs_f64(missing / self.qps).unwrap_or(Duration::MAX);
            let too_late = |deadline: Instant| now.checked_add(wait).is_none_or(|at| at > deadline);
            if deadline.is_some_and(too_late) {
                return Err(RateLimited { wait });
            }
            state.tokens -= 1.0;
            wait
        };
        if !wait.is_zero() {
            let mut taken = Taken(Some(self));
            tokio::time::sleep(wait).await;
            taken.0 = None;
        }
        Ok(wait)
    }

    fn refill(&self, state: &mut State) -> Instant {
        let now = Instant::now();
        if let Some(at) = state.at {
            let passed = now.saturating_duration_since(at).as_secs_f64();
            state.tokens = (state.tokens + passed * self.qps).min(self.burst);
        }
        state.at = Some(now);
        now
    }
}

/// A token that is waited for. Dropping it early returns it.
struct Taken<'a>(Option<&'a TokenBucket>);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if let Some(bucket) = self.0 {
            let mut state = bucket.state.lock();
            state.tokens = (state.tokens + 1.0).min(bucket.burst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENTH: Duration = Duration::from_millis(100);

    #[tokio::test(start_paused = true)]
    async fn the_burst_is_free_and_the_rest_waits_in_turn() {
        let bucket = TokenBucket::new(10.0, 3);
        for _ in 0..3 {
            assert_eq!(bucket.acquire(None).await, Ok(Duration::ZERO));
        }
        assert!(!bucket.try_acquire());
        let began = Instant::now();
        let (first, second) = tokio::join!(bucket.acquire(None), bucket.acquire(None));
        assert_eq!((first, second), (Ok(TENTH), Ok(2 * TENTH)));
        assert_eq!(began.elapsed().as_millis(), 200);
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_after_the_deadline_is_refused_at_once() {
        let bucket = TokenBucket::new(1.0, 1);
        bucket.acquire(None).await.unwrap();
        let began = Instant::now();
        let soon = began + Duration::from_millis(500);
        let refused = bucket.acquire(Some(soon)).await.unwrap_err();
        assert_eq!(refused.wait, Duration::from_secs(1));
        assert_eq!(began.elapsed(), Duration::ZERO);
        // Nothing was taken: the next in line waits no longer for it.
        let waited = bucket.acquire(Some(began + Duration::from_secs(2))).await;
        assert_eq!(waited, Ok(Duration::from_secs(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn cancelled_waits_return_their_token() {
        let bucket = TokenBucket::new(10.0, 1);
        bucket.acquire(None).await.unwrap();
        let gave_up = tokio::time::timeout(TENTH / 2, bucket.acquire(None)).await;
        assert!(gave_up.is_err());
        assert_eq!(bucket.acquire(None).await, Ok(TENTH / 2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_bucket_never_holds_more_than_the_burst() {
        let bucket = TokenBucket::new(10.0, 2);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert!(bucket.try_acquire() && bucket.try_acquire() && !bucket.try_acquire());
    }
}
