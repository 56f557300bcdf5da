//! [`Metrics`]: what one informer has done, as plain counters. There is no registry: whoever exports them asks each informer.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why everything was listed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelistCause {
    /// It was the first list.
    Initial,
    /// The revision to go on from is gone (410).
    Expired,
    /// The server does not have the revision yet ("too large resource version").
    TooLarge,
    /// The server refused a request or ended the watch with an error.
    Refused,
    /// The connection broke before there was a watch.
    Transport,
    /// The stream made no sense.
    Malformed,
    /// The watch ended at once without an event.
    ShortWatch,
    /// The server has gone back to an older state.
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

/// Counters of one informer.
#[derive(Debug, Default)]
pub struct Metrics {
    pub(crate) lists: AtomicU64,
    pub(crate) list_pages: AtomicU64,
    pub(crate) watch_lists: AtomicU64,
    pub(crate) watch_list_fallbacks: AtomicU64,
    pub(crate) watches: AtomicU64,
    pub(crate) silent_watches: AtomicU64,
    pub(crate) broken_streams: AtomicU64,
    relists: [AtomicU64; RelistCause::ALL.len()],
    pub(crate) events: AtomicU64,
    pub(crate) bookmarks: AtomicU64,
    pub(crate) received_bytes: AtomicU64,
    pub(crate) rejected: AtomicU64,
    pub(crate) errors: AtomicU64,
    pub(crate) backoffs: AtomicU64,
    pub(crate) handler_panics: AtomicU64,
}

/// What one informer has done and holds, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricsSnapshot {
    /// The resource: `pods`, `deployments.apps`.
    pub resource: String,
    /// Objects in the cache.
    pub items: u64,
    /// Bytes of their JSON, as it is kept.
    pub bytes: u64,
    /// The newest revision of the cache.
    pub resource_version: Option<String>,
    /// Lists that were begun.
    pub lists: u64,
    /// Pages that were asked for.
    pub list_pages: u64,
    /// Watches that began with the objects there are.
    pub watch_lists: u64,
    /// Times such a watch was given up for a list.
    pub watch_list_fallbacks: u64,
    /// Watches that were begun.
    pub watches: u64,
    /// Watches that were given up because nothing came.
    pub silent_watches: u64,
    /// Watches whose connection broke.
    pub broken_streams: u64,
    /// Times everything was listed again, by cause.
    pub relists: Vec<(RelistCause, u64)>,
    /// Events of watches.
    pub events: u64,
    /// Bookmarks among them.
    pub bookmarks: u64,
    /// Bytes that were received.
    pub received_bytes: u64,
    /// Objects that could not be cached.
    pub rejected: u64,
    /// Objects that could not be decoded into what somebody wanted.
    pub decode_failures: u64,
    /// Errors that ended a list or a watch.
    pub errors: u64,
    /// Waits before another attempt.
    pub backoffs: u64,
    /// Handlers that panicked.
    pub handler_panics: u64,
    /// Deltas that wait to be applied to the cache.
    pub queued: u64,
    /// Events that wait for each handler, by name.
    pub handlers: Vec<(String, u64)>,
    /// Milliseconds since the last sign of life from the server; `None` before the first.
    pub quiet_millis: Option<u64>,
}

impl Metrics {
    pub(crate) fn relisted(&self, cause: RelistCause) {
        self.relists[cause as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self) -> MetricsSnapshot {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        MetricsSnapshot {
            lists: read(&self.lists),
            list_pages: read(&self.list_pages),
            watch_lists: read(&self.watch_lists),
            watch_list_fallbacks: read(&self.watch_list_fallbacks),
            watches: read(&self.watches),
            silent_watches: read(&self.silent_watches),
            broken_streams: read(&self.broken_streams),
            relists: RelistCause::ALL
                .into_iter()
                .map(|cause| (cause, read(&self.relists[cause as usize])))
                .collect(),
            events: read(&self.events),
            bookmarks: read(&self.bookmarks),
            received_bytes: read(&self.received_bytes),
            rejected: read(&self.rejected),
            errors: read(&self.errors),
            backoffs: read(&self.backoffs),
            handler_panics: read(&self.handler_panics),
            ..MetricsSnapshot::default()
        }
    }
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl MetricsSnapshot {
    /// How often everything was listed again for that cause.
    pub fn relists(&self, cause: RelistCause) -> u64 {
        let found = self.relists.iter().find(|(other, _)| *other == cause);
        found.map_or(0, |(_, count)| *count)
    }

    /// How often everything was listed again, the first list aside.
    pub fn total_relists(&self) -> u64 {
        let causes = self.relists.iter();
        causes
            .filter(|(cause, _)| *cause != RelistCause::Initial)
            .map(|(_, count)| count)
            .sum()
    }
}

/// The text form that Prometheus reads.
impl fmt::Display for MetricsSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resource = &self.resource;
        let rows = [
            ("informer_store_items", self.items),
            ("informer_store_bytes", self.bytes),
            ("informer_lists_total", self.lists),
            ("informer_list_pages_total", self.list_pages),
            ("informer_watch_lists_total", self.watch_lists),
            (
                "informer_watch_list_fallbacks_total",
                self.watch_list_fallbacks,
            ),
            ("informer_watches_total", self.watches),
            ("informer_silent_watches_total", self.silent_watches),
            ("informer_broken_streams_total", self.broken_streams),
            ("informer_events_total", self.events),
            ("informer_bookmarks_total", self.bookmarks),
            ("informer_received_bytes_total", self.received_bytes),
            ("informer_rejected_objects_total", self.rejected),
            ("informer_decode_failures_total", self.decode_failures),
            ("informer_errors_total", self.errors),
            ("informer_backoffs_total", self.backoffs),
            ("informer_handler_panics_total", self.handler_panics),
            ("informer_queued_items", self.queued),
        ];
        for (name, value) in rows {
            writeln!(f, "{name}{{resource=\"{resource}\"}} {value}")?;
        }
        if let Some(version) = self.resource_version.as_deref().and_then(shown_version) {
            writeln!(
                f,
                "informer_store_resource_version{{resource=\"{resource}\"}} {version}"
            )?;
        }
        for (cause, value) in &self.relists {
            let cause = cause.label();
            writeln!(
                f,
                "informer_relists_total{{resource=\"{resource}\",cause=\"{cause}\"}} {value}"
            )?;
        }
        for (handler, depth) in &self.handlers {
            writeln!(
                f,
                "informer_handler_depth{{resource=\"{resource}\",handler={handler:?}}} {depth}"
            )?;
        }
        Ok(())
    }
}

/// A revision as a number that a float holds: its last fifteen digits.
fn shown_version(version: &str) -> Option<u64> {
    let start = version.len().saturating_sub(15);
    version.get(start..)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // ST-9
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
