//! Snapshots as text that Prometheus reads.

use std::fmt::{self, Write};

use super::{Histogram, QueueSnapshot};

/// The most priorities that have a line of their own.
const PRIORITIES: usize = 25;

/// The label of all priorities above that number.
const EXCEEDED: &str = "exceeded_cardinality_limit";

/// How the depth is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// One line for the queue, as client-go does.
    Total,
    /// One line for each priority, with the label `priority`, as controller-runtime does; 25 at most, and one for the rest.
    ByPriority,
}

/// Writes the metrics of queues in the text format of Prometheus, version 0.0.4.
///
/// ```
/// use kubewright_workqueue::{Depth, WorkQueue, write_prometheus};
///
/// let queue = WorkQueue::builder().name("pods").build();
/// queue.add("default/web");
/// let mut text = String::new();
/// write_prometheus(&mut text, &[queue.snapshot().unwrap()], Depth::Total)?;
/// assert!(text.contains("workqueue_depth{name=\"pods\"} 1\n"));
/// # Ok::<_, std::fmt::Error>(())
/// ```
pub fn write_prometheus(
    out: &mut impl Write,
    queues: &[QueueSnapshot],
    depth: Depth,
) -> fmt::Result {
    head(out, "depth", "gauge", "Current depth of the work queue")?;
    for queue in queues {
        write_depth(out, queue, depth)?;
    }
    head(out, "adds_total", "counter", "Adds the work queue handled")?;
    for queue in queues {
        line(out, "adds_total", queue, &[], queue.adds)?;
    }
    let about = "Seconds an item stays in the work queue before a worker has it";
    head(out, "queue_duration_seconds", "histogram", about)?;
    for queue in queues {
        write_histogram(out, "queue_duration_seconds", queue, &queue.queue_duration)?;
    }
    let about = "Seconds it takes to work on an item of the work queue";
    head(out, "work_duration_seconds", "histogram", about)?;
    for queue in queues {
        write_histogram(out, "work_duration_seconds", queue, &queue.work_duration)?;
    }
    let about = "Seconds of work in progress that work_duration has not seen yet; large values mean stuck workers";
    head(out, "unfinished_work_seconds", "gauge", about)?;
    for queue in queues {
        let seconds = queue.unfinished_work.as_secs_f64();
        line(out, "unfinished_work_seconds", queue, &[], seconds)?;
    }
    let metric = "longest_running_processor_seconds";
    let about = "Seconds the longest running worker of the work queue has been at its item";
    head(out, metric, "gauge", about)?;
    for queue in queues {
        let seconds = queue.longest_running_processor.as_secs_f64();
        line(out, metric, queue, &[], seconds)?;
    }
    head(
        out,
        "retries_total",
        "counter",
        "Retries the work queue handled",
    )?;
    for queue in queues {
        line(out, "retries_total", queue, &[], queue.retries)?;
    }
    Ok(())
}

fn write_depth(out: &mut impl Write, queue: &QueueSnapshot, depth: Depth) -> fmt::Result {
    if depth == Depth::Total {
        return line(out, "depth", queue, &[], queue.depth);
    }
    // The highest priorities are the ones to be seen.
    let own = queue.depth_by_priority.len().min(PRIORITIES);
    for (priority, depth) in queue.depth_by_priority.iter().rev().take(own) {
        let label = [("priority", priority.to_string())];
        line(out, "depth", queue, &label, *depth)?;
    }
    let rest = &queue.depth_by_priority[..queue.depth_by_priority.len() - own];
    if !rest.is_empty() {
        let depth: usize = rest.iter().map(|(_, depth)| depth).sum();
        let label = [("priority", EXCEEDED.to_owned())];
        line(out, "depth", queue, &label, depth)?;
    }
    Ok(())
}

fn write_histogram(
    out: &mut impl Write,
    metric: &str,
    queue: &QueueSnapshot,
    histogram: &Histogram,
) -> fmt::Result {
    let bucket = format!("{metric}_bucket");
    for (bound, count) in histogram.cumulative() {
        line(out, &bucket, queue, &[("le", bound.to_owned())], count)?;
    }
    let count = histogram.count();
    line(out, &bucket, queue, &[("le", "+Inf".to_owned())], count)?;
    let sum = histogram.sum().as_secs_f64();
    line(out, &format!("{metric}_sum"), queue, &[], sum)?;
    line(out, &format!("{metric}_count"), queue, &[], count)
}

fn head(out: &mut impl Write, metric: &str, kind: &str, about: &str) -> fmt::Result {
    writeln!(out, "# HELP workqueue_{metric} {about}.")?;
    writeln!(out, "# TYPE workqueue_{metric} {kind}")
}

fn line(
    out: &mut impl Write,
    metric: &str,
    queue: &QueueSnapshot,
    more: &[(&str, String)],
    value: impl fmt::Display,
) -> fmt::Result {
    write!(out, "workqueue_{metric}{{name=\"{}\"", Escaped(&queue.name))?;
    for (label, of) in &queue.labels {
        write!(out, ",{label}=\"{}\"", Escaped(of))?;
    }
    for (label, of) in more {
        write!(out, ",{label}=\"{}\"", Escaped(of))?;
    }
    writeln!(out, "}} {value}")
}

/// The value of a label, as it goes between quotes.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            match char {
                '\\' => out.write_str("\\\\")?,
                '"' => out.write_str("\\\"")?,
                '\n' => out.write_str("\\n")?,
                _ => out.write_char(char)?,
            }
        }
        Ok(())
    }
}
