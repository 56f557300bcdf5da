//! The metrics of an informer: counters while it runs, and [`MetricsSnapshot`]s of them.

use std::{collections::BTreeMap, fmt};

use kubewright_metrics::{Counter, MetricType, TextWriter};

/// The cause of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelistCause {
    /// The first list.
    Initial,
    /// The resource version to continue from has expired (410).
    Expired,
    /// The server does not have the resource version yet ("too large resource version").
    TooLarge,
    /// The server rejected a request or ended the watch with an error.
    Refused,
    /// The connection broke before there was a watch.
    Transport,
    /// The stream could not be decoded.
    Malformed,
    /// The watch ended at once without an event.
    ShortWatch,
    /// The server went back to an older state.
    Backwards,
}

impl RelistCause {
    const ALL: [Self; 8] = [
        Self::Initial,
        Self::Expired,
        Self::TooLarge,
        Self::Refused,
        Self::Transport,
        Self::Malformed,
        Self::ShortWatch,
        Self::Backwards,
    ];

    fn label(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Expired => "expired",
            Self::TooLarge => "too_large",
            Self::Refused => "refused",
            Self::Transport => "transport",
            Self::Malformed => "malformed",
            Self::ShortWatch => "short_watch",
            Self::Backwards => "backwards",
        }
    }
}

/// The counters of one informer.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) lists: Counter,
    pub(crate) list_pages: Counter,
    pub(crate) watch_lists: Counter,
    pub(crate) watch_list_fallbacks: Counter,
    pub(crate) watches: Counter,
    pub(crate) silent_watches: Counter,
    pub(crate) broken_streams: Counter,
    pub(crate) ended_watches: Counter,
    relists: [Counter; RelistCause::ALL.len()],
    pub(crate) events: Counter,
    pub(crate) bookmarks: Counter,
    pub(crate) received_bytes: Counter,
    pub(crate) rejected: Counter,
    pub(crate) errors: Counter,
    pub(crate) backoffs: Counter,
    pub(crate) handler_panics: Counter,
}

/// The metrics of one informer at one moment.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use std::time::Duration;
/// use k8s_openapi::api::core::v1::Namespace;
/// use kubewright_informer::SharedInformerFactory;
///
/// let factory = SharedInformerFactory::new(client);
/// let namespaces = factory.informer::<Namespace>();
/// factory.start();
/// namespaces.wait_for_sync(Duration::from_secs(10)).await.unwrap();
/// let metrics = namespaces.metrics();
/// assert_eq!(metrics.resource, "namespaces");
/// assert!(metrics.items > 0);
/// assert_eq!(metrics.rejected, 0);
/// # });
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricsSnapshot {
    /// The resource: `pods`, `deployments.apps`.
    pub resource: String,
    /// Objects in the cache.
    pub items: u64,
    /// Bytes of JSON in the cache, as they are kept.
    pub bytes: u64,
    /// The resource version of the cache.
    pub resource_version: Option<String>,
    /// Lists started.
    pub lists: u64,
    /// Pages requested.
    pub list_pages: u64,
    /// Watches that began with the existing objects.
    pub watch_lists: u64,
    /// Watch lists that were given up for a list.
    pub watch_list_fallbacks: u64,
    /// Watches started.
    pub watches: u64,
    /// Watches given up because nothing arrived.
    pub silent_watches: u64,
    /// Watches whose connection broke.
    pub broken_streams: u64,
    /// Watches that the server ended without an error, as it does from time to time.
    pub ended_watches: u64,
    /// Lists by cause.
    pub relists: Vec<(RelistCause, u64)>,
    /// Watch events.
    pub events: u64,
    /// Bookmarks.
    pub bookmarks: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Objects that could not be cached.
    pub rejected: u64,
    /// Objects that could not be decoded into a requested type.
    pub decode_failures: u64,
    /// Errors that ended a list or a watch.
    pub errors: u64,
    /// Waits before a retry.
    pub backoffs: u64,
    /// Handlers that panicked.
    pub handler_panics: u64,
    /// Deltas that wait to be applied to the cache.
    pub queued: u64,
    /// Events that wait for each handler, by name.
    pub handlers: Vec<(String, u64)>,
    /// Milliseconds since anything was last received from the server; `None` before the first time.
    pub quiet_millis: Option<u64>,
}

impl Metrics {
    pub(crate) fn relisted(&self, cause: RelistCause) {
        self.relists[cause as usize].inc();
    }

