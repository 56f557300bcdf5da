//! The alert rules.

use serde_json::{Value, json};

use super::{Naming, Settings};

/// A rule: its name, its query, how long it must hold, its severity, and what it means.
type Rule = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const RULES: [Rule; 7] = [
    (
        "ReconcileErrors",
        "sum(rate(controller_runtime_reconcile_errors_total[15m])) by (controller) \
         / sum(rate(controller_runtime_reconcile_total[15m])) by (controller) > 0.1",
        "15m",
        "warning",
        "More than a tenth of the reconciles of {{ $labels.controller }} fail.",
    ),
    (
        "KeysFailing",
        "sum(kubewright_keys{state=\"failing\"}) by (controller) > 0",
        "1h",
        "warning",
        "{{ $value }} keys of {{ $labels.controller }} have been failing for an hour.",
    ),
    (
        "QueueIsSlow",
        "histogram_quantile(0.99, sum(rate(workqueue_queue_duration_seconds_bucket[5m])) by (name, le)) > 60",
        "5m",
        "warning",
        "Keys wait for more than a minute in the queue {{ $labels.name }}.",
    ),
    (
        "NoLeader",
        "max(leader_election_master_status) by (name) == 0",
        "2m",
        "critical",
        "No process leads {{ $labels.name }}, so that nothing is reconciled.",
    ),
    (
        "WatchIsSilent",
        "max(kubewright_watch_age_seconds) by (resource) > 300",
        "1m",
        "critical",
        "Nothing has been received for {{ $labels.resource }} for five minutes: its cache may be stale.",
    ),
    (
        "ReconcilePanics",
        "sum(increase(controller_runtime_reconcile_panics_total[10m])) by (controller) > 0",
        "0m",
        "critical",
        "{{ $labels.controller }} panicked.",
    ),
    (
        "HotLoop",
        "sum(rate(controller_runtime_reconcile_total[5m])) by (controller) > 20 \
         and sum(kubewright_keys{state=~\"queued|running\"}) by (controller) < 20",
        "10m",
        "warning",
        "{{ $labels.controller }} reconciles few keys {{ $value }} times per second: it may trigger itself.",
    ),
];

/// Returns the PrometheusRule.
pub(super) fn rules(settings: &Settings) -> Value {
    let naming = Naming::whole(&settings.name, settings.namespaced);
    let rules = RULES.map(|(name, query, time, severity, meaning)| {
        json!({
            "alert": name,
            "expr": query,
            "for": time,
            "labels": {"severity": severity},
            "annotations": {"summary": meaning},
        })
    });
    json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {
            "name": naming.name("controller-manager-rules"),
            "namespace": naming.namespace,
            "labels": super::pod_labels(&naming),
        },
        "spec": {"groups": [{"name": settings.name, "rules": rules}]},
    })
}
