//! Metrics under client-go's names, with the label `name`.
//!
//! | metric | meaning |
//! |---|---|
//! | `workqueue_depth` | keys to process, including those to run again, without delayed ones |
//! | `workqueue_adds_total` | adds that increased the depth |
//! | `workqueue_queue_duration_seconds` | time from that add until a worker has the key |
//! | `workqueue_work_duration_seconds` | time from there until the key is done |
//! | `workqueue_unfinished_work_seconds` | the sum of the time that current work has taken so far |
//! | `workqueue_longest_running_processor_seconds` | the longest of these times |
//! | `workqueue_retries_total` | delayed adds, also with a delay of zero |
//!
//! A queue [with a name](crate::WorkQueueBuilder::name) keeps them itself: take a
//! [snapshot](crate::WorkQueue::snapshot) and [write it](write_metrics). Provide a [`MetricsProvider`] to receive every
//! change instead. There is no global registry, and a queue without a name records no metrics.

mod exposition;
mod recorder;

use std::{sync::Arc, time::Duration};

pub use exposition::{Depth, write_metrics};
use kubewright_metrics::LocalHistogram;
pub(crate) use recorder::Recorder;

/// The upper bounds of both histograms, as in client-go: 10 ns, 100 ns and so on to 10 s.
static DURATION_SECONDS: [f64; 10] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0];

/// Creates the metrics of a queue, in any metrics library.
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use kubewright_metrics::Counter;
/// use kubewright_workqueue::{MetricsProvider, QueueMetrics, WorkQueue};
///
/// #[derive(Clone, Default)]
/// struct Adds(Counter);
///
/// impl MetricsProvider for Adds {
///     fn queue(&self, _name: &str) -> Arc<dyn QueueMetrics> {
///         Arc::new(self.clone())
///     }
/// }
///
/// impl QueueMetrics for Adds {
///     fn added(&self, count: u32) {
///         self.0.add(count.into());
///     }
///     // The others do nothing.
///     # fn started(&self, _: Duration) {}
///     # fn finished(&self, _: Duration) {}
///     # fn retried(&self) {}
///     # fn unfinished_work(&self, _: Duration, _: Duration) {}
/// }
///
/// let adds = Adds::default();
/// let queue = WorkQueue::builder().name("shop").metrics(adds.clone()).build();
/// queue.add("web");
/// assert_eq!(adds.0.get(), 1);
/// ```
pub trait MetricsProvider: Send + Sync {
    /// Returns the metrics of the queue of this name.
    fn queue(&self, name: &str) -> Arc<dyn QueueMetrics>;
}

/// Receives the metrics of one queue as things happen, without any lock held.
///
/// Calls for one queue come from many threads in any order; all but [`unfinished_work`](Self::unfinished_work) can be
/// added up in any order.
///
/// ```
/// use std::{sync::Mutex, time::Duration};
/// use kubewright_workqueue::QueueMetrics;
///
/// /// Remembers the longest run.
/// #[derive(Default)]
/// struct Longest(Mutex<Duration>);
///
/// impl QueueMetrics for Longest {
///     fn added(&self, _count: u32) {}
///     fn started(&self, _queued: Duration) {}
///     fn finished(&self, worked: Duration) {
///         let mut longest = self.0.lock().unwrap();
///         *longest = worked.max(*longest);
///     }
///     fn retried(&self) {}
///     fn unfinished_work(&self, _total: Duration, _longest: Duration) {}
/// }
///
/// let longest = Longest::default();
/// longest.finished(Duration::from_secs(3));
/// longest.finished(Duration::from_secs(1));
/// assert_eq!(*longest.0.lock().unwrap(), Duration::from_secs(3));
/// ```
pub trait QueueMetrics: Send + Sync {
    /// Increases `workqueue_adds_total` and `workqueue_depth`.
    fn added(&self, count: u32);
    /// Decreases `workqueue_depth` by one and observes `workqueue_queue_duration_seconds`.
    fn started(&self, queued: Duration);
    /// Observes `workqueue_work_duration_seconds`.
    fn finished(&self, worked: Duration);
    /// Increases `workqueue_retries_total`.
    fn retried(&self);
    /// Sets `workqueue_unfinished_work_seconds` and `workqueue_longest_running_processor_seconds`; called by
    /// [`WorkQueue::report_unfinished_work`](crate::WorkQueue::report_unfinished_work).
    fn unfinished_work(&self, total: Duration, longest: Duration);
}

/// The metrics of one queue at one moment.
///
/// ```
/// use kubewright_workqueue::WorkQueue;
///
/// let queue = WorkQueue::builder().name("shop").build();
/// queue.add("web");
/// queue.add("web");
/// let snapshot = queue.snapshot().unwrap();
/// assert_eq!((snapshot.depth, snapshot.adds, snapshot.retries), (1, 1, 0));
/// assert_eq!(snapshot.depth_by_priority, [(0, 1)]);
/// ```
#[derive(Clone, Debug)]
pub struct QueueSnapshot {
    /// The name of the queue.
    pub name: String,
    /// Additional labels, such as `("controller", "garbage-collector")`.
    pub labels: Vec<(String, String)>,
    /// `workqueue_depth`.
    pub depth: usize,
    /// The depth of each priority, lowest first, without keys that are to run again after their current run.
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
