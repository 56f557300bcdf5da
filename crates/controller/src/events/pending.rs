//! [`Pending`]: the number of events that have been recorded and are not written yet.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;

/// Counts events that are not written yet. Clones share the count.
#[derive(Clone, Default)]
pub(crate) struct Pending(Arc<Count>);

#[derive(Default)]
struct Count {
    events: AtomicUsize,
    /// Notified when an event has been written or given up.
    pulse: Arc<Notify>,
}

/// An event that is not written yet. Dropping it uncounts it.
pub(super) struct PendingEvent(Pending);

impl Pending {
    pub(crate) fn new(pulse: Arc<Notify>) -> Self {
        Self(Arc::new(Count {
            events: AtomicUsize::new(0),
            pulse,
        }))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.events.load(Ordering::SeqCst) == 0
    }

    pub(super) fn add(&self) -> PendingEvent {
        self.0.events.fetch_add(1, Ordering::SeqCst);
        PendingEvent(self.clone())
    }
}

impl Drop for PendingEvent {
    fn drop(&mut self) {
        let count = &self.0.0;
        count.events.fetch_sub(1, Ordering::SeqCst);
        count.pulse.notify_waiters();
    }
}
