//! [`Family`]: metrics of one name that differ by the values of their labels.

use std::{hash::Hash, sync::Arc};

use hashbrown::{Equivalent, HashMap};
use parking_lot::RwLock;

use crate::{
    histogram::Histogram,
    registry::Collect,
    text::{MetricType, TextWriter},
    value::{Counter, Gauge},
};

/// A family of counters.
pub type CounterVec<const N: usize> = Family<Counter, N>;

/// A family of gauges.
pub type GaugeVec<const N: usize> = Family<Gauge, N>;

/// A family of histograms.
pub type HistogramVec<const N: usize> = Family<Histogram, N>;

/// Metrics of one name that differ by the values of `N` labels. Clones share them.
///
/// A member is created when it is first asked for. Looking one up allocates nothing, but takes a lock: keep a member that
/// is updated often.
///
/// ```
/// use kubewright_metrics::{Collect, HistogramVec, TextWriter};
///
/// let latency = HistogramVec::new("latency_seconds", "Request latency", ["verb"], &[0.1, 1.0]);
/// let get = latency.with(["GET"]);
/// get.observe(0.02);
/// let mut out = TextWriter::default();
/// latency.collect(&mut out);
/// assert!(out.finish().contains("latency_seconds_bucket{verb=\"GET\",le=\"0.1\"} 1\n"));
/// ```
#[derive(Clone, Debug)]
pub struct Family<M, const N: usize>(Arc<Members<M, N>>);

#[derive(Debug)]
struct Members<M, const N: usize> {
    name: &'static str,
    help: &'static str,
    labels: [&'static str; N],
    bounds: &'static [f64],
    members: RwLock<HashMap<[Box<str>; N], M>>,
}

/// A metric that a [`Family`] can be made of: [`Counter`], [`Gauge`], [`Histogram`].
///
/// ```
/// use kubewright_metrics::{CounterVec, Family, Metric};
///
/// /// Works for families of counters, gauges and histograms.
/// fn members<M: Metric, const N: usize>(family: &Family<M, N>) -> usize {
///     let mut count = 0;
///     family.for_each(|_, _| count += 1);
///     count
/// }
///
/// let sold = CounterVec::new("sold_total", "Fruit sold", ["fruit"]);
/// sold.with(["apple"]).inc();
/// assert_eq!(members(&sold), 1);
/// ```
pub trait Metric: sealed::Sealed + Clone + Send + Sync {
    /// The type in the text format.
    const TYPE: MetricType;
}

mod sealed {
    use crate::TextWriter;

    pub trait Sealed {
        /// Creates a metric; the bounds are those of the family's histograms.
        fn make(bounds: &'static [f64]) -> Self;
        fn write(&self, out: &mut TextWriter, name: &str, labels: &[(&str, &str)]);
    }
}

/// Borrowed label values, which hash as owned ones do.
struct Values<'a, const N: usize>([&'a str; N]);

impl<const N: usize> Hash for Values<'_, N> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<const N: usize> Equivalent<[Box<str>; N]> for Values<'_, N> {
    fn equivalent(&self, key: &[Box<str>; N]) -> bool {
        // Empty values are frequent, and their address is not that of any memory: comparing their bytes takes 80 ns on processors
        // with AVX-512, by a masked load from there.
        let is_same = |a: &str, b: &str| a.len() == b.len() && (a.is_empty() || a == b);
        self.0.iter().zip(key).all(|(a, b)| is_same(a, b))
    }
}

impl<const N: usize> Family<Counter, N> {
    /// Creates a family without members.
    pub fn new(name: &'static str, help: &'static str, labels: [&'static str; N]) -> Self {
        Self::make(name, help, labels, &[])
    }
}

impl<const N: usize> Family<Gauge, N> {
    /// Creates a family without members.
    pub fn new(name: &'static str, help: &'static str, labels: [&'static str; N]) -> Self {
        Self::make(name, help, labels, &[])
    }
}

impl<const N: usize> Family<Histogram, N> {
    /// Creates a family without members, with these upper bounds, which must ascend.
    pub fn new(
        name: &'static str,
        help: &'static str,
        labels: [&'static str; N],
        bounds: &'static [f64],
    ) -> Self {
        Self::make(name, help, labels, bounds)
    }
}

impl<M: Metric, const N: usize> Family<M, N> {
    /// Returns the member with these values of the labels, creating it if necessary.
    pub fn with(&self, values: [&str; N]) -> M {
        if let Some(member) = self.0.members.read().get(&Values(values)) {
            return member.clone();
        }
        let mut members = self.0.members.write();
        let member = members.entry(values.map(Box::from));
        member.or_insert_with(|| M::make(self.0.bounds)).clone()
    }

    /// Removes the member with these values.
    pub fn remove(&self, values: [&str; N]) {
        self.0.members.write().remove(&Values(values));
    }

    /// Calls `visit` with every member and its values, in no particular order.
    pub fn for_each(&self, mut visit: impl FnMut([&str; N], &M)) {
        for (values, member) in &*self.0.members.read() {
            visit(values.each_ref().map(|value| &**value), member);
        }
    }

    fn make(
        name: &'static str,
        help: &'static str,
        labels: [&'static str; N],
        bounds: &'static [f64],
    ) -> Self {
        Self(Arc::new(Members {
            name,
            help,
            labels,
            bounds,
            members: RwLock::default(),
        }))
    }
}

impl<M: Metric, const N: usize> Collect for Family<M, N> {
    /// Writes the members in the order of their values; nothing if there are none.
    fn collect(&self, out: &mut TextWriter) {
        let family = &*self.0;
        let members = family.members.read();
        if members.is_empty() {
            return;
        }
        out.heading(family.name, family.help, M::TYPE);
        let mut sorted: Vec<_> = members.iter().collect();
        sorted.sort_unstable_by_key(|(values, _)| *values);
        for (values, member) in sorted {
            let values = values.each_ref().map(|value| &**value);
            let labels: Vec<_> = family.labels.into_iter().zip(values).collect();
            member.write(out, family.name, &labels);
        }
    }
}

impl Metric for Counter {
    const TYPE: MetricType = MetricType::Counter;
}

impl Metric for Gauge {
    const TYPE: MetricType = MetricType::Gauge;
}

impl Metric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

impl sealed::Sealed for Counter {
    fn make(_: &'static [f64]) -> Self {
        Self::default()
    }

    fn write(&self, out: &mut TextWriter, name: &str, labels: &[(&str, &str)]) {
        out.sample(name, labels.iter().copied(), self.get() as f64);
    }
}

impl sealed::Sealed for Gauge {
    fn make(_: &'static [f64]) -> Self {
        Self::default()
    }

    fn write(&self, out: &mut TextWriter, name: &str, labels: &[(&str, &str)]) {
        out.sample(name, labels.iter().copied(), self.get() as f64);
    }
}

impl sealed::Sealed for Histogram {
    fn make(bounds: &'static [f64]) -> Self {
        Self::new(bounds)
    }

    fn write(&self, out: &mut TextWriter, name: &str, labels: &[(&str, &str)]) {
        out.histogram(name, labels, &self.snapshot());
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
