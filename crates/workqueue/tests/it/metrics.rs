//! Metrics: their meaning and their names.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use kubewright_metrics::TextWriter;
use kubewright_workqueue::{
    AddOptions, Depth, MetricsProvider, QueueMetrics, QueueSnapshot, WorkQueue, write_metrics,
};
use tokio::time::advance;

use crate::drained;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[tokio::test(start_paused = true)]
async fn metrics_count_like_those_of_client_go() {
    let queue = WorkQueue::builder().name("test").build();
    let now = || queue.snapshot().expect("it has a name");
    queue.add("a");
    queue.add("a");
    advance(ms(50)).await;
    assert_eq!(
        (now().adds, now().depth, now().queue_duration.count()),
        (1, 1, 0)
    );

    let item = queue.try_get().expect("queued");
    assert_eq!(
        (now().depth, now().queue_duration.total_duration()),
        (0, ms(50))
    );
    advance(ms(25)).await;
    assert_eq!(now().unfinished_work, ms(25));
    assert_eq!(now().longest_running_processor, ms(25));

    // To run again counts as waiting from now on.
    queue.add("a");
    assert_eq!((now().adds, now().depth, queue.len()), (2, 1, 0));
    drop(item);
    assert_eq!(
        (now().depth, now().work_duration.total_duration()),
        (1, ms(25))
    );
    assert_eq!(now().unfinished_work, Duration::ZERO);
    assert_eq!(drained(&queue), ["a"]);
    assert_eq!((now().depth, now().work_duration.count()), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn retries_are_all_delayed_adds_also_of_zero() {
    let queue = WorkQueue::builder().name("test").build();
    let now = || queue.snapshot().expect("it has a name");
    queue.add_after("a", ms(10));
    queue.add_after("b", Duration::ZERO);
    queue.add_rate_limited("c");
    assert_eq!((now().retries, now().adds, now().depth), (3, 1, 1));
    // From when it is due, whenever anybody looks.
    advance(ms(30)).await;
    drop(drained(&queue));
    assert_eq!(
        now().queue_duration.total_duration(),
        ms(30) + ms(20) + ms(25)
    );
    queue.shut_down();
    queue.add_after("d", ms(10));
    assert_eq!(now().retries, 3);
}

#[tokio::test(start_paused = true)]
async fn unfinished_work_is_the_sum_and_the_longest() {
    let queue = WorkQueue::builder().name("test").build();
    let now = || queue.snapshot().expect("it has a name");
    let mut items = Vec::new();
    for key in 0..3 {
        queue.add(key);
        items.push(queue.try_get().expect("queued"));
        advance(ms(10)).await;
    }
    assert_eq!(now().unfinished_work, ms(60));
    assert_eq!(now().longest_running_processor, ms(30));
    items.remove(0);
    assert_eq!(now().unfinished_work, ms(30));
    assert_eq!(now().longest_running_processor, ms(20));
}

#[test]
fn a_queue_without_a_name_has_no_metrics() {
    assert!(WorkQueue::<u8>::new().snapshot().is_none());
    assert!(
        WorkQueue::<u8>::builder()
            .name("")
            .build()
            .snapshot()
            .is_none()
    );
}

#[tokio::test(start_paused = true)]
async fn snapshots_are_written_as_prometheus_reads_them() {
    let queue = WorkQueue::builder().name("a\"b").build();
    queue.add(1);
    queue.add_with(2, AddOptions::new().priority(-100));
    advance(ms(20)).await;
    drop(queue.try_get().expect("queued"));
    let mut snapshot = queue.snapshot().expect("it has a name");
    snapshot.labels.push(("controller".into(), "c".into()));
    let text = written(snapshot.clone(), Depth::Total);
    for line in [
        "# TYPE workqueue_depth gauge",
        r#"workqueue_depth{name="a\"b",controller="c"} 1"#,
        r#"workqueue_adds_total{name="a\"b",controller="c"} 2"#,
        r#"workqueue_queue_duration_seconds_bucket{name="a\"b",controller="c",le="1e-08"} 0"#,
        r#"workqueue_queue_duration_seconds_bucket{name="a\"b",controller="c",le="0.01"} 0"#,
        r#"workqueue_queue_duration_seconds_bucket{name="a\"b",controller="c",le="0.1"} 1"#,
        r#"workqueue_queue_duration_seconds_bucket{name="a\"b",controller="c",le="+Inf"} 1"#,
        r#"workqueue_queue_duration_seconds_sum{name="a\"b",controller="c"} 0.02"#,
        r#"workqueue_work_duration_seconds_count{name="a\"b",controller="c"} 1"#,
        r#"workqueue_unfinished_work_seconds{name="a\"b",controller="c"} 0"#,
        r#"workqueue_longest_running_processor_seconds{name="a\"b",controller="c"} 0"#,
        r#"workqueue_retries_total{name="a\"b",controller="c"} 0"#,
    ] {
        assert!(
            text.lines().any(|written| written == line),
            "{line}\n{text}"
        );
    }
    let text = written(snapshot, Depth::ByPriority);
    let line = r#"workqueue_depth{name="a\"b",controller="c",priority="-100"} 1"#;
    assert!(text.lines().any(|written| written == line), "{text}");
}

#[test]
fn more_than_25_priorities_share_a_line() {
    let queue = WorkQueue::builder().name("q").build();
    for n in 0..30 {
        queue.add_with(n, AddOptions::new().priority(n));
    }
    let snapshot = queue.snapshot().expect("it has a name");
    let text = written(snapshot, Depth::ByPriority);
    assert!(text.contains("priority=\"5\"} 1\n") && !text.contains("priority=\"4\"}"));
    assert!(text.contains("priority=\"exceeded_cardinality_limit\"} 5\n"));
}

fn written(queue: QueueSnapshot, depth: Depth) -> String {
    let mut out = TextWriter::default();
    write_metrics(&[queue], depth, &mut out);
    out.finish()
}

/// Records what is reported to it.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn note(&self, what: String) {
        self.0.lock().expect("not poisoned").push(what);
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("not poisoned"))
    }
}

