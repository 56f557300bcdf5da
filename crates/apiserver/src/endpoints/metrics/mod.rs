//! `/metrics`: what the server did, as Prometheus text.
//!
//! Names, labels and buckets are those of kube-apiserver, so dashboards made for it work. Recording a request takes a
//! shared lock, a hash lookup without allocation and a few atomic additions.
//!
//! Label values come from the resources that are served, never from what clients invent: ask
//! [`RequestLabels::of`] only for resources that exist. As a second line the number of series is bounded; what is over
//! the bound is counted together under the verb `other`.

mod labels;
mod text;

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use kubewright_metrics::{Counter, Gauge, Histogram, TextWriter};
use parking_lot::RwLock;

use labels::Labels;
pub(crate) use labels::RequestLabels;

/// The maximum number of combinations of labels.
const MOST_SERIES: usize = 8192;

/// The upper bounds of request durations, in seconds.
static REQUEST_SECONDS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0,
    10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
];

/// The content type of the text.
pub(crate) const CONTENT_TYPE: &str =
    "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

/// The number of stored objects of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectCount {
    /// Empty for the core group.
    pub group: String,
    /// `pods`
    pub resource: String,
    /// The number of objects.
    pub count: u64,
}

type CollectOthers = Box<dyn Fn(&mut TextWriter) + Send + Sync>;

type CountObjects = Box<dyn Fn() -> Vec<ObjectCount> + Send + Sync>;

/// The counters of a server.
///
/// ```
/// use jiff::Timestamp;
/// use kubewright_apiserver::{Metrics, ObjectCount};
///
/// let metrics = Metrics::new(Timestamp::UNIX_EPOCH);
/// metrics.count_objects_with(|| {
///     vec![ObjectCount { group: String::new(), resource: "pods".into(), count: 3 }]
/// });
/// assert!(metrics.render().contains("apiserver_storage_objects"));
/// ```
pub struct Metrics {
    start: Timestamp,
    hasher: RandomState,
    series: RwLock<SeriesTable>,
    read_only: Gauge,
    mutating: Gauge,
    objects: RwLock<Option<CountObjects>>,
    others: RwLock<Vec<CollectOthers>>,
}

/// The effect of a request on stored objects.
#[derive(Clone, Copy)]
pub(crate) enum Effect {
    /// It reads.
    ReadOnly,
    /// It writes.
    Mutating,
}

/// Counts a request as in flight until it is dropped.
pub(crate) struct InFlight {
    metrics: Arc<Metrics>,
    effect: Effect,
}

/// Counts a watch (or another long request) as running until it is dropped.
pub(crate) struct LongRunning(Arc<Series>);

#[derive(Default)]
struct SeriesTable {
    by_hash: HashMap<u64, Vec<Arc<Series>>>,
    count: usize,
}

/// Everything counted under one combination of labels.
struct Series {
    labels: Labels,
    /// Requests by status code.
    codes: RwLock<Vec<(u16, Counter)>>,
    duration: Histogram,
    long_running: Gauge,
}

impl Metrics {
    /// With nothing counted yet. `start` is when the process started.
    pub fn new(start: Timestamp) -> Self {
        Self {
            start,
            hasher: RandomState::new(),
            series: RwLock::default(),
            read_only: Gauge::default(),
            mutating: Gauge::default(),
            objects: RwLock::new(None),
            others: RwLock::default(),
        }
    }

    /// Sets the source of the numbers of stored objects. It is called whenever the metrics are read.
    pub fn count_objects_with(&self, count: impl Fn() -> Vec<ObjectCount> + Send + Sync + 'static) {
        *self.objects.write() = Some(Box::new(count));
    }

    /// Adds metrics of others. The function is called whenever the metrics are read.
    pub fn collect_with(&self, collect: impl Fn(&mut TextWriter) + Send + Sync + 'static) {
        self.others.write().push(Box::new(collect));
    }

    /// Counts a finished request.
    pub(crate) fn observe(&self, labels: &RequestLabels<'_>, code: u16, took: Duration) {
        let hash = self.hasher.hash_one(labels);
        {
            let table = self.series.read();
            if let Some(series) = table.find(hash, labels) {
                return series.observe(code, took);
            }
        }
        self.insert(hash, labels).observe(code, took);
    }

    /// Counts a request as in flight until the guard is dropped. Long-running requests are not counted here.
    pub(crate) fn in_flight(self: &Arc<Self>, effect: Effect) -> InFlight {
        self.in_flight_gauge(effect).inc();
        InFlight {
            metrics: self.clone(),
            effect,
        }
    }

    /// Counts a long-running request until the guard is dropped.
    pub(crate) fn long_running(&self, labels: &RequestLabels<'_>) -> LongRunning {
        let hash = self.hasher.hash_one(labels);
        let known = self.series.read().find(hash, labels).cloned();
        let series = known.unwrap_or_else(|| self.insert(hash, labels));
        series.long_running.inc();
        LongRunning(series)
    }

    /// The metrics as text.
    pub fn render(&self) -> String {
        text::render(self)
    }

    fn in_flight_gauge(&self, effect: Effect) -> &Gauge {
        match effect {
            Effect::ReadOnly => &self.read_only,
            Effect::Mutating => &self.mutating,
        }
    }

    fn insert(&self, hash: u64, labels: &RequestLabels<'_>) -> Arc<Series> {
        let mut table = self.series.write();
        if let Some(series) = table.find(hash, labels) {
            return series.clone();
        }
        if table.count < MOST_SERIES {
            return table.add(hash, labels);
        }
        let other = RequestLabels::OTHER;
        let hash = self.hasher.hash_one(other);
        match table.find(hash, &other) {
            Some(series) => series.clone(),
            None => table.add(hash, &other),
        }
    }
}

impl SeriesTable {
    fn find(&self, hash: u64, labels: &RequestLabels<'_>) -> Option<&Arc<Series>> {
        self.by_hash
            .get(&hash)?
            .iter()
            .find(|series| series.labels.are(labels))
    }

    fn add(&mut self, hash: u64, labels: &RequestLabels<'_>) -> Arc<Series> {
        let series = Arc::new(Series {
            labels: Labels::from(labels),
            codes: RwLock::default(),
            duration: Histogram::new(&REQUEST_SECONDS),
            long_running: Gauge::default(),
        });
        self.by_hash.entry(hash).or_default().push(series.clone());
        self.count += 1;
        series
    }
}

impl Series {
    fn observe(&self, code: u16, took: Duration) {
        self.duration.observe_duration(took);
        {
            let codes = self.codes.read();
            if let Some((_, count)) = codes.iter().find(|(c, _)| *c == code) {
                count.inc();
                return;
            }
        }
        let mut codes = self.codes.write();
        match codes.iter().find(|(c, _)| *c == code) {
            Some((_, count)) => count.inc(),
            None => {
                let count = Counter::default();
                count.inc();
                codes.push((code, count));
            }
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.metrics.in_flight_gauge(self.effect).dec();
    }
}

impl Drop for LongRunning {
    fn drop(&mut self) {
        self.0.long_running.dec();
    }
}

#[cfg(test)]
mod tests;
