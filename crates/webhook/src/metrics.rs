//! The metrics of webhooks, under controller-runtime's names.

use kubewright_metrics::{Counter, CounterVec, Gauge, GaugeVec, Histogram, HistogramVec, Registry};

use crate::certificates::ReadMetrics;

/// The upper bounds of latencies, in seconds.
static LATENCY_SECONDS: [f64; 12] = [
    1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0,
];

/// The metric families, which have one member for each path.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    latency: HistogramVec<1>,
    total: CounterVec<2>,
    in_flight: GaugeVec<1>,
    panics: CounterVec<0>,
    conversion_panics: CounterVec<0>,
    pub(crate) certificate_reads: ReadMetrics,
}

/// The metrics of one path.
#[derive(Clone, Debug)]
pub(crate) struct PathMetrics {
    pub(crate) latency: Histogram,
    pub(crate) in_flight: Gauge,
    ok: Counter,
    total: CounterVec<2>,
    path: Box<str>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let metrics = Self {
            latency: HistogramVec::new(
                "controller_runtime_webhook_latency_seconds",
                "Histogram of the latency of processing admission requests",
                ["webhook"],
                &LATENCY_SECONDS,
            ),
            total: CounterVec::new(
                "controller_runtime_webhook_requests_total",
                "Total number of admission requests by HTTP status code.",
                ["webhook", "code"],
            ),
            in_flight: GaugeVec::new(
                "controller_runtime_webhook_requests_in_flight",
                "Current number of admission requests being served.",
                ["webhook"],
            ),
            panics: CounterVec::new(
                "controller_runtime_webhook_panics_total",
                "Total number of webhook panics",
                [],
            ),
            conversion_panics: CounterVec::new(
                "controller_runtime_conversion_webhook_panics_total",
                "Total number of conversion webhook panics",
                [],
            ),
            certificate_reads: ReadMetrics::default(),
        };
        metrics.panics.with([]);
        metrics.conversion_panics.with([]);
        metrics
    }

    pub(crate) fn register(&self, registry: &Registry) {
        registry.register(self.latency.clone());
        registry.register(self.total.clone());
        registry.register(self.in_flight.clone());
        registry.register(self.panics.clone());
        registry.register(self.conversion_panics.clone());
        self.certificate_reads.register(registry);
    }

    /// Returns the metrics of a path. The most likely codes exist from the start.
    pub(crate) fn path(&self, path: &str) -> PathMetrics {
        self.total.with([path, "500"]);
        PathMetrics {
            latency: self.latency.with([path]),
            in_flight: self.in_flight.with([path]),
            ok: self.total.with([path, "200"]),
            total: self.total.clone(),
            path: path.into(),
        }
    }

    pub(crate) fn panicked(&self) {
        self.panics.with([]).inc();
    }

    pub(crate) fn conversion_panicked(&self) {
        self.conversion_panics.with([]).inc();
    }
}

impl PathMetrics {
    /// Returns the path.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Counts a response.
    pub(crate) fn answered(&self, code: http::StatusCode) {
        match code {
            http::StatusCode::OK => self.ok.inc(),
            code => self.total.with([&*self.path, code.as_str()]).inc(),
        }
    }
}
