//! A histogram of durations with the buckets of kube-apiserver.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// The upper bounds in seconds.
pub(super) const BOUNDS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0,
    10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
];

/// Counts by bucket; the last one has no bound.
#[derive(Default)]
pub(super) struct Histogram {
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

impl Histogram {
    pub(super) fn observe(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let index = BOUNDS
            .iter()
            .position(|bound| seconds <= *bound)
            .unwrap_or(BOUNDS.len());
        if let Some(bucket) = self.buckets.get(index) {
            bucket.fetch_add(1, Relaxed);
        }
        self.nanoseconds
            .fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    /// For each bound, how many were not above it; the last number is the count of all.
    pub(super) fn cumulative(&self) -> Vec<u64> {
        let counts = self.buckets.iter().map(|bucket| bucket.load(Relaxed));
        counts
            .scan(0, |sum, count| {
                *sum += count;
                Some(*sum)
            })
            .collect()
    }

    pub(super) fn sum_seconds(&self) -> f64 {
        self.nanoseconds.load(Relaxed) as f64 / 1e9
    }
}
