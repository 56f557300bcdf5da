//! The metrics of controllers and of leader election, under controller-runtime's names.

use std::sync::Arc;

use kubewright_ledger::Run;
use kubewright_metrics::{Counter, CounterVec, Gauge, GaugeVec, Histogram, HistogramVec, Registry};
use parking_lot::Mutex;

use crate::run::KnownVersions;

/// The upper bounds of the duration of a reconcile, in seconds. Those below 5 ms are beside controller-runtime's, for reconciles
/// that read from caches only.
static RECONCILE_SECONDS: [f64; 45] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3,
    0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5,
    5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
];

/// The outcome of a reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReconcileResult {
    /// It succeeded and asked for nothing more.
    Success,
    /// It failed.
    Error,
    /// It asked to run again, with backoff.
    Requeue,
    /// It asked to run again after a given time.
    RequeueAfter,
}

/// The metrics of one controller. All exist from the start, so that a rate can be computed from the first increase.
#[derive(Clone, Debug)]
pub(crate) struct ControllerMetrics {
    results: [Counter; 4],
    /// `controller_runtime_reconcile_errors_total`
    pub(crate) errors: Counter,
    /// `controller_runtime_terminal_reconcile_errors_total`
    pub(crate) terminal_errors: Counter,
    /// `controller_runtime_reconcile_panics_total`
    pub(crate) panics: Counter,
    /// `controller_runtime_reconcile_timeouts_total`
    pub(crate) timeouts: Counter,
    /// `controller_runtime_reconcile_time_seconds`
    pub(crate) time: Histogram,
    /// `controller_runtime_max_concurrent_reconciles`
    pub(crate) max_concurrent: Gauge,
    /// `controller_runtime_active_workers`
    pub(crate) active_workers: Gauge,
    /// `kubewright_event_to_reconcile_seconds`
    pub(crate) event_to_reconcile: Histogram,
    name: Arc<str>,
    triggers: CounterVec<3>,
    writes: CounterVec<4>,
    known: Arc<Mutex<KnownVersions>>,
}

/// The families of which each controller has a member.
#[derive(Clone, Debug)]
pub(crate) struct ControllerFamilies {
    total: CounterVec<2>,
    errors: CounterVec<1>,
    terminal_errors: CounterVec<1>,
    panics: CounterVec<1>,
    timeouts: CounterVec<1>,
    time: HistogramVec<1>,
    max_concurrent: GaugeVec<1>,
    active_workers: GaugeVec<1>,
    event_to_reconcile: HistogramVec<1>,
    triggers: CounterVec<3>,
    writes: CounterVec<4>,
}

/// The metrics of a [`LeaderElector`](crate::leader_election::LeaderElector): `leader_election_master_status` and
/// `leader_election_slowpath_total`.
///
/// ```
/// use kubewright_controller::leader_election::ElectionMetrics;
/// use kubewright_metrics::Registry;
///
/// let registry = Registry::new();
/// let metrics = ElectionMetrics::register(&registry);
/// # let _ = metrics;
/// ```
#[derive(Clone, Debug)]
pub struct ElectionMetrics {
    leading: GaugeVec<1>,
    slow_path: CounterVec<1>,
}

impl ReconcileResult {
    const ALL: [Self; 4] = [
        Self::Success,
        Self::Error,
        Self::Requeue,
        Self::RequeueAfter,
    ];

    /// Returns the value of the label `result`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Requeue => "requeue",
            Self::RequeueAfter => "requeue_after",
        }
    }
}

impl ControllerFamilies {
    /// Creates the families and adds them to a registry; to be called once for each registry.
    pub(crate) fn register(registry: &Registry) -> Self {
        let by = ["controller"];
        let families = Self {
            total: CounterVec::new(
                "controller_runtime_reconcile_total",
                "Total number of reconciliations per controller",
                ["controller", "result"],
            ),
            errors: CounterVec::new(
                "controller_runtime_reconcile_errors_total",
                "Total number of reconciliation errors per controller",
                by,
            ),
            terminal_errors: CounterVec::new(
                "controller_runtime_terminal_reconcile_errors_total",
                "Total number of terminal reconciliation errors per controller",
                by,
            ),
            panics: CounterVec::new(
                "controller_runtime_reconcile_panics_total",
                "Total number of reconciliation panics per controller",
                by,
            ),
            timeouts: CounterVec::new(
                "controller_runtime_reconcile_timeouts_total",
                "Total number of reconciliation timeouts per controller",
                by,
            ),
            time: HistogramVec::new(
                "controller_runtime_reconcile_time_seconds",
                "Length of time per reconciliation per controller",
                by,
                &RECONCILE_SECONDS,
            ),
            max_concurrent: GaugeVec::new(
                "controller_runtime_max_concurrent_reconciles",
                "Maximum number of concurrent reconciles per controller",
                by,
            ),
            active_workers: GaugeVec::new(
                "controller_runtime_active_workers",
                "Number of currently used workers per controller",
                by,
            ),
            event_to_reconcile: HistogramVec::new(
                "kubewright_event_to_reconcile_seconds",
                "Time from the first event of a reconcile to its start per controller",
                by,
                &RECONCILE_SECONDS,
            ),
            triggers: CounterVec::new(
                "kubewright_reconcile_triggers_total",
                "Total number of triggers of reconciles per controller, source and cause",
                ["controller", "source", "cause"],
            ),
            writes: CounterVec::new(
                "kubewright_reconcile_writes_total",
                "Total number of writes of reconciles per controller, verb, resource and result",
                ["controller", "verb", "resource", "result"],
            ),
        };
        registry.register(families.total.clone());
        registry.register(families.errors.clone());
        registry.register(families.terminal_errors.clone());
        registry.register(families.panics.clone());
        registry.register(families.timeouts.clone());
        registry.register(families.time.clone());
        registry.register(families.max_concurrent.clone());
        registry.register(families.active_workers.clone());
        registry.register(families.event_to_reconcile.clone());
        registry.register(families.triggers.clone());
        registry.register(families.writes.clone());
        families
    }