    pub(crate) fn snapshot(&self) -> MetricsSnapshot {
        MetricsSnapshot {
            lists: self.lists.get(),
            list_pages: self.list_pages.get(),
            watch_lists: self.watch_lists.get(),
            watch_list_fallbacks: self.watch_list_fallbacks.get(),
            watches: self.watches.get(),
            silent_watches: self.silent_watches.get(),
            broken_streams: self.broken_streams.get(),
            ended_watches: self.ended_watches.get(),
            relists: RelistCause::ALL
                .into_iter()
                .map(|cause| (cause, self.relists[cause as usize].get()))
                .collect(),
            events: self.events.get(),
            bookmarks: self.bookmarks.get(),
            received_bytes: self.received_bytes.get(),
            rejected: self.rejected.get(),
            errors: self.errors.get(),
            backoffs: self.backoffs.get(),
            handler_panics: self.handler_panics.get(),
            ..MetricsSnapshot::default()
        }
    }
}

impl MetricsSnapshot {
    /// Returns the number of lists for that cause.
    pub fn relists(&self, cause: RelistCause) -> u64 {
        let found = self.relists.iter().find(|(other, _)| *other == cause);
        found.map_or(0, |(_, count)| *count)
    }

    /// Returns the number of lists, without the first.
    pub fn total_relists(&self) -> u64 {
        let causes = self.relists.iter();
        causes
            .filter(|(cause, _)| *cause != RelistCause::Initial)
            .map(|(_, count)| count)
            .sum()
    }
}

/// A number that every informer has: name, help text, type, and how to read it.
type Number = (
    &'static str,
    &'static str,
    MetricType,
    fn(&MetricsSnapshot) -> u64,
);

const NUMBERS: [Number; 18] = {
    use MetricType::{Counter, Gauge};
    [
        (
            "informer_store_items",
            "Objects in the cache.",
            Gauge,
            |i| i.items,
        ),
        (
            "informer_store_bytes",
            "Bytes of JSON in the cache.",
            Gauge,
            |i| i.bytes,
        ),
        ("informer_lists_total", "Lists started.", Counter, |i| {
            i.lists
        }),
        (
            "informer_list_pages_total",
            "Pages requested.",
            Counter,
            |i| i.list_pages,
        ),
        (
            "informer_watch_lists_total",
            "Watches that started with the existing objects.",
            Counter,
            |i| i.watch_lists,
        ),
        (
            "informer_watch_list_fallbacks_total",
            "Watch lists given up for a list.",
            Counter,
            |i| i.watch_list_fallbacks,
        ),
        ("informer_watches_total", "Watches started.", Counter, |i| {
            i.watches
        }),
        (
            "informer_silent_watches_total",
            "Watches given up because nothing arrived.",
            Counter,
            |i| i.silent_watches,
        ),
        (
            "informer_broken_streams_total",
            "Watches whose connection broke.",
            Counter,
            |i| i.broken_streams,
        ),
        (
            "informer_events_total",
            "Watch events received.",
            Counter,
            |i| i.events,
        ),
        (
            "informer_bookmarks_total",
            "Bookmarks received.",
            Counter,
            |i| i.bookmarks,
        ),
        (
            "informer_received_bytes_total",
            "Bytes received.",
            Counter,
            |i| i.received_bytes,
        ),
        (
            "informer_rejected_objects_total",
            "Objects that could not be cached.",
            Counter,
            |i| i.rejected,
        ),
        (
            "informer_decode_failures_total",
            "Objects that could not be decoded.",
            Counter,
            |i| i.decode_failures,
        ),
        (
            "informer_errors_total",
            "Errors that ended a list or a watch.",
            Counter,
            |i| i.errors,
        ),
        (
            "informer_backoffs_total",
            "Waits before a retry.",
            Counter,
            |i| i.backoffs,
        ),
        (
            "informer_handler_panics_total",
            "Event handlers that panicked.",
            Counter,
            |i| i.handler_panics,
        ),
        (
            "informer_queued_items",
            "Deltas that wait to be applied.",
            Gauge,
            |i| i.queued,
        ),
    ]
};

