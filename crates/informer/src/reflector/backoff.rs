//! [`Backoff`]: the delays between attempts.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;

/// Delays that double up to a maximum, with jitter, and start over after a quiet time.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    settings: BackoffSettings,
    next: Duration,
    last: Option<Instant>,
    random: u64,
}

/// The settings of a reflector's backoff.
///
/// ```
/// use std::time::Duration;
/// use kubewright_informer::{BackoffSettings, ReflectorConfig};
///
/// // Waits for 100 ms, 200 ms, 400 ms and so on, for five seconds at most.
/// let backoff = BackoffSettings {
///     initial: Duration::from_millis(100),
///     most: Duration::from_secs(5),
///     jitter: 0.0,
///     ..BackoffSettings::default()
/// };
/// let config = ReflectorConfig { backoff, ..ReflectorConfig::default() };
/// assert_eq!(config.backoff.reset_after, Duration::from_secs(120));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackoffSettings {
    /// The first delay.
    pub initial: Duration,
    /// The longest delay, before jitter.
    pub most: Duration,
    /// The maximum jitter, as a fraction of the delay.
    pub jitter: f64,
    /// The time without a failure after which the first delay is next.
    pub reset_after: Duration,
    /// A seed for reproducible delays. Random by default.
    pub seed: Option<u64>,
}

impl Default for BackoffSettings {
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(800),
            most: Duration::from_secs(30),
            jitter: 1.0,
            reset_after: Duration::from_secs(120),
            seed: None,
        }
    }
}

impl Backoff {
    /// Creates a backoff with these settings.
    pub(crate) fn new(settings: BackoffSettings) -> Self {
        let random = settings
            .seed
            .unwrap_or_else(|| RandomState::new().hash_one("backoff"));
        Self {
            next: settings.initial,
            last: None,
            random,
            settings,
        }
    }

    /// Returns the delay before the next attempt. The delays start over if the last one ended long ago.
    pub(crate) fn delay(&mut self) -> Duration {
        let now = Instant::now();
        if self
            .last
            .is_some_and(|last| now >= last + self.settings.reset_after)
        {
            self.next = self.settings.initial;
        }
        let delay = self
            .next
            .mul_f64(1.0 + self.settings.jitter * self.fraction());
        self.next = (self.next * 2).min(self.settings.most);
        self.last = Some(now + delay);
        delay
    }

    /// Returns a random whole number of seconds in `[from, from * 2]`.
    pub(crate) fn spread(&mut self, from: Duration) -> Duration {
        Duration::from_secs(from.mul_f64(1.0 + self.fraction()).as_secs())
    }

    /// Returns a random number in `[0, 1)`.
    fn fraction(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn delays_double_up_to_a_bound_and_are_stretched() {
        let mut backoff = Backoff::new(BackoffSettings {
            seed: Some(1),
            ..BackoffSettings::default()
        });
        for base in [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0] {
            let delay = backoff.delay().as_secs_f64();
            assert!((base..base * 2.0).contains(&delay), "{delay} for {base}");
            tokio::time::advance(Duration::from_secs_f64(delay)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn delays_start_over_only_after_a_quiet_time() {
        let mut backoff = Backoff::new(BackoffSettings {
            jitter: 0.0,
            ..BackoffSettings::default()
        });
        // Persistent failures keep the longest delay.
        for _ in 0..50 {
            let delay = backoff.delay();
            tokio::time::advance(delay).await;
        }
        assert_eq!(backoff.delay(), Duration::from_secs(30));
        tokio::time::advance(Duration::from_secs(30 + 119)).await;
        assert_eq!(backoff.delay(), Duration::from_secs(30));
        tokio::time::advance(Duration::from_secs(30 + 120)).await;
        assert_eq!(backoff.delay(), Duration::from_millis(800));
    }
}
