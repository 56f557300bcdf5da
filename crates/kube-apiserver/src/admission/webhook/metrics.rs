//! The metrics of webhooks, by the names of kube-apiserver.

use std::time::Instant;

use kubewright_metrics::{Collect, CounterVec, HistogramVec, TextWriter};

use super::{call::CallError, hook::Hook};
use crate::admission::matching::{Request, operation_name};

/// The upper bounds of durations, in seconds.
static SECONDS: [f64; 7] = [0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0];

/// The metrics of all webhooks. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct WebhookMetrics {
    duration: HistogramVec<4>,
    total: CounterVec<5>,
    rejections: CounterVec<5>,
    failed_open: CounterVec<2>,
}

impl Default for WebhookMetrics {
    fn default() -> Self {
        Self {
            duration: HistogramVec::new(
                "apiserver_admission_webhook_admission_duration_seconds",
                "Duration of webhook calls, by name, operation and type.",
                ["name", "operation", "rejected", "type"],
                &SECONDS,
            ),
            total: CounterVec::new(
                "apiserver_admission_webhook_request_total",
                "Webhook calls by name, operation, type and code.",
                ["code", "name", "operation", "rejected", "type"],
            ),
            rejections: CounterVec::new(
                "apiserver_admission_webhook_rejection_count",
                "Requests that webhooks rejected, by name, operation, type, error and code.",
                ["error_type", "name", "operation", "rejection_code", "type"],
            ),
            failed_open: CounterVec::new(
                "apiserver_admission_webhook_fail_open_count",
                "Failed webhook calls that were ignored, by name and type.",
                ["name", "type"],
            ),
        }
    }
}

/// Measures one call.
pub(super) struct Timer<'a> {
    metrics: &'a WebhookMetrics,
    hook: &'a Hook,
    operation: &'static str,
    kind: &'static str,
    began: Instant,
}

impl WebhookMetrics {
    /// Begins to measure a call. `kind` is `admit` or `validating`.
    pub(super) fn start<'a>(
        &'a self,
        hook: &'a Hook,
        request: &Request<'_>,
        kind: &'static str,
    ) -> Timer<'a> {
        Timer {
            metrics: self,
            hook,
            operation: operation_name(request.operation()),
            kind,
            began: Instant::now(),
        }
    }

    /// Counts a failure that was ignored.
    pub(super) fn fail_open(&self, hook: &Hook, kind: &str) {
        self.failed_open.with([&hook.name, kind]).inc();
    }

    /// Writes the metrics.
    pub(crate) fn collect(&self, out: &mut TextWriter) {
        self.duration.collect(out);
        self.failed_open.collect(out);
        self.rejections.collect(out);
        self.total.collect(out);
    }
}

impl Timer<'_> {
    /// Ends with the outcome of the call.
    pub(super) fn observe(self, error: Option<&CallError>) {
        let Self {
            metrics,
            hook,
            operation,
            kind,
            ..
        } = self;
        let ignored = matches!(error, Some(CallError::Failed { .. })) && hook.ignores_failure;
        let rejected = error.is_some() && !ignored;
        let code = error.map_or(200, CallError::code);
        // Metrics tell codes apart up to 600, as the real server does.
        let code = match code {
            0..=600 => code.to_string(),
            _ => "600".to_owned(),
        };
        let name = hook.name.as_str();
        if let Some(error) = error.filter(|_| rejected) {
            let error_type = match error {
                CallError::Failed { .. } => "calling_webhook_error",
                CallError::Denied(_) => "no_error",
                CallError::Internal(_) => "apiserver_internal_error",
            };
            let labels = [error_type, name, operation, &code, kind];
            metrics.rejections.with(labels).inc();
        }
        let rejected = if rejected { "true" } else { "false" };
        let labels = [name, operation, rejected, kind];
        let took = self.began.elapsed().as_secs_f64();
        metrics.duration.with(labels).observe(took);
        let labels = [&code, name, operation, rejected, kind];
        metrics.total.with(labels).inc();
    }
}
