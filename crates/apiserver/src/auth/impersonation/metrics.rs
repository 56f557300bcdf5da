//! The metrics of impersonation, by the names of kube-apiserver.

use std::time::Duration;

use kubewright_metrics::{Collect, CounterVec, HistogramVec, TextWriter};

use super::mode::Mode;

/// The upper bounds of durations, in seconds.
static SECONDS: [f64; 15] = [
    0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096,
    8.192, 16.384,
];

const LABELS: [&str; 2] = ["decision", "mode"];

/// The metrics of impersonated requests.
#[derive(Clone, Debug)]
pub(super) struct ImpersonationMetrics {
    attempts: CounterVec<2>,
    attempt_seconds: HistogramVec<2>,
    checks: CounterVec<2>,
    check_seconds: HistogramVec<2>,
}

impl ImpersonationMetrics {
    pub(super) fn new() -> Self {
        Self {
            attempts: CounterVec::new(
                "apiserver_impersonation_attempts_total",
                "Impersonated requests, by mode and decision.",
                LABELS,
            ),
            attempt_seconds: HistogramVec::new(
                "apiserver_impersonation_attempts_duration_seconds",
                "Time to authorize impersonation, by mode and decision.",
                LABELS,
                &SECONDS,
            ),
            checks: CounterVec::new(
                "apiserver_impersonation_authorization_attempts_total",
                "Authorization checks for impersonation, by mode and decision.",
                LABELS,
            ),
            check_seconds: HistogramVec::new(
                "apiserver_impersonation_authorization_attempts_duration_seconds",
                "Duration of authorization checks for impersonation, by mode and decision.",
                LABELS,
                &SECONDS,
            ),
        }
    }

    /// Counts a request. `mode` is the one that allowed it.
    pub(super) fn attempted(&self, mode: Option<Mode>, took: Duration) {
        let labels = [decision(mode.is_some()), mode.map_or("", Mode::name)];
        self.attempts.with(labels).inc();
        self.attempt_seconds
            .with(labels)
            .observe(took.as_secs_f64());
    }

    /// Counts an authorization check.
    pub(super) fn checked(&self, mode: Mode, is_allowed: bool, took: Duration) {
        let labels = [decision(is_allowed), mode.name()];
        self.checks.with(labels).inc();
        self.check_seconds.with(labels).observe(took.as_secs_f64());
    }

    /// Writes the metrics.
    pub(super) fn collect(&self, out: &mut TextWriter) {
        self.attempt_seconds.collect(out);
        self.attempts.collect(out);
        self.check_seconds.collect(out);
        self.checks.collect(out);
    }
}

fn decision(is_allowed: bool) -> &'static str {
    match is_allowed {
        true => "allowed",
        false => "denied",
    }
}
