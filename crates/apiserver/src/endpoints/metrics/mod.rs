//! `/metrics`: what the server did, as Prometheus text.
//!
//! Names, labels and buckets are those of kube-apiserver, so dashboards made for it work. Recording a request takes a
//! shared lock, a hash lookup without allocation and a few atomic additions.
//!
//! Label values come from the resources that are served, never from what clients invent: ask
//! [`RequestLabels::of`] only for resources that exist. As a second line the number of series is bounded; what is over
//! the bound is counted together under the verb `other`.

mod histogram;
mod labels;
mod text;

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use jiff::Timestamp;
use parking_lot::RwLock;

use histogram::Histogram;
use labels::Labels;
pub use labels::RequestLabels;

/// The most combinations of labels that are told apart.
const MOST_SERIES: usize = 8192;

/// The content type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

/// How many objects of a resource are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectCount {
    /// Empty for the core group.
    pub group: String,
    /// `pods`
    pub resource: String,
    /// How many.
    pub count: u64,
}

type CountObjects = Box<dyn Fn() -> Vec<ObjectCount> + Send + Sync>;

/// The counters of a server.
pub struct Metrics {
    start: Timestamp,
    hasher: RandomState,
    series: RwLock<SeriesTable>,
    read_only: AtomicI64,
    mutating: AtomicI64,
    objects: RwLock<Option<CountObjects>>,
}

/// Counts a request as in flight until it is dropped.
pub struct InFlight {
    metrics: Arc<Metrics>,
    mutating: bool,
}

/// Counts a watch (or another long request) as running until it is dropped.
pub struct LongRunning(Arc<Series>);

#[derive(Default)]
struct SeriesTable {
    by_hash: HashMap<u64, Vec<Arc<Series>>>,
    count: usize,
}

/// Everything counted under one combination of labels.
struct Series {
    labels: Labels,
    /// Requests by status code.
    codes: RwLock<Vec<(u16, AtomicU64)>>,
    duration: Histogram,
    long_running: AtomicI64,
}

impl Metrics {
    /// With nothing counted yet. `start` is when the process started.
    pub fn new(start: Timestamp) -> Self {
        Self {
            start,
            hasher: RandomState::new(),
            series: RwLock::default(),
            read_only: AtomicI64::new(0),
            mutating: AtomicI64::new(0),
            objects: RwLock::new(None),
        }
    }

    /// Where to ask for the numbers of stored objects. It is called whenever the metrics are read.
    pub fn count_objects_with(&self, count: impl Fn() -> Vec<ObjectCount> + Send + Sync + 'static) {
        *self.objects.write() = Some(Box::new(count));
    }

    /// Counts a finished request.
    pub fn observe(&self, labels: &RequestLabels<'_>, code: u16, took: Duration) {
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
    pub fn in_flight(self: &Arc<Self>, mutating: bool) -> InFlight {
        self.in_flight_gauge(mutating).fetch_add(1, Relaxed);
        InFlight {
            metrics: self.clone(),
            mutating,
        }
    }

    /// Counts a long-running request until the guard is dropped.
    pub fn long_running(&self, labels: &RequestLabels<'_>) -> LongRunning {
        let hash = self.hasher.hash_one(labels);
        let known = self.series.read().find(hash, labels).cloned();
        let series = known.unwrap_or_else(|| self.insert(hash, labels));
        series.long_running.fetch_add(1, Relaxed);
        LongRunning(series)
    }

    /// The metrics as text.
    pub fn render(&self) -> String {
        text::render(self)
    }

    fn in_flight_gauge(&self, mutating: bool) -> &AtomicI64 {
        if mutating {
            &self.mutating
        } else {
            &self.read_only
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
            duration: Histogram::default(),
            long_running: AtomicI64::new(0),
        });
        self.by_hash.entry(hash).or_default().push(series.clone());
        self.count += 1;
        series
    }
}

impl Series {
    fn observe(&self, code: u16, took: Duration) {
        self.duration.observe(took);
        {
            let codes = self.codes.read();
            if let Some((_, count)) = codes.iter().find(|(c, _)| *c == code) {
                count.fetch_add(1, Relaxed);
                return;
            }
        }
        let mut codes = self.codes.write();
        match codes.iter().find(|(c, _)| *c == code) {
            Some((_, count)) => {
                count.fetch_add(1, Relaxed);
            }
            None => codes.push((code, AtomicU64::new(1))),
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.metrics
            .in_flight_gauge(self.mutating)
            .fetch_sub(1, Relaxed);
    }
}

impl Drop for LongRunning {
    fn drop(&mut self) {
        self.0.long_running.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests;