impl MetricsProvider for Notes {
    fn queue(&self, name: &str) -> Arc<dyn QueueMetrics> {
        self.note(name.to_owned());
        Arc::new(self.clone())
    }
}

impl QueueMetrics for Notes {
    fn added(&self, count: u32) {
        self.note(format!("added {count}"));
    }

    fn started(&self, queued: Duration) {
        self.note(format!("started after {queued:?}"));
    }

    fn finished(&self, worked: Duration) {
        self.note(format!("finished after {worked:?}"));
    }

    fn retried(&self) {
        self.note("retried".to_owned());
    }

    fn unfinished_work(&self, total: Duration, longest: Duration) {
        self.note(format!("unfinished {total:?} {longest:?}"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_receives_all_metrics() {
    let notes = Notes::default();
    let queue = WorkQueue::builder()
        .name("pods")
        .metrics(notes.clone())
        .build();
    assert_eq!(notes.taken(), ["pods"]);
    queue.add("a");
    queue.add("a");
    advance(ms(3)).await;
    let item = queue.try_get().expect("queued");
    advance(ms(2)).await;
    drop(item);
    assert_eq!(
        notes.taken(),
        ["added 1", "started after 3ms", "finished after 2ms"]
    );
    queue.add_after("b", ms(1));
    queue.add_after("c", ms(1));
    advance(ms(1)).await;
    assert_eq!(queue.len(), 2);
    assert_eq!(notes.taken(), ["retried", "retried", "added 2"]);

    let item = queue.try_get().expect("queued");
    notes.taken();
    let reports = tokio::spawn({
        let queue = queue.clone();
        async move { queue.report_unfinished_work().await }
    });
    tokio::time::sleep(ms(600)).await;
    assert_eq!(notes.taken(), ["unfinished 500ms 500ms"]);
    drop(item);
    queue.shut_down();
    queue.add_after("d", ms(1));
    reports.await.expect("ended by the shutdown");
    assert_eq!(notes.taken(), ["finished after 600ms"]);
}
