//! Metrics under the names client-go gave them, label `name`.
//!
//! | metric | what it is |
//! |---|---|
//! | `workqueue_depth` | keys that are to be worked on, those to run again included, delayed ones not |
//! | `workqueue_adds_total` | adds that made a key one of them |
//! | `workqueue_queue_duration_seconds` | from that add until a worker has it |
//! | `workqueue_work_duration_seconds` | from there until it is done |
//! | `workqueue_unfinished_work_seconds` | the sum of what current work has taken so far |
//! | `workqueue_longest_running_processor_seconds` | the longest of it |
//! | `workqueue_retries_total` | adds with a delay, also of zero |
//!
//! A queue [with a name](crate::Builder::name) keeps them itself: take a [snapshot](crate::WorkQueue::snapshot) and
//! [write it out](write_metrics). To have them told as they happen, give it a [`MetricsProvider`]. There is no global
//! registry, and a queue without a name measures nothing.

mod exposition;
mod recorder;

use std::{sync::Arc, time::Duration};

pub use exposition::{Depth, write_metrics};
use kubewright_metrics::LocalHistogram;
pub(crate) use recorder::Recorder;

/// The upper bounds of both histograms, as in client-go: 10 ns, 100 ns and so on to 10 s.
static DURATION_SECONDS: [f64; 10] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0];

/// Makes the metrics of a queue, in whatever library an application uses.
pub trait MetricsProvider: Send + Sync {
    /// The metrics of the queue of this name.
    fn queue(&self, name: &str) -> Arc<dyn QueueMetrics>;
}

/// The metrics of one queue, told as things happen, without any lock held.
///
/// Calls for one queue come from many threads and are not ordered among each other; all but
/// [`unfinished_work`](Self::unfinished_work) can be added up in any order.
pub trait QueueMetrics: Send + Sync {
    /// `workqueue_adds_total` grows, and with it `workqueue_depth`.
    fn added(&self, count: u32);
    /// `workqueue_depth` falls by one, and `workqueue_queue_duration_seconds` has one more observation.
    fn started(&self, queued: Duration);
    /// `workqueue_work_duration_seconds` has one more observation.
    fn finished(&self, worked: Duration);
    /// `workqueue_retries_total` grows by one.
    fn retried(&self);
    /// `workqueue_unfinished_work_seconds` and `workqueue_longest_running_processor_seconds` are now these; told by
    /// [`WorkQueue::report_unfinished_work`](crate::WorkQueue::report_unfinished_work).
    fn unfinished_work(&self, total: Duration, longest: Duration);
}

/// The metrics of one queue at one moment.
#[derive(Clone, Debug)]
pub struct QueueSnapshot {
    /// The name of the queue.
    pub name: String,
    /// More labels to write out with it, like `("controller", "garbage-collector")`.
    pub labels: Vec<(String, String)>,
    /// `workqueue_depth`.
    pub depth: usize,
    /// The depth of each priority, the lowest first; keys that are to run again after their current run are not in it.
    pub depth_by_priority: Vec<(i32, usize)>,
    /// `workqueue_adds_total`.
    pub adds: u64,
    /// `workqueue_retries_total`.
    pub retries: u64,
    /// `workqueue_queue_duration_seconds`.
    pub queue_duration: LocalHistogram,
    /// `workqueue_work_duration_seconds`.
    pub work_duration: LocalHistogram,
    /// `workqueue_unfinished_work_seconds`.
    pub unfinished_work: Duration,
    /// `workqueue_longest_running_processor_seconds`.
    pub longest_running_processor: Duration,
}
