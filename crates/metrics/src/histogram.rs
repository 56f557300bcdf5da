//! [`Histogram`]: observations counted by size; [`LocalHistogram`]: the same without atomics.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// Sums are kept in billionths, so that a sum of durations is exact.
const BILLION: f64 = 1e9;

/// Observations counted by size, from many threads. Clones share the counts.
///
/// ```
/// use kubewright_metrics::Histogram;
///
/// let latency = Histogram::new(&[0.1, 1.0]);
/// latency.observe(0.25);
/// latency.observe(3.0);
/// let snapshot = latency.snapshot();
/// assert_eq!((snapshot.count(), snapshot.sum()), (2, 3.25));
/// assert_eq!(snapshot.cumulative().collect::<Vec<_>>(), [(0.1, 0), (1.0, 1)]);
/// ```
#[derive(Clone, Debug)]
pub struct Histogram(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    bounds: &'static [f64],
    /// One more than there are bounds: the last bucket has none.
    counts: Box<[AtomicU64]>,
    /// The sum in billionths: the lower 64 bits, and how often they have wrapped.
    sum: AtomicU64,
    wraps: AtomicU64,
}

/// Observations counted by size, by one thread or under a lock; also the snapshot of a [`Histogram`].
///
/// ```
/// use std::time::Duration;
/// use kubewright_metrics::LocalHistogram;
///
/// let mut latency = LocalHistogram::new(&[0.1, 1.0]);
/// latency.observe_duration(Duration::from_millis(20));
/// assert_eq!(latency.count(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalHistogram {
    bounds: Bounds,
    counts: Box<[u64]>,
    /// In billionths.
    sum: u128,
}

/// Upper bounds, ascending, without infinity. Compared by address: each histogram has its own table.
#[derive(Clone, Copy, Debug)]
struct Bounds(&'static [f64]);

impl PartialEq for Bounds {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Bounds {}

impl Histogram {
    /// Creates an empty histogram with these upper bounds, which must ascend. A bound belongs to the bucket below it.
    pub fn new(bounds: &'static [f64]) -> Self {
        Self(Arc::new(Shared {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
            wraps: AtomicU64::new(0),
        }))
    }

    /// Counts a value. Negative values count as zero in the sum.
    pub fn observe(&self, value: f64) {
        self.add(value, billionths(value));
    }

    /// Counts a duration, in seconds.
    pub fn observe_duration(&self, value: Duration) {
        self.add(value.as_secs_f64(), nanoseconds(value));
    }

    /// Returns the number of observations.
    pub fn count(&self) -> u64 {
        let counts = self.0.counts.iter();
        counts.map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Returns the sum of all observations.
    pub fn sum(&self) -> f64 {
        self.billionths() as f64 / BILLION
    }

    /// Returns the counts as they are now.
    pub fn snapshot(&self) -> LocalHistogram {
        let counts = self.0.counts.iter();
        LocalHistogram {
            bounds: Bounds(self.0.bounds),
            counts: counts.map(|count| count.load(Ordering::Relaxed)).collect(),
            sum: self.billionths(),
        }
    }

    fn add(&self, value: f64, billionths: u64) {
        if let Some(count) = self.0.counts.get(bucket(self.0.bounds, value)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let before = self.0.sum.fetch_add(billionths, Ordering::Relaxed);
        if before.checked_add(billionths).is_none() {
            self.0.wraps.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn billionths(&self) -> u128 {
        let wraps = self.0.wraps.load(Ordering::Relaxed);
        u128::from(wraps) << 64 | u128::from(self.0.sum.load(Ordering::Relaxed))
    }
}

impl LocalHistogram {
    /// Creates an empty histogram with these upper bounds, which must ascend. A bound belongs to the bucket below it.
    pub fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds: Bounds(bounds),
            counts: vec![0; bounds.len() + 1].into(),
            sum: 0,
        }
    }

    /// Counts a value. Negative values count as zero in the sum.
    pub fn observe(&mut self, value: f64) {
        self.add(value, billionths(value));
    }

    /// Counts a duration, in seconds.
    pub fn observe_duration(&mut self, value: Duration) {
        self.add(value.as_secs_f64(), nanoseconds(value));
    }

    /// Returns the number of observations.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the sum of all observations.
    pub fn sum(&self) -> f64 {
        self.sum as f64 / BILLION
    }

    /// Returns the sum of all observations as a duration, if they were durations.
    pub fn total_duration(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.sum).unwrap_or(u64::MAX))
    }

    /// Returns each upper bound with the number of observations that do not exceed it.
    pub fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let mut total = 0;
        let buckets = self.bounds.0.iter().zip(&self.counts);
        buckets.map(move |(bound, count)| {
            total += count;
            (*bound, total)
        })
    }

    fn add(&mut self, value: f64, billionths: u64) {
        if let Some(count) = self.counts.get_mut(bucket(self.bounds.0, value)) {
            *count += 1;
        }
        self.sum = self.sum.saturating_add(billionths.into());
    }
}

fn bucket(bounds: &[f64], value: f64) -> usize {
    bounds.partition_point(|bound| *bound < value)
}

fn billionths(value: f64) -> u64 {
    // Converting saturates, and makes zero of what is negative or not a number.
    (value * BILLION).round() as u64
}

fn nanoseconds(value: Duration) -> u64 {
    u64::try_from(value.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POWERS_OF_TEN: [f64; 10] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0];

    #[test]
    fn a_bound_belongs_to_the_bucket_below_it() {
        let mut histogram = LocalHistogram::new(&POWERS_OF_TEN);
        let shared = Histogram::new(&POWERS_OF_TEN);
        for nanos in [0, 1, 10, 11, 100, 101, 10_000_000_000, 10_000_000_001] {
            histogram.observe_duration(Duration::from_nanos(nanos));
            shared.observe_duration(Duration::from_nanos(nanos));
        }
        assert_eq!(shared.snapshot(), histogram);
        let buckets: Vec<_> = histogram.cumulative().collect();
        assert_eq!(buckets[0], (1e-8, 3));
        assert_eq!(buckets[1], (1e-7, 5));
        assert_eq!(buckets[2], (1e-6, 6));
        assert_eq!(buckets[9], (10.0, 7));
        assert_eq!(histogram.count(), 8);
        let total = Duration::from_nanos(20_000_000_224);
        assert_eq!(histogram.total_duration(), total);
    }

    #[test]
    fn every_power_of_ten_falls_into_its_own_bucket() {
        for (power, bound) in POWERS_OF_TEN.iter().enumerate() {
            let mut histogram = LocalHistogram::new(&POWERS_OF_TEN);
            histogram.observe_duration(Duration::from_nanos((bound * 1e9).round() as u64));
            assert_eq!(histogram.counts[power], 1, "{bound}");
        }
    }

    #[test]
    fn large_sums_do_not_wrap() {
        let bytes = Histogram::new(&[]);
        for _ in 0..4 {
            bytes.observe(1e10);
        }
        assert_eq!(bytes.sum(), 4e10);
        bytes.observe(-1.0);
        bytes.observe(f64::NAN);
        assert_eq!((bytes.sum(), bytes.count()), (4e10, 6));
    }
}
