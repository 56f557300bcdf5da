//! [`LabClock`]: a clock that can be stopped, moved, and made faster.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kubewright_apiserver::{Clock, SystemClock};
use parking_lot::Mutex;

/// The maximum rate.
const MAX_RATE: f64 = 1e6;

/// The clock of a cluster in a [`Lab`](crate::Lab). It starts as the clock of the machine. Clones share it.
///
/// It sets the times that the server and its built-in controllers write, and decides when tokens and leases expire. Timers of
/// this process and of clients are not affected.
///
/// ```
/// use kubewright_apiserver::Clock;
/// use kubewright_cluster::LabClock;
///
/// let clock = LabClock::default();
/// clock.set_rate(0.0);
/// let now = clock.now();
/// clock.advance(jiff::SignedDuration::from_hours(1));
/// assert_eq!(clock.now().duration_since(now).as_hours(), 1);
/// assert_eq!(clock.now(), clock.now());
/// ```
#[derive(Clone)]
pub struct LabClock(Arc<Mutex<State>>);

/// The time at some moment of the machine's clock, and how fast it passes since then.
#[derive(Clone, Copy)]
struct State {
    time: Timestamp,
    since: Timestamp,
    rate: f64,
}

impl Default for LabClock {
    fn default() -> Self {
        let now = SystemClock.now();
        Self(Arc::new(Mutex::new(State {
            time: now,
            since: now,
            rate: 1.0,
        })))
    }
}

impl LabClock {
    /// Advances the time.
    pub fn advance(&self, by: SignedDuration) {
        let mut state = self.0.lock();
        state.time = state.time.checked_add(by).unwrap_or(state.time);
    }

    /// Sets how fast the time passes: 0 stops it, 60 makes a minute of a second. Negative rates count as 0.
    pub fn set_rate(&self, rate: f64) {
        let rate = if rate.is_finite() { rate } else { 1.0 };
        let mut state = self.0.lock();
        let machine = SystemClock.now();
        *state = State {
            time: state.at(machine),
            since: machine,
            rate: rate.clamp(0.0, MAX_RATE),
        };
    }

    /// Returns how fast the time passes.
    pub fn rate(&self) -> f64 {
        self.0.lock().rate
    }

    /// Returns the difference to the clock of the machine.
    pub fn offset(&self) -> SignedDuration {
        let machine = SystemClock.now();
        self.0.lock().at(machine).duration_since(machine)
    }
}

impl Clock for LabClock {
    fn now(&self) -> Timestamp {
        self.0.lock().at(SystemClock.now())
    }
}

impl State {
    /// Returns the time when the machine's clock shows another one.
    fn at(&self, machine: Timestamp) -> Timestamp {
        let passed = machine.duration_since(self.since);
        // At the normal pace, the clock follows that of the machine exactly.
        let passed = match self.rate == 1.0 {
            true => passed,
            false => SignedDuration::try_from_secs_f64(passed.as_secs_f64() * self.rate)
                .unwrap_or(SignedDuration::ZERO),
        };
        self.time.checked_add(passed).unwrap_or(self.time)
    }
}
