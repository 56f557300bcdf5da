//! The rules for `events.k8s.io/v1`: events that differ only in their note form one series.
//!
//! Pure: time is an argument. Bounded: the least recently seen series is forgotten.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        core::v1::ObjectReference,
        events::v1::{Event, EventSeries},
    },
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use tokio::time::Instant;

use super::{
    lru::Lru,
    recorder::{Occurrence, truncate},
};

/// The interval at which all active series are written.
pub(crate) const REFRESH: Duration = Duration::from_secs(30 * 60);

/// The time without another event after which a series is over, and the interval of that check.
pub(crate) const FINISH: Duration = Duration::from_secs(6 * 60);

/// The server's limits.
const NOTE_LIMIT: usize = 1024;
const WORD_LIMIT: usize = 128;

/// A write to make.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SeriesWrite {
    /// The event is new.
    Create(Box<Event>),
    /// The series continues.
    Patch(Box<Event>),
}

pub(super) struct SeriesCache(Lru<String, Entry>);

struct Entry {
    event: Event,
    seen: Instant,
}

impl SeriesCache {
    pub(super) fn new(capacity: usize) -> Self {
        Self(Lru::new(capacity))
    }

    /// Returns the write for a new event: the first is created, the second makes it a series.
    pub(super) fn observe(&mut self, occurrence: &Occurrence, now: Instant) -> Option<SeriesWrite> {
        let mut new = false;
        let entry = self.0.get_or_insert_with(&key(occurrence), || {
            new = true;
            Entry {
                event: event(occurrence),
                seen: now,
            }
        });
        entry.seen = now;
        if new {
            return Some(SeriesWrite::Create(Box::new(entry.event.clone())));
        }
        let observed = MicroTime(occurrence.at);
        match &mut entry.event.series {
            Some(series) => {
                series.count = series.count.saturating_add(1);
                series.last_observed_time = observed;
                None
            }
            None => {
                entry.event.series = Some(EventSeries {
                    count: 2,
                    last_observed_time: observed,
                });
                Some(SeriesWrite::Patch(Box::new(entry.event.clone())))
            }
        }
    }

    /// Forgets an event that was not written.
    pub(super) fn forget(&mut self, occurrence: &Occurrence) {
        self.0.remove(&key(occurrence));
    }

    /// Returns all active series.
    pub(super) fn refresh(&self) -> Vec<Event> {
        let events = self.0.values().map(|entry| &entry.event);
        events
            .filter(|event| event.series.is_some())
            .cloned()
            .collect()
    }

    /// Forgets events that are over, and returns the series among them for a last write.
    pub(super) fn finish(&mut self, now: Instant) -> Vec<Event> {
        let mut over = Vec::new();
        self.0.retain(|entry| {
            let goes_on = now.duration_since(entry.seen) <= FINISH;
            if !goes_on && entry.event.series.is_some() {
                over.push(entry.event.clone());
            }
            goes_on
        });
        over
    }
}

fn event(occurrence: &Occurrence) -> Event {
    let draft = &occurrence.draft;
    let short = |text: &str, limit| {
        let mut text = text.to_owned();
        truncate(&mut text, limit);
        text
    };
    let action = draft.action.as_deref().unwrap_or(&draft.reason);
    let mut event = Event {
        event_time: Some(MicroTime(micros(occurrence.at))),
        regarding: Some(draft.regarding.clone()),
        related: draft.related.clone(),
        type_: Some(draft.type_.as_str().to_owned()),
        reason: Some(short(&draft.reason, WORD_LIMIT)),
        action: Some(short(action, WORD_LIMIT)),
        note: Some(short(&draft.note, NOTE_LIMIT)),
        reporting_controller: Some(occurrence.reporter.controller.clone()),
        reporting_instance: Some(occurrence.reporter.instance.clone()),
        ..Event::default()
    };
    event.metadata.name = Some(occurrence.name());
    event.metadata.namespace = Some(occurrence.namespace());
    if !draft.annotations.is_empty() {
        event.metadata.annotations = Some(draft.annotations.clone());
    }
    event
}

fn micros(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at)
}

