//! The rules for core events: aggregate, count, limit, in this order.
//!
//! Pure: time is an argument. All three memories are bounded and forget the least recently used entries.

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{Event, EventSource},
    apimachinery::pkg::apis::meta::v1::Time,
};
use tokio::time::Instant;

use super::{
    lru::Lru,
    recorder::{Occurrence, event_name},
};

/// The conditions under which similar events are aggregated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// The number of different messages of one reason from which on they are aggregated.
    pub different: usize,
    /// The time after which a quiet group starts over.
    pub within: Duration,
}

/// The budget of a source for one object.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::events::{EventApi, EventBroadcaster, EventOptions, EventType, SpamLimit};
///
/// let spam = Some(SpamLimit { burst: 1, ..SpamLimit::default() });
/// let options = EventOptions { spam, ..EventOptions::new(EventApi::Core) };
/// let broadcaster = EventBroadcaster::with_options(client, options);
/// let (recorder, stats) = (broadcaster.recorder("painter"), broadcaster.stats());
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("colours".into());
/// map.metadata.namespace = Some("default".into());
/// recorder.event(&map, EventType::Normal, "Painted", "the sky is blue");
/// recorder.event(&map, EventType::Normal, "Painted", "the sky is grey");
/// broadcaster.run(async {}).await;
/// assert_eq!((stats.sent.get(), stats.throttled.get()), (1, 1));
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpamLimit {
    /// The number of events at once.
    pub burst: u32,
    /// The time in which one more event is granted.
    pub refill: Duration,
}

/// The treatment of an event.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Correlated {
    /// Create it.
    Create(Box<Event>),
    /// Patch an existing one with a new count, time and message.
    Patch(Box<Event>),
    /// Drop it, because the budget is exhausted.
    Throttled,
}

pub(super) struct Correlator {
    aggregation: Aggregation,
    spam: SpamFilter,
    groups: Lru<String, Group>,
    counts: Lru<String, Counted>,
}

/// The budgets by source and object.
pub(super) struct SpamFilter {
    limit: Option<SpamLimit>,
    budgets: Lru<String, Budget>,
}

struct Group {
    messages: BTreeSet<String>,
    last: Instant,
}

#[derive(Default)]
struct Counted {
    name: String,
    first: Option<Time>,
    count: i32,
}

struct Budget {
    tokens: f64,
    filled: Instant,
}

impl Default for Aggregation {
    /// Ten within ten minutes.
    fn default() -> Self {
        Self {
            different: 10,
            within: Duration::from_secs(600),
        }
    }
}

impl Default for SpamLimit {
    /// 25, and one more every five minutes.
    fn default() -> Self {
        Self {
            burst: 25,
            refill: Duration::from_secs(300),
        }
    }
}

impl Correlator {
    pub(super) fn new(aggregation: Aggregation, limit: Option<SpamLimit>, capacity: usize) -> Self {
        Self {
            aggregation,
            spam: SpamFilter::new(limit, capacity),
            groups: Lru::new(capacity),
            counts: Lru::new(capacity),
        }
    }

    pub(super) fn correlate(&mut self, occurrence: &Occurrence, now: Instant) -> Correlated {
        let mut event = core_event(occurrence);
        let key = self.aggregate(&mut event, occurrence, now);
        let again = self.count(&mut event, &key);
        if !self.spam.admits(occurrence, now) {
            Correlated::Throttled
        } else if again {
            Correlated::Patch(Box::new(event))
        } else {
            Correlated::Create(Box::new(event))
        }
    }

