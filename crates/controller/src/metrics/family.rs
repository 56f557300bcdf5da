//! [`Counter`], [`Gauge`], [`Histogram`], and families of them by label.
//!
//! A family makes its members when they are first asked for and keeps them. Hold on to a member that is counted often.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::RwLock;

use super::{
    Collect,
    text::{self, MetricType, TextWriter},
};

/// Only grows. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<AtomicU64>);

/// Goes up and down. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Gauge(Arc<AtomicI64>);

/// Counts by size. Clones share it.
#[derive(Clone, Debug)]
pub struct Histogram(Arc<Buckets>);

#[derive(Debug)]
struct Buckets {
    /// Upper bounds, ascending, without infinity.
    bounds: Arc<[f64]>,
    /// One more than there are bounds.
    counts: Box<[AtomicU64]>,
    /// In billionths.
    sum: AtomicU64,
}

/// Counters by label.
pub type CounterVec<const N: usize> = Family<Counter, N>;

/// Gauges by label.
pub type GaugeVec<const N: usize> = Family<Gauge, N>;

/// Histograms by label.
pub type HistogramVec<const N: usize> = Family<Histogram, N>;

/// Metrics of one name that differ by the values of `N` labels. Clones share them.
#[derive(Clone, Debug)]
pub struct Family<M, const N: usize>(Arc<Members<M, N>>);

#[derive(Debug)]
struct Members<M, const N: usize> {
    name: &'static str,
    help: &'static str,
    labels: [&'static str; N],
    bounds: Arc<[f64]>,
    members: RwLock<BTreeMap<[String; N], M>>,
}

/// A metric that a family can be made of.
trait Metric: Clone + Send + Sync {
    const TYPE: MetricType;
    fn make(bounds: &Arc<[f64]>) -> Self;
    fn write(&self, out: &mut TextWriter, name: &str, labels: &[(&str, &str)]);
}

impl Counter {
    /// One more.
    pub fn inc(&self) {
        self.add(1);
    }

    /// So many more.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// How many.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Gauge {
    /// One more.
    pub fn inc(&self) {
        self.add(1);
    }

    /// One less.
    pub fn dec(&self) {
        self.add(-1);
    }

