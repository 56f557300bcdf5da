//! [`Stop`]: a stop signal.

use tokio::sync::watch;

/// A stop signal. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

/// The sender of a stop signal.
#[derive(Debug)]
pub(crate) struct Stopper(watch::Sender<bool>);

impl Stop {
    /// Reports whether it is time to stop.
    pub fn is_stopping(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }

    /// Waits until it is time to stop.
    pub async fn stopping(&self) {
        // A dropped sender means the end as well.
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