    /// Returns the metrics of the controller of that name.
    pub(crate) fn controller(&self, name: &str) -> ControllerMetrics {
        ControllerMetrics {
            results: ReconcileResult::ALL.map(|result| self.total.with([name, result.as_str()])),
            errors: self.errors.with([name]),
            terminal_errors: self.terminal_errors.with([name]),
            panics: self.panics.with([name]),
            timeouts: self.timeouts.with([name]),
            time: self.time.with([name]),
            max_concurrent: self.max_concurrent.with([name]),
            active_workers: self.active_workers.with([name]),
            event_to_reconcile: self.event_to_reconcile.with([name]),
            name: name.into(),
            triggers: self.triggers.clone(),
            writes: self.writes.clone(),
            known: Arc::default(),
        }
    }
}

impl ControllerMetrics {
    /// Counts the triggers and writes of a run, and its wait.
    pub(crate) fn ran(&self, run: &Run) {
        let name = &*self.name;
        for trigger in &run.triggers {
            self.triggers
                .with([name, &trigger.source, &trigger.cause])
                .inc();
        }
        let mut known = self.known.lock();
        known.triggered(run);
        for request in &run.requests {
            let is_unchanged = known.is_unchanged(request);
            if matches!(request.verb.as_str(), "get" | "list" | "watch") {
                continue;
            }
            let result = match request.code {
                200..300 if is_unchanged => "unchanged",
                200..300 => "changed",
                409 => "conflict",
                _ => "refused",
            };
            let resource = &request.object.resource;
            self.writes
                .with([name, &request.verb, resource, result])
                .inc();
        }
        if run.queued.is_some() {
            self.event_to_reconcile.observe(run.queue_seconds);
        }
    }

    /// Returns the counter of `controller_runtime_reconcile_total` with that result.
    pub(crate) fn results(&self, result: ReconcileResult) -> &Counter {
        let [success, error, requeue, requeue_after] = &self.results;
        match result {
            ReconcileResult::Success => success,
            ReconcileResult::Error => error,
            ReconcileResult::Requeue => requeue,
            ReconcileResult::RequeueAfter => requeue_after,
        }
    }
}

impl ElectionMetrics {
    /// Creates the metrics and adds them to a registry; to be called once for each registry.
    pub fn register(registry: &Registry) -> Self {
        let metrics = Self {
            leading: GaugeVec::new(
                "leader_election_master_status",
                "Whether this process is the leader of the lease: 1 if it is, 0 if not",
                ["name"],
            ),
            slow_path: CounterVec::new(
                "leader_election_slowpath_total",
                "How often the lease had to be read before it was renewed",
                ["name"],
            ),
        };
        registry.register(metrics.leading.clone());
        registry.register(metrics.slow_path.clone());
        metrics
    }

    pub(crate) fn set_leading(&self, name: &str, leading: bool) {
        self.leading.with([name]).set(leading.into());
    }

    pub(crate) fn slow_path(&self, name: &str) {
        self.slow_path.with([name]).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controllers_metrics_are_there_before_anything_happens() {
        let registry = Registry::new();
        let families = ControllerFamilies::register(&registry);
        let shop = families.controller("shop");
        shop.results(ReconcileResult::RequeueAfter).inc();
        shop.time.observe(0.2);
        let text = registry.encode();
        for line in [
            "controller_runtime_reconcile_total{controller=\"shop\",result=\"requeue_after\"} 1",
            "controller_runtime_reconcile_total{controller=\"shop\",result=\"success\"} 0",
            "controller_runtime_reconcile_time_seconds_bucket{controller=\"shop\",le=\"0.15\"} 0",
            "controller_runtime_reconcile_time_seconds_bucket{controller=\"shop\",le=\"0.2\"} 1",
            "controller_runtime_active_workers{controller=\"shop\"} 0",
            "# TYPE controller_runtime_reconcile_panics_total counter",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
        }
    }
}
