//! The wall clock, and its relation to tokio's clock.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::time::Instant;

use crate::format::record::millis;

/// The amount by which a clock may lag behind the last known time without a correction, in milliseconds.
const TOLERANCE: u64 = 60_000;

/// A function that returns the time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

/// The clock of an open store, which never goes back behind the recorded times.
#[derive(Clone)]
pub(crate) struct Wall {
    clock: Clock,
    /// The correction in milliseconds, because the clock was behind.
    ahead: u64,
}

/// The same instant on both clocks.
#[derive(Clone, Copy)]
pub(crate) struct Now {
    /// Milliseconds since 1970.
    pub(crate) wall: u64,
    pub(crate) instant: Instant,
}

impl Clock {
    /// Returns a clock that calls a function.
    ///
    /// ```
    /// use std::time::SystemTime;
    ///
    /// use kubewright_store_durable::Clock;
    ///
    /// let frozen = Clock::new(|| SystemTime::UNIX_EPOCH);
    /// # let _ = frozen;
    /// ```
    pub fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    fn millis(&self) -> u64 {
        let since = (self.0)().duration_since(SystemTime::UNIX_EPOCH);
        millis(since.unwrap_or_default())
    }
}

impl Default for Clock {
    /// Returns the clock of the system.
    fn default() -> Self {
        Self::new(SystemTime::now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

impl Wall {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, ahead: 0 }
    }

    /// Records a time in the past. If the clock lags behind it by too much, corrects the clock and returns the lag in
    /// milliseconds.
    pub(crate) fn passed(&mut self, known: u64) -> Option<u64> {
        let behind = known.saturating_sub(self.clock.millis());
        if behind <= TOLERANCE {
            return None;
        }
        self.ahead = behind;
        Some(behind)
    }

    pub(crate) fn now(&self) -> Now {
        Now {
            wall: self.clock.millis().saturating_add(self.ahead),
            instant: Instant::now(),
        }
    }
}

impl Now {
    /// Returns the expiry time of a lifetime that starts now.
    pub(crate) fn after(&self, ttl: Duration) -> u64 {
        self.wall.saturating_add(millis(ttl))
    }

    /// Converts a wall-clock time to an instant.
    pub(crate) fn instant_of(&self, wall: u64) -> Instant {
        let ahead = Duration::from_millis(wall.saturating_sub(self.wall));
        let behind = Duration::from_millis(self.wall.saturating_sub(wall));
        let there = match behind.is_zero() {
            true => self.instant.checked_add(ahead),
            false => self.instant.checked_sub(behind),
        };
        there.unwrap_or(self.instant)
    }

    /// Converts an instant to a wall-clock time.
    pub(crate) fn wall_of(&self, instant: Instant) -> u64 {
        let ahead = instant.saturating_duration_since(self.instant);
        let behind = self.instant.saturating_duration_since(instant);
        self.wall
            .saturating_add(millis(ahead))
            .saturating_sub(millis(behind))
    }
}