    /// So many more, or less.
    pub fn add(&self, n: i64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// So many.
    pub fn set(&self, n: i64) {
        self.0.store(n, Ordering::Relaxed);
    }

    /// How many.
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Histogram {
    /// With these upper bounds, ascending.
    pub fn new(bounds: &[f64]) -> Self {
        Self::make(&bounds.into())
    }

    /// Counts a size that is not negative.
    pub fn observe(&self, value: f64) {
        let bucket = self.0.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.0.counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        // Billionths, so that a sum of durations is exact.
        let billionths = (value * 1e9).round().max(0.0) as u64;
        self.0.sum.fetch_add(billionths, Ordering::Relaxed);
    }

    /// Counts a duration, in seconds.
    pub fn observe_duration(&self, value: Duration) {
        self.observe(value.as_secs_f64());
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.0
            .counts
            .iter()
            .map(|c| c.load(Ordering::Relaxed))
            .sum()
    }

    /// All sizes together.
    pub fn sum(&self) -> f64 {
        self.0.sum.load(Ordering::Relaxed) as f64 / 1e9
    }
}

impl<const N: usize> Family<Counter, N> {
    /// Without members.
    pub fn new(name: &'static str, help: &'static str, labels: [&'static str; N]) -> Self {
        Self::make(name, help, labels, &[])
    }
}

impl<const N: usize> Family<Gauge, N> {
    /// Without members.
    pub fn new(name: &'static str, help: &'static str, labels: [&'static str; N]) -> Self {
        Self::make(name, help, labels, &[])
    }
}

impl<const N: usize> Family<Histogram, N> {
    /// Without members. The upper bounds ascend.
    pub fn new(
        name: &'static str,
        help: &'static str,
        labels: [&'static str; N],
        bounds: &[f64],
    ) -> Self {
        Self::make(name, help, labels, bounds)
    }
}

#[allow(private_bounds)]
impl<M: Metric, const N: usize> Family<M, N> {
    /// The member with these values of the labels.
    pub fn with(&self, values: [&str; N]) -> M {
        let key = values.map(str::to_owned);
        if let Some(member) = self.0.members.read().get(&key) {
            return member.clone();
        }
        let mut members = self.0.members.write();
        members
            .entry(key)
            .or_insert_with(|| M::make(&self.0.bounds))
            .clone()
    }

    /// Forgets the member with these values.
    pub fn remove(&self, values: [&str; N]) {
        self.0.members.write().remove(&values.map(str::to_owned));
    }

    fn make(
        name: &'static str,
        help: &'static str,
        labels: [&'static str; N],
        bounds: &[f64],
    ) -> Self {
        Self(Arc::new(Members {
            name,
            help,
            labels,
            bounds: bounds.into(),
            members: RwLock::default(),
        }))
    }
}

impl<M: Metric, const N: usize> Collect for Family<M, N> {
    fn collect(&self, out: &mut TextWriter) {
        let family = &self.0;
        let members = family.members.read();
        if members.is_empty() {
            return;
        }
        out.heading(family.name, family.help, M::TYPE);
        for (values, member) in &*members {
            let labels: Vec<_> = family
                .labels
                .into_iter()
                .zip(values.iter().map(String::as_str))
                .collect();
            member.write(out, family.name, &labels);
        }
    }
}

impl Metric for Counter {
    const TYPE: MetricType = MetricType::Counter;

    fn make(_: &Arc<[f64]>) -> Self {
        Self::default()
    }

    fn write(&self, out: &mut TextWriter, name: &str, labels: &[(&str, &str)]) {
        out.sample(name, labels.iter().copied(), self.get() as f64);
    }
}

impl Metric for Gauge {
    const TYPE: MetricType = MetricType::Gauge;

    fn make(_: &Arc<[f64]>) -> Self {
        Self::default()
    }

    fn write(&self, out: &mut TextWriter, name: &str, labels: &[(&str, &str)]) {
        out.sample(name, labels.iter().copied(), self.get() as f64);
    }
}

impl Metric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;

    fn make(bounds: &Arc<[f64]>) -> Self {
        Self(Arc::new(Buckets {
            bounds: bounds.clone(),
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
        }))
    }

    fn write(&self, out: &mut TextWriter, name: &str, labels: &[(&str, &str)]) {
        let bucket = format!("{name}_bucket");
        let bounds = self.0.bounds.iter().copied().chain([f64::INFINITY]);
        let mut total = 0;
        for (bound, count) in bounds.zip(&self.0.counts) {
            total += count.load(Ordering::Relaxed);
            let mut le = String::new();
            text::number(&mut le, bound);
            let labels = labels.iter().copied().chain([("le", le.as_str())]);
            out.sample(&bucket, labels, total as f64);
        }
        out.sample(&format!("{name}_sum"), labels.iter().copied(), self.sum());
        out.sample(
            &format!("{name}_count"),
            labels.iter().copied(),
            total as f64,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(collector: &dyn Collect) -> String {
        let mut out = TextWriter::default();
        collector.collect(&mut out);
        out.finish()
    }

    #[test]
    fn a_family_without_members_writes_nothing() {
        assert_eq!(written(&GaugeVec::new("a", "b", ["c"])), "");
    }

    #[test]
    fn members_are_shared_and_sorted() {
        let family = GaugeVec::new("workers", "Who works", ["controller", "zone"]);
        family.with(["b", "1"]).set(-3);
        family.with(["a", "2"]).inc();
        family.with(["a", "2"]).inc();
        assert_eq!(
            written(&family),
            "# HELP workers Who works\n# TYPE workers gauge\n\
             workers{controller=\"a\",zone=\"2\"} 2\nworkers{controller=\"b\",zone=\"1\"} -3\n"
        );
        family.remove(["a", "2"]);
        assert_eq!(family.with(["a", "2"]).get(), 0);
    }

    #[test]
    fn buckets_of_a_histogram_add_up() {
        let family = HistogramVec::new("time_seconds", "How long", [], &[0.1, 1.0]);
        let histogram = family.with([]);
        for value in [0.1, 0.05, 0.5, 7.25] {
            histogram.observe(value);
        }
        assert_eq!(
            written(&family),
            "# HELP time_seconds How long\n# TYPE time_seconds histogram\n\
             time_seconds_bucket{le=\"0.1\"} 2\ntime_seconds_bucket{le=\"1\"} 3\n\
             time_seconds_bucket{le=\"+Inf\"} 4\ntime_seconds_sum 7.9\ntime_seconds_count 4\n"
        );
        assert_eq!(histogram.count(), 4);
    }
}
