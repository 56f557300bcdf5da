//! The metrics of audit, by the names of kube-apiserver.

use kubewright_metrics::{Collect, Counter, CounterVec, TextWriter};

use super::{Level, Sink};

/// The metrics of audit. They exist without a policy too.
#[derive(Debug)]
pub(crate) struct AuditMetrics {
    events_family: CounterVec<0>,
    events: Counter,
    levels: CounterVec<1>,
    rejected: CounterVec<0>,
}

impl Default for AuditMetrics {
    fn default() -> Self {
        let events_family = CounterVec::new(
            "apiserver_audit_event_total",
            "Audit events that were given to the sink.",
            [],
        );
        let rejected = CounterVec::new(
            "apiserver_audit_requests_rejected_total",
            "Requests that were rejected because an audit event could not be recorded. There are none.",
            [],
        );
        rejected.with([]);
        Self {
            events: events_family.with([]),
            events_family,
            levels: CounterVec::new(
                "apiserver_audit_level_total",
                "Requests by the level that the audit policy decided on.",
                ["level"],
            ),
            rejected,
        }
    }
}

impl AuditMetrics {
    /// Counts an event.
    pub(super) fn recorded(&self) {
        self.events.inc();
    }

    /// Counts a request.
    pub(super) fn decided(&self, level: Level) {
        self.levels.with([level.as_str()]).inc();
    }

    /// Writes the metrics, with the events that the present sink has lost.
    pub(crate) fn collect(&self, sink: Option<&dyn Sink>, out: &mut TextWriter) {
        if let Some(lost) = sink.map(Sink::lost).filter(|lost| *lost > 0) {
            let errors = CounterVec::new(
                "apiserver_audit_error_total",
                "Audit events that the sink could not record.",
                ["plugin"],
            );
            errors.with(["log"]).add(lost);
            errors.collect(out);
        }
        self.events_family.collect(out);
        self.levels.collect(out);
        self.rejected.collect(out);
    }
}
