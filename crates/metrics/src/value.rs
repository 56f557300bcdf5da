//! [`Counter`] and [`Gauge`]: single numbers.

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicU64, Ordering},
};

/// A number that only grows. Clones share it.
///
/// ```
/// use kubewright_metrics::Counter;
///
/// let requests = Counter::default();
/// requests.inc();
/// requests.add(2);
/// assert_eq!(requests.get(), 3);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<AtomicU64>);

/// A number that goes up and down. Clones share it.
///
/// ```
/// use kubewright_metrics::Gauge;
///
/// let workers = Gauge::default();
/// workers.set(4);
/// workers.dec();
/// assert_eq!(workers.get(), 3);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Gauge(Arc<AtomicI64>);

impl Counter {
    /// Adds 1.
    pub fn inc(&self) {
        self.add(1);
    }

    /// Adds `n`.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Returns the current value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Gauge {
    /// Adds 1.
    pub fn inc(&self) {
        self.add(1);
    }

    /// Subtracts 1.
    pub fn dec(&self) {
        self.add(-1);
    }

    /// Adds `n`, which may be negative.
    pub fn add(&self, n: i64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Sets the value.
    pub fn set(&self, n: i64) {
        self.0.store(n, Ordering::Relaxed);
    }

    /// Returns the current value.
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}
