//! The panels of the dashboards.

use serde_json::{Value, json};

/// The labels that the variables select.
const SELECTED: &str = "namespace=~\"$namespace\", pod=~\"$pod\"";

/// A panel with its queries and the legends of their series.
pub(super) struct Panel {
    title: &'static str,
    description: &'static str,
    unit: &'static str,
    queries: Vec<(String, &'static str)>,
}

impl Panel {
    fn new(title: &'static str, unit: &'static str, description: &'static str) -> Self {
        Self {
            title,
            description,
            unit,
            queries: Vec::new(),
        }
    }

    fn query(mut self, expression: impl Into<String>, legend: &'static str) -> Self {
        self.queries.push((expression.into(), legend));
        self
    }

    /// Adds the rate of a counter, summed by labels.
    fn rate(self, counter: &str, by: &str, legend: &'static str) -> Self {
        self.query(
            format!("sum(rate({counter}{{{SELECTED}}}[5m])) by ({by})"),
            legend,
        )
    }

    /// Adds a gauge, summed by labels.
    fn gauge(self, gauge: &str, by: &str, legend: &'static str) -> Self {
        self.query(format!("sum({gauge}{{{SELECTED}}}) by ({by})"), legend)
    }

    /// Adds quantiles of a histogram.
    fn quantiles(self, histogram: &str, by: &str, legends: [&'static str; 2]) -> Self {
        let quantile = |share: &str| {
            format!(
                "histogram_quantile({share}, sum(rate({histogram}_bucket{{{SELECTED}}}[5m])) by ({by}, le))"
            )
        };
        let [half, most] = legends;
        self.query(quantile("0.5"), half)
            .query(quantile("0.99"), most)
    }

    pub(super) fn to_json(&self, id: usize, place: Value) -> Value {
        let source = json!({"type": "prometheus", "uid": "${datasource}"});
        let targets = self.queries.iter().zip('A'..);
        let targets = targets.map(|((expression, legend), name)| {
            json!({
                "datasource": source, "expr": expression, "legendFormat": legend,
                "refId": name.to_string(), "range": true,
            })
        });
        json!({
            "id": id,
            "type": "timeseries",
            "title": self.title,
            "description": self.description,
            "datasource": source,
            "gridPos": place,
            "fieldConfig": {"defaults": {"unit": self.unit, "min": 0}, "overrides": []},
            "options": {"legend": {"displayMode": "table", "placement": "right", "calcs": ["lastNotNull", "max"]}},
            "targets": targets.collect::<Vec<_>>(),
        })
    }
}

/// Returns the panels about controllers.
pub(super) fn controllers() -> Vec<Panel> {
    vec![
        Panel::new(
            "Reconciles",
            "ops",
            "Reconciles per second, by their result.",
        )
        .rate(
            "controller_runtime_reconcile_total",
            "controller, result",
            "{{controller}} {{result}}",
        ),
        Panel::new(
            "Errors",
            "ops",
            "Failed reconciles per second, and those that are not retried.",
        )
        .rate(
            "controller_runtime_reconcile_errors_total",
            "controller",
            "{{controller}}",
        )
        .rate(
            "controller_runtime_terminal_reconcile_errors_total",
            "controller",
            "{{controller}} terminal",
        ),
        Panel::new(
            "Duration of reconciles",
            "s",
            "Half of the reconciles, and 99 of 100, took at most so long.",
        )
        .quantiles(
            "controller_runtime_reconcile_time_seconds",
            "controller",
            ["{{controller}} p50", "{{controller}} p99"],
        ),
        Panel::new(
            "From an event to its reconcile",
            "s",
            "The time from the first event of a reconcile to its start.",
        )
        .quantiles(
            "kubewright_event_to_reconcile_seconds",
            "controller",
            ["{{controller}} p50", "{{controller}} p99"],
        ),
        Panel::new(
            "Triggers",
            "ops",
            "What makes the controllers run, per second.",
        )
        .rate(
            "kubewright_reconcile_triggers_total",
            "controller, source, cause",
            "{{controller}}: {{source}} {{cause}}",
        ),
        Panel::new("Writes", "ops", "What the controllers write, per second.").rate(
            "kubewright_reconcile_writes_total",
            "controller, verb, resource, result",
            "{{controller}}: {{verb}} {{resource}} {{result}}",
        ),
        Panel::new(
            "Keys",
            "short",
            "Keys by state; failing are those whose last reconcile failed.",
        )
        .gauge(
            "kubewright_keys",
            "controller, state",
            "{{controller}} {{state}}",
        ),
        Panel::new(
            "Workers",
            "short",
            "Workers that are busy, and the number of workers.",
        )
        .gauge(
            "controller_runtime_active_workers",
            "controller",
            "{{controller}} busy",
        )
        .gauge(
            "controller_runtime_max_concurrent_reconciles",
            "controller",
            "{{controller}} all",
        ),
        Panel::new("Depth of queues", "short", "Keys that wait.").gauge(
            "workqueue_depth",
            "name",
            "{{name}}",
        ),
        Panel::new("Wait in queues", "s", "The time that keys waited.").quantiles(
            "workqueue_queue_duration_seconds",
            "name",
            ["{{name}} p50", "{{name}} p99"],
        ),
        Panel::new(
            "Additions and retries",
            "ops",
            "Additions to queues and retries per second.",
        )
        .rate("workqueue_adds_total", "name", "{{name}} additions")
        .rate("workqueue_retries_total", "name", "{{name}} retries"),
        Panel::new(
            "Unfinished work",
            "s",
            "The time that running reconciles have taken so far.",
        )
        .gauge("workqueue_unfinished_work_seconds", "name", "{{name}} all")
        .gauge(
            "workqueue_longest_running_processor_seconds",
            "name",
            "{{name}} longest",
        ),
        Panel::new(
            "Age of watches",
            "s",
            "The time since anything was last received. Servers send a bookmark each minute.",
        )
        .query(
            format!("max(kubewright_watch_age_seconds{{{SELECTED}}}) by (resource)"),
            "{{resource}}",
        ),
        Panel::new(
            "Relists",
            "ops",
            "Lists after the first one per second, by cause.",
        )
        .rate(
            "informer_relists_total",
            "resource, cause",
            "{{resource}} {{cause}}",
        ),
        Panel::new("Leader", "short", "1 where a process leads.").query(
            format!("max(leader_election_master_status{{{SELECTED}}}) by (name, pod)"),
            "{{name}} {{pod}}",
        ),
        Panel::new(
            "Panics and timeouts",
            "ops",
            "Reconciles that panicked or took too long, per second.",
        )
        .rate(
            "controller_runtime_reconcile_panics_total",
            "controller",
            "{{controller}} panics",
        )
        .rate(
            "controller_runtime_reconcile_timeouts_total",
            "controller",
            "{{controller}} timeouts",
        ),
    ]
}

/// Returns the panels about the process and its caches.
pub(super) fn resources() -> Vec<Panel> {
    vec![
        Panel::new("CPU", "short", "Processors that are used.").rate(
            "process_cpu_seconds_total",
            "pod",
            "{{pod}}",
        ),
        Panel::new("Memory", "bytes", "Resident memory.").gauge(
            "process_resident_memory_bytes",
            "pod",
            "{{pod}}",
        ),
        Panel::new("Open files", "short", "Open file descriptors.").gauge(
            "process_open_fds",
            "pod",
            "{{pod}}",
        ),
        Panel::new("Age", "s", "The time since the process was started.").query(
            format!("time() - max(process_start_time_seconds{{{SELECTED}}}) by (pod)"),
            "{{pod}}",
        ),
        Panel::new("Cached objects", "short", "Objects in the caches.").gauge(
            "informer_store_items",
            "resource",
            "{{resource}}",
        ),
        Panel::new("Cached bytes", "bytes", "Bytes of JSON in the caches.").gauge(
            "informer_store_bytes",
            "resource",
            "{{resource}}",
        ),
        Panel::new(
            "Received",
            "Bps",
            "Bytes received by watches and lists per second.",
        )
        .rate("informer_received_bytes_total", "resource", "{{resource}}"),
        Panel::new("Events", "ops", "Watch events per second.").rate(
            "informer_events_total",
            "resource",
            "{{resource}}",
        ),
    ]
}