/// Writes the metrics of informers. Those of the same resource are added up.
///
/// ```
/// use kubewright_informer::{MetricsSnapshot, write_metrics};
/// use kubewright_metrics::TextWriter;
///
/// let pods = MetricsSnapshot { resource: "pods".into(), items: 3, ..Default::default() };
/// let mut out = TextWriter::default();
/// write_metrics(&[pods], &mut out);
/// assert!(out.finish().contains("informer_store_items{resource=\"pods\"} 3\n"));
/// ```
pub fn write_metrics(informers: &[MetricsSnapshot], out: &mut TextWriter) {
    if informers.is_empty() {
        return;
    }
    let mut by_resource: BTreeMap<&str, Vec<&MetricsSnapshot>> = BTreeMap::new();
    for informer in informers {
        let same = by_resource.entry(&informer.resource).or_default();
        same.push(informer);
    }
    for (name, help, kind, value) in NUMBERS {
        out.heading(name, help, kind);
        for (resource, informers) in &by_resource {
            let sum: u64 = informers.iter().map(|informer| value(informer)).sum();
            out.sample(name, [("resource", *resource)], sum as f64);
        }
    }
    let name = "informer_store_resource_version";
    let help = "The resource version of the cache: its last fifteen digits.";
    out.heading(name, help, MetricType::Gauge);
    for (resource, informers) in &by_resource {
        let versions = informers
            .iter()
            .filter_map(|i| i.resource_version.as_deref());
        if let Some(version) = versions.filter_map(shown_version).min() {
            out.sample(name, [("resource", *resource)], version as f64);
        }
    }
    let name = "kubewright_watch_age_seconds";
    let help = "Time since anything was last received for a resource.";
    out.heading(name, help, MetricType::Gauge);
    for (resource, informers) in &by_resource {
        let quiet = informers.iter().filter_map(|i| i.quiet_millis).max();
        if let Some(quiet) = quiet {
            let seconds = quiet as f64 / 1e3;
            out.sample(name, [("resource", *resource)], seconds);
        }
    }
    let name = "kubewright_watch_restarts_total";
    let help = "Watches that ended and were started again, by reason.";
    out.heading(name, help, MetricType::Counter);
    for (resource, informers) in &by_resource {
        let sum = |count: fn(&MetricsSnapshot) -> u64| informers.iter().map(|i| count(i)).sum();
        let restarts: [(&str, u64); 4] = [
            ("ended", sum(|i| i.ended_watches)),
            ("silent", sum(|i| i.silent_watches)),
            ("broken", sum(|i| i.broken_streams)),
            ("relisted", sum(MetricsSnapshot::total_relists)),
        ];
        for (reason, count) in restarts {
            let labels = [("resource", *resource), ("reason", reason)];
            out.sample(name, labels, count as f64);
        }
    }
    let name = "informer_relists_total";
    out.heading(name, "Lists by cause.", MetricType::Counter);
    for (resource, informers) in &by_resource {
        for cause in RelistCause::ALL {
            let count: u64 = informers.iter().map(|i| i.relists(cause)).sum();
            let labels = [("resource", *resource), ("cause", cause.label())];
            out.sample(name, labels, count as f64);
        }
    }
    let name = "informer_handler_depth";
    let help = "Events that wait for a handler.";
    out.heading(name, help, MetricType::Gauge);
    for (resource, informers) in &by_resource {
        let mut depths: BTreeMap<&str, u64> = BTreeMap::new();
        for (handler, depth) in informers.iter().flat_map(|i| &i.handlers) {
            *depths.entry(handler).or_default() += depth;
        }
        for (handler, depth) in depths {
            let labels = [("resource", *resource), ("handler", handler)];
            out.sample(name, labels, depth as f64);
        }
    }
}

/// Prometheus' text format.
impl fmt::Display for MetricsSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = TextWriter::default();
        write_metrics(std::slice::from_ref(self), &mut out);
        f.write_str(&out.finish())
    }
}

/// Returns a resource version as a number that a float represents exactly: its last fifteen digits.
fn shown_version(version: &str) -> Option<u64> {
    let start = version.len().saturating_sub(15);
    version.get(start..)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_shown_by_its_last_fifteen_digits() {
        assert_eq!(shown_version("42"), Some(42));
        assert_eq!(
            shown_version("1234567890123456789"),
            Some(567_890_123_456_789)
        );
        assert_eq!(shown_version("x"), None);
    }

    #[test]
    fn restarts_of_watches_are_counted_by_reason() {
        let metrics = Metrics::default();
        metrics.ended_watches.inc();
        metrics.ended_watches.inc();
        metrics.silent_watches.inc();
        metrics.relisted(RelistCause::Initial);
        metrics.relisted(RelistCause::Expired);
        let snapshot = MetricsSnapshot {
            resource: "pods".into(),
            ..metrics.snapshot()
        };
        let text = snapshot.to_string();
        for (reason, count) in [("ended", 2), ("silent", 1), ("broken", 0), ("relisted", 1)] {
            let line = format!(
                "kubewright_watch_restarts_total{{resource=\"pods\",reason=\"{reason}\"}} {count}\n"
            );
            assert!(text.contains(&line), "{line}: {text}");
        }
    }

    #[test]
    fn every_cause_has_its_counter() {
        let metrics = Metrics::default();
        for cause in RelistCause::ALL {
            metrics.relisted(cause);
        }
        assert!(
            metrics
                .snapshot()
                .relists
                .iter()
                .all(|(_, count)| *count == 1)
        );
    }
}
