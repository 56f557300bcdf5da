//! Statistics of an open store.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use kubewright_metrics::{Histogram, LocalHistogram};
use parking_lot::Mutex;

/// The upper bounds of the durations of syncs, in seconds.
static SYNC_SECONDS: [f64; 14] = [
    0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0,
];

/// Statistics of an open store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// The number of writes in the log.
    pub records: u64,
    /// The number of groups of writes.
    pub groups: u64,
    /// The number of syncs of the log.
    pub syncs: u64,
    /// Their total duration.
    pub sync_time: Duration,
    /// The number of checkpoints.
    pub checkpoints: u64,
    /// The number of checkpoints that failed.
    pub checkpoint_failures: u64,
}

/// The counters of an open store.
pub(crate) struct Counters {
    log_bytes: AtomicU64,
    records: AtomicU64,
    groups: AtomicU64,
    sync_seconds: Histogram,
    checkpoints: AtomicU64,
    checkpoint_failures: AtomicU64,
    last_sync: Mutex<Instant>,
}

impl Counters {
    pub(crate) fn starting_with(log_bytes: u64) -> Self {
        Self {
            log_bytes: AtomicU64::new(log_bytes),
            records: AtomicU64::default(),
            groups: AtomicU64::default(),
            sync_seconds: Histogram::new(&SYNC_SECONDS),
            checkpoints: AtomicU64::default(),
            checkpoint_failures: AtomicU64::default(),
            last_sync: Mutex::new(Instant::now()),
        }
    }

    pub(crate) fn written(&self, bytes: u64, records: u32) {
        self.log_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.records
            .fetch_add(u64::from(records), Ordering::Relaxed);
        self.groups.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn synced(&self, took: Duration) {
        self.sync_seconds.observe_duration(took);
        *self.last_sync.lock() = Instant::now();
    }

    /// Returns the durations of syncs.
    pub(crate) fn sync_seconds(&self) -> LocalHistogram {
        self.sync_seconds.snapshot()
    }

    pub(crate) fn since_sync(&self) -> Duration {
        self.last_sync.lock().elapsed()
    }

    pub(crate) fn checkpointed(&self) {
        self.checkpoints.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn checkpoint_failed(&self) {
        self.checkpoint_failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the size of the log that counts towards the next checkpoint.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.log_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn stats(&self) -> Stats {
        Stats {
            records: self.records.load(Ordering::Relaxed),
            groups: self.groups.load(Ordering::Relaxed),
            syncs: self.sync_seconds.count(),
            sync_time: Duration::try_from_secs_f64(self.sync_seconds.sum()).unwrap_or_default(),
            checkpoints: self.checkpoints.load(Ordering::Relaxed),
            checkpoint_failures: self.checkpoint_failures.load(Ordering::Relaxed),
        }
    }
}