    /// From the tenth different message on, the events of a group are combined. Returns the key by which the event is
    /// counted.
    fn aggregate(&mut self, event: &mut Event, occurrence: &Occurrence, now: Instant) -> String {
        let group_key = group_key(occurrence);
        let message = event.message.clone().unwrap_or_default();
        let field = occurrence.draft.regarding.field_path.as_deref();
        let full_key = [&group_key, field.unwrap_or(""), &message].join("\0");
        let fresh = || Group {
            messages: BTreeSet::new(),
            last: now,
        };
        let group = self.groups.get_or_insert_with(&group_key, fresh);
        if now.duration_since(group.last) > self.aggregation.within {
            *group = fresh();
        }
        group.messages.insert(message.clone());
        group.last = now;
        if group.messages.len() < self.aggregation.different {
            return full_key;
        }
        group.messages.pop_first();
        event.metadata.name = Some(event_name(
            occurrence.draft.regarding.name.as_deref().unwrap_or(""),
            occurrence.at,
        ));
        event.message = Some(format!("(combined from similar events): {message}"));
        group_key
    }

    /// Reports whether the event is known, and updates its count.
    fn count(&mut self, event: &mut Event, key: &String) -> bool {
        let known = self.counts.get_or_insert_with(key, Counted::default);
        let again = known.count > 0;
        if again {
            event.metadata.name = Some(known.name.clone());
            event.first_timestamp = known.first.clone();
            event.count = Some(known.count.saturating_add(1));
        }
        *known = Counted {
            name: event.metadata.name.clone().unwrap_or_default(),
            first: event.first_timestamp.clone(),
            count: event.count.unwrap_or(1),
        };
        again
    }
}

impl SpamFilter {
    pub(super) fn new(limit: Option<SpamLimit>, capacity: usize) -> Self {
        Self {
            limit,
            budgets: Lru::new(capacity),
        }
    }

    /// Takes one from the budget, if any is left.
    pub(super) fn admits(&mut self, occurrence: &Occurrence, now: Instant) -> bool {
        let Some(limit) = self.limit else { return true };
        let burst = f64::from(limit.burst);
        let budget = self
            .budgets
            .get_or_insert_with(&spam_key(occurrence), || Budget {
                tokens: burst,
                filled: now,
            });
        let refill = limit.refill.as_secs_f64();
        let passed = now.duration_since(budget.filled).as_secs_f64();
        if refill > 0.0 {
            budget.tokens = (budget.tokens + passed / refill).min(burst);
        } else {
            budget.tokens = burst;
        }
        budget.filled = now;
        let admitted = budget.tokens >= 1.0;
        if admitted {
            budget.tokens -= 1.0;
        }
        admitted
    }
}

fn core_event(occurrence: &Occurrence) -> Event {
    let draft = &occurrence.draft;
    // These times have whole seconds on the wire.
    let at = Timestamp::from_second(occurrence.at.as_second()).unwrap_or(occurrence.at);
    let mut event = Event {
        involved_object: draft.regarding.clone(),
        related: draft.related.clone(),
        type_: Some(draft.type_.as_str().to_owned()),
        reason: Some(draft.reason.clone()),
        message: Some(draft.note.clone()),
        count: Some(1),
        first_timestamp: Some(Time(at)),
        last_timestamp: Some(Time(at)),
        source: Some(EventSource {
            component: Some(occurrence.reporter.controller.clone()),
            host: occurrence.reporter.host.clone(),
        }),
        reporting_component: Some(occurrence.reporter.controller.clone()),
        reporting_instance: occurrence.reporter.host.clone(),
        ..Event::default()
    };
    event.metadata.name = Some(occurrence.name());
    event.metadata.namespace = Some(occurrence.namespace());
    if !draft.annotations.is_empty() {
        event.metadata.annotations = Some(draft.annotations.clone());
    }
    event
}

/// Source, object and type, without the reason.
fn spam_key(occurrence: &Occurrence) -> String {
    let about = &occurrence.draft.regarding;
    [
        occurrence.reporter.controller.as_str(),
        about.kind.as_deref().unwrap_or(""),
        about.namespace.as_deref().unwrap_or(""),
        about.name.as_deref().unwrap_or(""),
        about.uid.as_deref().unwrap_or(""),
        about.api_version.as_deref().unwrap_or(""),
        occurrence.draft.type_.as_str(),
    ]
    .join("\0")
}

fn group_key(occurrence: &Occurrence) -> String {
    [&spam_key(occurrence), occurrence.draft.reason.as_str()].join("\0")
}

#[cfg(test)]
mod tests;
