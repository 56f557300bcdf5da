//! Clocks, which servers take as an argument so that tests can set the time.

use std::sync::Arc;

use jiff::Timestamp;

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

/// A shared clock.
pub type SharedClock = Arc<dyn Clock>;

/// Formats a time as metadata has it: RFC 3339, whole seconds, UTC.
pub fn rfc3339(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
