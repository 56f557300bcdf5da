//! Snapshots of queues in Prometheus' text format.

use kubewright_metrics::{LocalHistogram, MetricType, TextWriter};

use super::QueueSnapshot;

/// The maximum number of priorities that have a sample of their own.
const PRIORITIES: usize = 25;

/// The label of all priorities beyond that number.
const EXCEEDED: &str = "exceeded_cardinality_limit";

/// The form of `workqueue_depth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// One sample for the queue, as in client-go.
    Total,
    /// One sample for each priority, with the label `priority`, as in controller-runtime; at most 25, and one for the rest.
    ByPriority,
}

/// Writes the metrics of queues.
///
/// ```
/// use kubewright_metrics::TextWriter;
/// use kubewright_workqueue::{Depth, WorkQueue, write_metrics};
///
/// let queue = WorkQueue::builder().name("pods").build();
/// queue.add("default/web");
/// let mut out = TextWriter::default();
/// write_metrics(&[queue.snapshot().unwrap()], Depth::Total, &mut out);
/// assert!(out.finish().contains("workqueue_depth{name=\"pods\"} 1\n"));
/// ```
pub fn write_metrics(queues: &[QueueSnapshot], depth: Depth, out: &mut TextWriter) {
    let name = "workqueue_depth";
    out.heading(name, "Current depth of the work queue.", MetricType::Gauge);
    for queue in queues {
        write_depth(out, name, queue, depth);
    }
    let name = "workqueue_adds_total";
    let help = "Adds the work queue handled.";
    number(out, name, help, MetricType::Counter, queues, |queue| {
        queue.adds as f64
    });
    let name = "workqueue_queue_duration_seconds";
    let help = "Seconds an item stays in the work queue before a worker has it.";
    histogram(out, name, help, queues, |queue| &queue.queue_duration);
    let name = "workqueue_work_duration_seconds";
    let help = "Seconds it takes to work on an item of the work queue.";
    histogram(out, name, help, queues, |queue| &queue.work_duration);
    let name = "workqueue_unfinished_work_seconds";
    let help = "Seconds of work in progress that work_duration has not seen yet; large values mean stuck workers.";
    number(out, name, help, MetricType::Gauge, queues, |queue| {
        queue.unfinished_work.as_secs_f64()
    });
    let name = "workqueue_longest_running_processor_seconds";
    let help = "Seconds the longest running worker of the work queue has been at its item.";
    number(out, name, help, MetricType::Gauge, queues, |queue| {
        queue.longest_running_processor.as_secs_f64()
    });
    let name = "workqueue_retries_total";
    let help = "Retries the work queue handled.";
    number(out, name, help, MetricType::Counter, queues, |queue| {
        queue.retries as f64
    });
}

fn write_depth(out: &mut TextWriter, name: &str, queue: &QueueSnapshot, depth: Depth) {
    if depth == Depth::Total {
        return out.sample(name, labels(queue), queue.depth as f64);
    }
    let mut sample = |priority: &str, depth: usize| {
        let labels = labels(queue).into_iter().chain([("priority", priority)]);
        out.sample(name, labels, depth as f64);
    };
    // The highest priorities are the ones to show.
    let own = queue.depth_by_priority.len().min(PRIORITIES);
    for (priority, depth) in queue.depth_by_priority.iter().rev().take(own) {
        sample(&priority.to_string(), *depth);
    }
    let rest = &queue.depth_by_priority[..queue.depth_by_priority.len() - own];
    if !rest.is_empty() {
        sample(EXCEEDED, rest.iter().map(|(_, depth)| depth).sum());
    }
}

fn number(
    out: &mut TextWriter,
    name: &str,
    help: &str,
    kind: MetricType,
    queues: &[QueueSnapshot],
    value: impl Fn(&QueueSnapshot) -> f64,
) {
    out.heading(name, help, kind);
    for queue in queues {
        out.sample(name, labels(queue), value(queue));
    }
}

fn histogram(
    out: &mut TextWriter,
    name: &str,
    help: &str,
    queues: &[QueueSnapshot],
    of: impl Fn(&QueueSnapshot) -> &LocalHistogram,
) {
    out.heading(name, help, MetricType::Histogram);
    for queue in queues {
        out.histogram(name, &labels(queue), of(queue));
    }
}

fn labels(queue: &QueueSnapshot) -> Vec<(&str, &str)> {
    let more = queue.labels.iter().map(|(label, of)| (&**label, &**of));
    [("name", &*queue.name)].into_iter().chain(more).collect()
}
