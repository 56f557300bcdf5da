//! [`Recorder`]: records events without waiting.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use kubewright_machinery::validation::names::is_dns1123_subdomain;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{
    broadcaster::EventStats,
    pending::{Pending, PendingEvent},
};
use crate::clock::Clock;

/// The maximum length of a reporting instance.
const INSTANCE_LIMIT: usize = 128;

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventType {
    /// An expected event.
    Normal,
    /// A problem.
    Warning,
}

/// Records events in the name of one controller. Clones share the queue. Recording never waits and never fails.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
/// use kubewright_controller::events::{EventBroadcaster, EventType};
///
/// let broadcaster = EventBroadcaster::new(client);
/// let (recorder, stats) = (broadcaster.recorder("painter"), broadcaster.stats());
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("colours".into());
/// map.metadata.namespace = Some("default".into());
/// recorder.event(&map, EventType::Normal, "Painted", "the sky is blue");
/// // About an object that is known by reference.
/// let node = ObjectReference {
///     api_version: Some("v1".into()),
///     kind: Some("Node".into()),
///     name: Some("n1".into()),
///     ..ObjectReference::default()
/// };
/// recorder.event_about(node, EventType::Warning, "Dirty", "paint on the floor");
/// broadcaster.run(async {}).await;
/// assert_eq!(stats.sent.get(), 2);
/// # });
/// ```
#[derive(Clone)]
pub struct Recorder {
    reporter: Arc<Reporter>,
    queue: mpsc::Sender<Occurrence>,
    stats: EventStats,
    clock: Clock,
    pending: Pending,
}

/// All fields of an event.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::{core::v1::ConfigMap, events::v1::Event};
/// use kube::{Api, Resource};
/// use kubewright_controller::events::{EventBroadcaster, EventDraft, EventType};
///
/// let broadcaster = EventBroadcaster::new(client.clone());
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("colours".into());
/// map.metadata.namespace = Some("default".into());
/// broadcaster.recorder("painter").send(EventDraft {
///     regarding: map.object_ref(&()),
///     related: None,
///     type_: EventType::Normal,
///     reason: "Painted".into(),
///     action: Some("Painting".into()),
///     note: "the sky is blue".into(),
///     annotations: Default::default(),
/// });
/// broadcaster.run(async {}).await;
/// let events: Api<Event> = Api::default_namespaced(client);
/// let event = events.list(&Default::default()).await.unwrap().items.remove(0);
/// assert_eq!(event.action.as_deref(), Some("Painting"));
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct EventDraft {
    /// The object that the event is about.
    pub regarding: ObjectReference,
    /// Another object that was involved.
    pub related: Option<ObjectReference>,
    /// The type.
    pub type_: EventType,
    /// The reason, as one word for programs: `FailedMount`.
    pub reason: String,
    /// The action, as one word for programs: `Binding`. Defaults to the reason. Only in `events.k8s.io`.
    pub action: Option<String>,
    /// The message for users.
    pub note: String,
    /// Annotations of the event.
    pub annotations: BTreeMap<String, String>,
}

/// The reporting controller.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reporter {
    pub(super) controller: String,
    pub(super) instance: String,
    /// The host that it runs on, in core events.
    pub(super) host: Option<String>,
}

/// A recorded event.
pub(super) struct Occurrence {
    pub(super) draft: EventDraft,
    pub(super) reporter: Arc<Reporter>,
    pub(super) at: Timestamp,
    /// Dropped when the event has been written.
    pub(super) pending: Option<PendingEvent>,
}

impl EventType {
    /// Returns the type as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

impl Recorder {
    pub(super) fn new(
        controller: &str,
        queue: mpsc::Sender<Occurrence>,
        stats: EventStats,
        clock: Clock,
        pending: Pending,
    ) -> Self {
        Self {
            reporter: Arc::new(Reporter::new(controller)),
            queue,
            stats,
            clock,
            pending,
        }
    }

    /// Returns a recorder with the same queue, in the name of another controller.
    pub(super) fn named(&self, controller: &str) -> Self {
        Self {
            reporter: Arc::new(Reporter::new(controller)),
            ..self.clone()
        }
    }

    /// Records an event about an object.
    pub fn event<K>(&self, object: &K, type_: EventType, reason: &str, note: impl Into<String>)
    where
        K: Resource,
        K::DynamicType: Default,
    {
        let regarding = object.object_ref(&K::DynamicType::default());
        self.event_about(regarding, type_, reason, note);
    }

