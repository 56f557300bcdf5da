//! A histogram of durations with the buckets of Kubernetes' work queue metrics.

use std::time::Duration;

/// Counts of durations up to 10 ns, 100 ns, and so on to 10 s.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    counts: [u64; Self::BOUNDS.len() + 1],
    sum: Duration,
}

impl Histogram {
    /// The upper bounds of the buckets in seconds, as they are written; one without a bound follows.
    pub const BOUNDS: [&str; 10] = [
        "1e-08", "1e-07", "1e-06", "1e-05", "0.0001", "0.001", "0.01", "0.1", "1", "10",
    ];

    /// Counts a duration.
    pub fn observe(&mut self, duration: Duration) {
        let nanos = duration.as_nanos();
        // The bounds are powers of ten and belong to the bucket below them.
        let bucket = match nanos {
            0 | 1 => 0,
            _ => (nanos - 1).ilog10() as usize,
        };
        self.counts[bucket.min(Self::BOUNDS.len())] += 1;
        self.sum = self.sum.saturating_add(duration);
    }

    /// How many durations were counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// All of them together.
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// How many were not longer than each of [`BOUNDS`](Self::BOUNDS).
    pub fn cumulative(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let mut total = 0;
        Self::BOUNDS
            .into_iter()
            .zip(self.counts)
            .map(move |(bound, count)| {
                total += count;
                (bound, total)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        let mut histogram = Histogram::default();
        for nanos in [0, 1, 10, 11, 100, 101, 10_000_000_000, 10_000_000_001] {
            histogram.observe(Duration::from_nanos(nanos));
        }
        let buckets: Vec<_> = histogram.cumulative().collect();
        assert_eq!(buckets[0], ("1e-08", 3));
        assert_eq!(buckets[1], ("1e-07", 5));
        assert_eq!(buckets[2], ("1e-06", 6));
        assert_eq!(buckets[9], ("10", 7));
        assert_eq!(histogram.count(), 8);
        assert_eq!(histogram.sum(), Duration::from_nanos(20_000_000_224));
    }

    #[test]
    fn bounds_are_the_powers_of_ten_they_stand_for() {
        for (power, bound) in Histogram::BOUNDS.iter().enumerate() {
            let mut histogram = Histogram::default();
            let seconds: f64 = bound.parse().expect("a number");
            histogram.observe(Duration::from_nanos((seconds * 1e9).round() as u64));
            assert_eq!(histogram.counts[power], 1, "{bound}");
        }
    }
}
