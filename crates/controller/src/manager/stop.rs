//! [`Stop`]: told when to stop.

use tokio::sync::watch;

/// Told when to stop. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

/// Tells when to stop.
#[derive(Debug)]
pub(crate) struct Stopper(watch::Sender<bool>);

impl Stop {
    /// Whether it is time to stop.
    pub fn is_stopping(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }

    /// Waits until it is time to stop.
    pub async fn stopping(&self) {
        // A teller that is gone means the end as well.
        let _ = self.0.clone().wait_for(|stop| *stop).await;
    }
}

impl Stopper {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    pub(crate) fn stop(&self) {
        self.0.send_replace(true);
    }

    pub(crate) fn told(&self) -> Stop {
        Stop(self.0.subscribe())
    }
}