    /// Records an event about an object that is known by reference, such as [`Resource::object_ref`] of a dynamic
    /// object.
    pub fn event_about(
        &self,
        regarding: ObjectReference,
        type_: EventType,
        reason: &str,
        note: impl Into<String>,
    ) {
        self.send(EventDraft {
            regarding,
            related: None,
            type_,
            reason: reason.to_owned(),
            action: None,
            note: note.into(),
            annotations: BTreeMap::new(),
        });
    }

    /// Records an event with all its fields.
    pub fn send(&self, draft: EventDraft) {
        if let Err(refused) = self.queue.try_send(self.occurrence(draft)) {
            self.stats.dropped.inc();
            tracing::debug!(error = %refused, "event dropped");
        }
    }

    /// Records an event, waiting for room in the queue, so that a burst of events is slowed down and not dropped.
    pub async fn send_when_ready(&self, draft: EventDraft) {
        if self.queue.send(self.occurrence(draft)).await.is_err() {
            self.stats.dropped.inc();
            tracing::debug!("event dropped: nothing writes events any more");
        }
    }

    /// Returns a recorder with the same queue, for events that happen on a host. Core events name it in their source.
    #[must_use]
    pub fn on_host(&self, host: &str) -> Self {
        Self {
            reporter: Arc::new(Reporter {
                controller: self.reporter.controller.clone(),
                instance: host.to_owned(),
                host: Some(host.to_owned()),
            }),
            ..self.clone()
        }
    }

    fn occurrence(&self, draft: EventDraft) -> Occurrence {
        Occurrence {
            draft,
            reporter: self.reporter.clone(),
            at: (self.clock)(),
            pending: Some(self.pending.add()),
        }
    }
}

impl Reporter {
    fn new(controller: &str) -> Self {
        let host = hostname::get().unwrap_or_default();
        let mut instance = format!("{controller}-{}", host.to_string_lossy());
        truncate(&mut instance, INSTANCE_LIMIT);
        Self {
            controller: controller.to_owned(),
            instance,
            host: None,
        }
    }
}

impl Occurrence {
    /// Returns the namespace of the event: that of its object, or `default`.
    pub(super) fn namespace(&self) -> String {
        let namespace = self.draft.regarding.namespace.clone();
        namespace
            .filter(|namespace| !namespace.is_empty())
            .unwrap_or_else(|| "default".to_owned())
    }

    /// Returns a unique name.
    pub(super) fn name(&self) -> String {
        event_name(
            self.draft.regarding.name.as_deref().unwrap_or(""),
            distinct(self.at),
        )
    }
}

/// Replaces the last digits of a time by a number, since several events may occur at the same time of a virtual clock.
fn distinct(at: Timestamp) -> Timestamp {
    const DIGITS: i128 = 0xffff;
    static NUMBER: AtomicU16 = AtomicU16::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let distinct = at.as_nanosecond() & !DIGITS | i128::from(number);
    Timestamp::from_nanosecond(distinct).unwrap_or(at)
}

/// Builds `<object>.<nanoseconds>`, or a UUID if that is not a valid name.
pub(super) fn event_name(object: &str, at: Timestamp) -> String {
    let name = format!("{object}.{:x}", at.as_nanosecond());
    if is_dns1123_subdomain(&name).is_empty() {
        name
    } else {
        Uuid::new_v4().to_string()
    }
}

/// Truncates a text to that many bytes, at a character boundary.
pub(super) fn truncate(text: &mut String, limit: usize) {
    if text.len() > limit {
        let end = (0..=limit).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("reporter", &self.reporter)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_named_after_its_object_if_that_gives_a_name() {
        let at = Timestamp::from_nanosecond(255).unwrap();
        assert_eq!(event_name("shop", at), "shop.ff");
        for object in ["system:node", "", &"x".repeat(253)] {
            assert!(Uuid::parse_str(&event_name(object, at)).is_ok(), "{object}");
        }
    }

    #[test]
    fn events_of_one_instant_have_different_names() {
        let at: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        assert_ne!(distinct(at), distinct(at));
        assert_eq!(distinct(at).as_millisecond() / 10, at.as_millisecond() / 10);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        let mut text = "aé".to_owned();
        truncate(&mut text, 2);
        assert_eq!(text, "a");
    }
}