/// Everything but the note and the objects' versions.
fn key(occurrence: &Occurrence) -> String {
    let draft = &occurrence.draft;
    let mut parts = vec![
        draft.type_.as_str(),
        draft.action.as_deref().unwrap_or(""),
        &draft.reason,
        &occurrence.reporter.controller,
        &occurrence.reporter.instance,
    ];
    parts.extend(identity(&draft.regarding));
    if let Some(related) = &draft.related {
        parts.extend(identity(related));
    }
    parts.join("\0")
}

fn identity(reference: &ObjectReference) -> [&str; 6] {
    [
        &reference.api_version,
        &reference.kind,
        &reference.namespace,
        &reference.name,
        &reference.uid,
        &reference.field_path,
    ]
    .map(|field| field.as_deref().unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::events::recorder::{EventDraft, EventType, Reporter};

    fn occurrence(note: &str, second: i64) -> Occurrence {
        Occurrence {
            draft: EventDraft {
                regarding: ObjectReference {
                    name: Some("p".into()),
                    ..ObjectReference::default()
                },
                related: None,
                type_: EventType::Normal,
                reason: "Sold".into(),
                action: None,
                note: note.into(),
                annotations: Default::default(),
            },
            reporter: Arc::new(Reporter {
                controller: "shop".into(),
                instance: "shop-host".into(),
                host: None,
            }),
            at: Timestamp::from_second(second).unwrap(),
            pending: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_second_event_makes_a_series_and_further_ones_only_count() {
        let mut cache = SeriesCache::new(10);
        let now = Instant::now();
        let Some(SeriesWrite::Create(first)) = cache.observe(&occurrence("one", 1), now) else {
            panic!("not created");
        };
        assert_eq!(first.series, None);
        assert_eq!(first.metadata.namespace.as_deref(), Some("default"));
        assert_eq!(first.action.as_deref(), Some("Sold"));
        let Some(SeriesWrite::Patch(second)) = cache.observe(&occurrence("two", 2), now) else {
            panic!("not patched");
        };
        assert_eq!(second.metadata.name, first.metadata.name);
        assert_eq!(second.series.unwrap().count, 2);
        for n in 3..10 {
            assert_eq!(cache.observe(&occurrence("more", n), now), None);
        }
        let series = cache.refresh().remove(0).series.unwrap();
        assert_eq!(series.count, 9);
        assert_eq!(series.last_observed_time.0.as_second(), 9);
    }

    #[tokio::test(start_paused = true)]
    async fn another_reason_or_relation_is_another_event() {
        let mut cache = SeriesCache::new(10);
        let now = Instant::now();
        let mut other = occurrence("a", 1);
        cache.observe(&other, now);
        other.draft.related = Some(ObjectReference::default());
        assert!(matches!(
            cache.observe(&other, now),
            Some(SeriesWrite::Create(_))
        ));
        other.draft.action = Some("Selling".into());
        assert!(matches!(
            cache.observe(&other, now),
            Some(SeriesWrite::Create(_))
        ));
    }

    #[tokio::test(start_paused = true)]
    async fn a_series_ends_after_six_quiet_minutes() {
        let mut cache = SeriesCache::new(10);
        let now = Instant::now();
        cache.observe(&occurrence("a", 1), now);
        let mut single = occurrence("a", 1);
        single.draft.reason = "Other".into();
        cache.observe(&single, now);
        cache.observe(&occurrence("a", 2), now);
        assert_eq!(cache.finish(now + FINISH), []);
        let over = cache.finish(now + FINISH + Duration::from_millis(1));
        assert_eq!(over.len(), 1);
        assert_eq!(over[0].reason.as_deref(), Some("Sold"));
        assert!(cache.refresh().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn texts_are_cut_to_the_limits_of_the_server() {
        let mut cache = SeriesCache::new(10);
        let long = occurrence(&"ä".repeat(1000), 1);
        let Some(SeriesWrite::Create(event)) = cache.observe(&long, Instant::now()) else {
            panic!("not created");
        };
        assert_eq!(event.note.unwrap().len(), 1024);
    }
}
