//! Clocks, which servers take as an argument so that tests can set the time.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// A source of the current time.
///
/// ```
/// use jiff::Timestamp;
/// use kubewright_apiserver::{Clock, rfc3339};
///
/// /// A clock that stands still.
/// struct Stopped;
///
/// impl Clock for Stopped {
///     fn now(&self) -> Timestamp {
///         Timestamp::UNIX_EPOCH
///     }
/// }
///
/// assert_eq!(rfc3339(Stopped.now()), "1970-01-01T00:00:00Z");
/// ```
pub trait Clock: Send + Sync + 'static {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// The system clock.
///
/// ```
/// use std::sync::Arc;
///
/// use jiff::Timestamp;
/// use kubewright_apiserver::{SharedClock, SystemClock};
///
/// let clock: SharedClock = Arc::new(SystemClock);
/// assert!(clock.now() > Timestamp::UNIX_EPOCH);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A clock that starts at the machine's time and follows that of tokio, which stands still when it is paused, and can be driven
/// faster than the machine's.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
/// use std::time::Duration;
///
/// use kubewright_apiserver::{Clock, TokioClock};
///
/// let clock = TokioClock::new();
/// let before = clock.now();
/// tokio::time::sleep(Duration::from_secs(60)).await;
/// assert_eq!(clock.now().duration_since(before).as_secs(), 60);
/// # });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    wall: Timestamp,
    began: Instant,
}

impl TokioClock {
    /// Creates a clock that starts now.
    pub fn new() -> Self {
        Self {
            wall: SystemClock.now(),
            began: Instant::now(),
        }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        let passed = Instant::now().saturating_duration_since(self.began);
        let passed = SignedDuration::try_from(passed).unwrap_or(SignedDuration::MAX);
        self.wall.saturating_add(passed).unwrap_or(Timestamp::MAX)
    }
}

/// A shared clock.
pub type SharedClock = Arc<dyn Clock>;

/// Formats a time as metadata has it: RFC 3339, whole seconds, UTC.
pub fn rfc3339(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
