//! [`Monitor`]: the counters and the last errors of reflectors.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use super::error::ReflectorError;
use crate::metrics::Metrics;
use crate::object::Rejected;

/// Counts, and keeps the last error of each reflector until it succeeds again.
pub(crate) struct Monitor {
    pub(crate) metrics: Metrics,
    errors: watch::Sender<Vec<Option<Arc<ReflectorError>>>>,
    last_rejected: Mutex<Option<Rejected>>,
    last_sign: Mutex<Option<Instant>>,
    on_error: Option<ErrorHandler>,
}

/// A function that is called for every error that ends a list or a watch. It must return quickly.
pub type ErrorHandler = Arc<dyn Fn(&ReflectorError) + Send + Sync>;

impl Monitor {
    /// Creates a monitor of that many reflectors.
    pub(crate) fn new(reflectors: usize, on_error: Option<ErrorHandler>) -> Arc<Self> {
        Arc::new(Self {
            metrics: Metrics::default(),
            errors: watch::Sender::new(vec![None; reflectors]),
            last_rejected: Mutex::new(None),
            last_sign: Mutex::new(None),
            on_error,
        })
    }

    /// Returns the current error, if any.
    pub(crate) fn error(&self) -> Option<Arc<ReflectorError>> {
        self.errors.borrow().iter().flatten().next().cloned()
    }

    /// Returns the last object that could not be cached, with the reason.
    pub(crate) fn last_rejected(&self) -> Option<Rejected> {
        self.last_rejected.lock().clone()
    }

    pub(crate) fn quiet_millis(&self) -> Option<u64> {
        let last = (*self.last_sign.lock())?;
        u64::try_from(last.elapsed().as_millis()).ok()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<Vec<Option<Arc<ReflectorError>>>> {
        self.errors.subscribe()
    }

    /// Notes an error. A watch list that breaks off is followed by a list, whose error says more: the first must not hide
    /// the second while both fail in turn.
    pub(super) fn failed(&self, source: usize, error: ReflectorError) {
        self.metrics.errors.inc();
        match &error {
            error if error.is_expired() => tracing::info!(%error, "resource version expired"),
            error => tracing::warn!(%error, "list or watch failed"),
        }
        if let Some(on_error) = &self.on_error {
            on_error(&error);
        }
        self.errors.send_modify(|errors| {
            if let Some(slot) = errors.get_mut(source)
                && (slot.is_none() || !matches!(error, ReflectorError::NoEndMarker))
            {
                *slot = Some(Arc::new(error));
            }
        });
    }

    pub(super) fn healthy(&self, source: usize) {
        self.errors.send_if_modified(|errors| {
            errors
                .get_mut(source)
                .is_some_and(|slot| slot.take().is_some())
        });
    }

    pub(super) fn sign_of_life(&self) {
        *self.last_sign.lock() = Some(Instant::now());
    }

    pub(super) fn rejected(&self, rejected: Rejected) {
        self.metrics.rejected.inc();
        tracing::warn!(
            object = rejected.what,
            why = rejected.why,
            "object cannot be cached"
        );
        *self.last_rejected.lock() = Some(rejected);
    }
}
