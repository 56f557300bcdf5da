//! The idle time of a connection.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::time::Instant;

#[derive(Clone, Debug)]
pub(crate) struct Idle {
    start: Instant,
    /// Milliseconds after the start.
    last: Arc<AtomicU64>,
    timeout: Duration,
}

impl Idle {
    pub(super) fn new(timeout: Duration) -> Self {
        Self {
            start: Instant::now(),
            last: Arc::default(),
            timeout,
        }
    }

    /// Records activity.
    pub(super) fn touch(&self) {
        let elapsed = self.start.elapsed().as_millis();
        self.last
            .store(u64::try_from(elapsed).unwrap_or(u64::MAX), Relaxed);
    }

    /// Waits until the connection has been idle for the timeout.
    pub(super) async fn expired(&self) {
        loop {
            let last = Duration::from_millis(self.last.load(Relaxed));
            let end = self.start + last + self.timeout;
            if Instant::now() >= end {
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    }
}
