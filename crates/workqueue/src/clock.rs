//! Time as nanoseconds since the queue was created: one word instead of two, and cheap to compare.

use std::time::Duration;

use crate::sync::Instant;

/// The longest delay. Longer ones are cut to it.
const FOREVER: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);

/// A moment, in nanoseconds since the queue was created.
pub(crate) type Moment = u64;

/// The origin of a queue's moments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    base: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            base: Instant::now(),
        }
    }

    pub(crate) fn now(&self) -> Moment {
        nanos(Instant::now().saturating_duration_since(self.base))
    }

    pub(crate) fn instant(&self, moment: Moment) -> Instant {
        self.base + Duration::from_nanos(moment).min(FOREVER * 2)
    }
}

/// Returns the moment `delay` after `now`.
pub(crate) fn after(now: Moment, delay: Duration) -> Moment {
    now.saturating_add(nanos(delay.min(FOREVER)))
}

/// Returns the time from `then` to `now`.
pub(crate) fn between(then: Moment, now: Moment) -> Duration {
    Duration::from_nanos(now.saturating_sub(then))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
