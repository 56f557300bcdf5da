//! Counts of what a store has done since it was opened.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

/// Counts of what a store has done since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// The number of writes in the log.
    pub records: u64,
    /// The number of groups of writes.
    pub groups: u64,
    /// The number of syncs of the log.
    pub syncs: u64,
    /// The time that they took.
    pub sync_time: Duration,
    /// The number of checkpoints.
    pub checkpoints: u64,
    /// The number of checkpoints that failed.
    pub checkpoint_failures: u64,
}

/// The counts as they are kept.
pub(crate) struct Counters {
    log_bytes: AtomicU64,
    records: AtomicU64,
    groups: AtomicU64,
    syncs: AtomicU64,
    sync_micros: AtomicU64,
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
            syncs: AtomicU64::default(),
            sync_micros: AtomicU64::default(),
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
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.sync_micros.fetch_add(micros, Ordering::Relaxed);
        *self.last_sync.lock() = Instant::now();
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

    /// Returns the size of the log, as far as it counts for the next checkpoint.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.log_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn stats(&self) -> Stats {
        Stats {
            records: self.records.load(Ordering::Relaxed),
            groups: self.groups.load(Ordering::Relaxed),
            syncs: self.syncs.load(Ordering::Relaxed),
            sync_time: Duration::from_micros(self.sync_micros.load(Ordering::Relaxed)),
            checkpoints: self.checkpoints.load(Ordering::Relaxed),
            checkpoint_failures: self.checkpoint_failures.load(Ordering::Relaxed),
        }
    }
}
