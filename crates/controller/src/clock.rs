//! [`SharedClock`]: the clock of a manager, which a test can replace.

use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::RwLock;

/// A clock.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The clock of a manager: the machine's, unless it is replaced. Clones share it.
#[derive(Clone)]
pub(crate) struct SharedClock(Arc<RwLock<Clock>>);

impl Default for SharedClock {
    fn default() -> Self {
        Self(Arc::new(RwLock::new(Arc::new(Timestamp::now))))
    }
}

impl SharedClock {
    pub(crate) fn now(&self) -> Timestamp {
        let clock = self.0.read().clone();
        clock()
    }

    pub(crate) fn replace(&self, clock: Clock) {
        *self.0.write() = clock;
    }
}
