//! [`Server`]: an API server of one resource, in memory, that misbehaves on request.
//!
//! It answers lists and watches with the bytes that a real server sends, cut into chunks by a seed. What goes wrong is
//! planned beforehand, list by list and watch by watch.

mod wire;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream;
use kube::core::DynamicObject;
use kube::core::{ApiResource, Status};
use kubewright_client::stream::{ByteStream, OpenError};
use kubewright_informer::events::Registration;
use kubewright_informer::lister_watcher::{ListRequest, WatchRequest};
use kubewright_informer::reflector::backoff::BackoffSettings;
use kubewright_informer::{
    InformerConfig, ListerWatcher, ReflectorConfig, SharedInformer, SubscribeOptions,
};
use parking_lot::Mutex;
use tokio::sync::Notify;

use self::wire::{Step, bookmark, cut, frame, no_connection, play, too_large};
use crate::history::History;

/// What goes wrong with one list or watch.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// It is refused.
    Refuse(Status),
    /// Nobody listens.
    NoConnection,
    /// Nothing ever comes.
    Hang,
    /// The connection breaks after so many bytes. With `true` by an error, else as if it had ended.
    Cut(usize, bool),
    /// After so many bytes nothing more comes.
    Silence(usize),
    /// After so many events there is an event of type ERROR.
    ErrorEvent(usize, Status),
    /// After so many events these bytes come.
    Bytes(usize, &'static str),
    /// Every event comes twice.
    Twice,
    /// There are no bookmarks, the marker aside.
    NoBookmarks,
    /// The end of the initial events is not marked.
    NoMarker,
    /// The list shows an older state.
    Stale,
    /// Nothing, this time.
    None,
}

/// The server. Clones share it.
#[derive(Clone)]
pub(crate) struct Server(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    version: u64,
    uids: u64,
    objects: BTreeMap<String, Object>,
    /// What was there earlier.
    before: BTreeMap<String, Object>,
    before_version: u64,
    log: Vec<Change>,
    /// Changes up to here are forgotten.
    floor: u64,
    list_faults: VecDeque<Fault>,
    watch_faults: VecDeque<Fault>,
    watch_list: bool,
    seed: u64,
    lists: Vec<ListRequest>,
    watches: Vec<WatchRequest>,
    /// Breaks all watches that are under way.
    epoch: u64,
}

#[derive(Clone)]
struct Object {
    uid: u64,
    version: u64,
    json: String,
}

#[derive(Clone)]
struct Change {
    version: u64,
    event: &'static str,
    json: String,
}

pub(crate) fn status(code: u16, reason: &str) -> Status {
    Status::failure(&format!("{reason} happened"), reason).with_code(code)
}

pub(crate) fn expired() -> Status {
    status(410, "Expired")
}

impl Server {
    pub(crate) fn new(seed: u64) -> Self {
        let server = Self(Arc::new(Shared {
            state: Mutex::new(State {
                version: 100,
                watch_list: true,
                seed,
                ..State::default()
            }),
            changed: Notify::new(),
        }));
        server.snapshot();
        server
    }

    /// Without watches that begin with the objects there are.
    pub(crate) fn without_watch_list(self) -> Self {
        self.0.state.lock().watch_list = false;
        self
    }

    pub(crate) fn fail_lists(&self, faults: impl IntoIterator<Item = Fault>) {
        self.0.state.lock().list_faults.extend(faults);
    }

    pub(crate) fn fail_watches(&self, faults: impl IntoIterator<Item = Fault>) {
        self.0.state.lock().watch_faults.extend(faults);
    }

    pub(crate) fn lists(&self) -> Vec<ListRequest> {
        self.0.state.lock().lists.clone()
    }

    pub(crate) fn watches(&self) -> Vec<WatchRequest> {
        self.0.state.lock().watches.clone()
    }

    pub(crate) fn version(&self) -> u64 {
        self.0.state.lock().version
    }

    /// Creates or updates an object.
    pub(crate) fn put(&self, name: &str) {
        let mut state = self.0.state.lock();
        state.version += 1;
        let known = state.objects.get(name).map(|object| object.uid);
        let uid = known.unwrap_or_else(|| {
            state.uids += 1;
            state.uids
        });
        let event = if known.is_some() { "MODIFIED" } else { "ADDED" };
        state.write(name, uid, event);
        drop(state);
        self.0.changed.notify_waiters();
    }

    pub(crate) fn delete(&self, name: &str) {
        let mut state = self.0.state.lock();
        let Some(object) = state.objects.remove(name) else {
            return;
        };
        state.version += 1;
        let version = state.version;
        let json = json(name, object.uid, version);
        state.log.push(Change {
            version,
            event: "DELETED",
            json,
        });
        drop(state);
        self.0.changed.notify_waiters();
    }

    /// Deletes an object and creates another under its name, which watchers see as one change.
    pub(crate) fn recreate(&self, name: &str) {
        let mut state = self.0.state.lock();
        state.version += 2;
        state.uids += 1;
        let uid = state.uids;
        state.write(name, uid, "MODIFIED");
        drop(state);
        self.0.changed.notify_waiters();
    }

    /// Says that an object is gone that nobody knew.
    pub(crate) fn delete_unknown(&self, name: &str) {
        let mut state = self.0.state.lock();
        state.version += 1;
        let version = state.version;
        let json = json(name, 9999, version);
        state.log.push(Change {
            version,
            event: "DELETED",
            json,
        });
        drop(state);
        self.0.changed.notify_waiters();
    }

    /// An object that is none.
    pub(crate) fn emit(&self, json: &str) {
        let mut state = self.0.state.lock();
        state.version += 1;
        let version = state.version;
        state.log.push(Change {
            version,
            event: "ADDED",
            json: json.to_owned(),
        });
        drop(state);
        self.0.changed.notify_waiters();
    }

    /// Forgets the past.
    pub(crate) fn compact(&self) {
        let mut state = self.0.state.lock();
        state.floor = state.version;
        state.log.clear();
    }

    /// Breaks all connections.
    pub(crate) fn disconnect(&self) {
        self.0.state.lock().epoch += 1;
        self.0.changed.notify_waiters();
    }

    /// Remembers the state for [`Fault::Stale`] and [`fail_over`](Self::fail_over).
    pub(crate) fn snapshot(&self) {
        let mut state = self.0.state.lock();
        state.before = state.objects.clone();
        state.before_version = state.version;
    }

    /// Another server takes over that has only the remembered state.
    pub(crate) fn fail_over(&self) {
        let mut state = self.0.state.lock();
        state.objects = state.before.clone();
        state.version = state.before_version;
        let version = state.version;
        state.log.retain(|change| change.version <= version);
        state.epoch += 1;
        drop(state);
        self.0.changed.notify_waiters();
    }

    /// Key to uid and resourceVersion of all objects.
    pub(crate) fn model(&self) -> BTreeMap<String, (String, String)> {
        let state = self.0.state.lock();
        let objects = state.objects.iter();
        objects
            .map(|(name, o)| {
                (
                    format!("ns/{name}"),
                    (o.uid.to_string(), o.version.to_string()),
                )
            })
            .collect()
    }

    /// An informer on this server, and a history of what a handler is told.
    pub(crate) fn informer(
        &self,
        config: InformerConfig,
    ) -> (SharedInformer<DynamicObject>, History, Registration) {
        let informer = SharedInformer::new(widgets(), vec![Arc::new(self.clone())], config);
        let (history, registration) = History::of(&informer, SubscribeOptions::default());
        informer.start();
        (informer, history, registration)
    }
}

impl State {
    fn write(&mut self, name: &str, uid: u64, event: &'static str) {
        let version = self.version;
        let json = json(name, uid, version);
        let object = Object {
            uid,
            version,
            json: json.clone(),
        };
        self.objects.insert(name.to_owned(), object);
        self.log.push(Change {
            version,
            event,
            json,
        });
    }

    fn random(&mut self) -> u64 {
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.seed >> 33
    }
}

/// The resource it serves.
pub(crate) fn widgets() -> ApiResource {
    ApiResource {
        group: "example.com".to_owned(),
        version: "v1".to_owned(),
        api_version: "example.com/v1".to_owned(),
        kind: "Widget".to_owned(),
        plural: "widgets".to_owned(),
    }
}

/// Fast and by a seed.
pub(crate) fn config() -> InformerConfig {
    InformerConfig {
        reflector: ReflectorConfig {
            backoff: BackoffSettings {
                seed: Some(7),
                ..BackoffSettings::default()
            },
            ..ReflectorConfig::default()
        },
        ..InformerConfig::default()
    }
}

/// Waits until the cache holds what the server holds, and checks the history that led there.
#[track_caller]
pub(crate) fn converged<'a>(
    server: &'a Server,
    informer: &'a SharedInformer<DynamicObject>,
    history: &'a History,
) -> impl Future<Output = ()> + 'a {
    let place = std::panic::Location::caller();
    async move {
        for attempt in 0..2000u64 {
            let cached = cached(informer);
            if cached == server.model() && history.model() == cached {
                history.assert_consistent();
                return;
            }
            tokio::time::sleep(Duration::from_millis(20 + attempt * 5)).await;
        }
        panic!(
            "{place}: the cache does not follow the server\nserver {:#?}\ncache {:#?}\nerror {:?}\ntold {:#?}\nlists {:?}\nwatches {:?}",
            server.model(),
            cached(informer),
            informer.error(),
            history.told(),
            server.lists(),
            server.watches(),
        );
    }
}

pub(crate) fn cached(
    informer: &SharedInformer<DynamicObject>,
) -> BTreeMap<String, (String, String)> {
    let state = informer.indexer().snapshot();
    let entries = state.iter().map(|o| {
        let version = (o.uid().to_owned(), o.resource_version().to_owned());
        (o.key().to_string(), version)
    });
    entries.collect()
}

fn json(name: &str, uid: u64, version: u64) -> String {
    format!(
        r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"{name}","namespace":"ns","managedFields":[{{"manager":"é\"}}"}}],"uid":"{uid}","resourceVersion":"{version}","labels":{{"n":"{name}"}}}},"spec":{{"text":"ünï\\\"cödé 😀","v":{version}}}}}"#
    )
}

impl ListerWatcher for Server {
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ByteStream, OpenError>> {
        Box::pin(async move { self.answer_list(request) })
    }

    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<ByteStream, OpenError>> {
        Box::pin(async move { self.answer_watch(request) })
    }
}

impl Server {
    fn answer_list(&self, request: ListRequest) -> Result<ByteStream, OpenError> {
        let mut state = self.0.state.lock();
        state.lists.push(request.clone());
        let fault = state.list_faults.pop_front().unwrap_or(Fault::None);
        match &fault {
            Fault::Refuse(status) => return Err(OpenError::refused(status.clone())),
            Fault::NoConnection => return Err(no_connection()),
            _ => {}
        }
        let stale = matches!(fault, Fault::Stale);
        let version = if stale {
            state.before_version
        } else {
            state.version
        };
        if !stale
            && request
                .resource_version
                .parse::<u64>()
                .is_ok_and(|v| v > version)
        {
            return Err(OpenError::refused(too_large()));
        }
        // A page begins after the name in its token.
        let objects = if stale { &state.before } else { &state.objects };
        let mut items: Vec<_> = objects
            .iter()
            .filter(|(name, _)| **name > request.continue_token)
            .map(|(name, object)| (name.clone(), object.json.clone()))
            .collect();
        let mut token = String::new();
        // Anything at hand comes whole, as from a cache.
        if let Some(limit) = request.limit.filter(|_| request.resource_version != "0")
            && items.len() > limit as usize
        {
            items.truncate(limit as usize);
            token = items
                .last()
                .map(|(name, _)| name.clone())
                .unwrap_or_default();
        }
        let items: Vec<_> = items.into_iter().map(|(_, json)| json).collect();
        let text = format!(
            r#"{{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{{"resourceVersion":"{version}","continue":"{token}"}},"items":[{}]}}"#,
            items.join(",")
        );
        let mut bytes = text.into_bytes();
        let mut steps = Vec::new();
        match fault {
            Fault::Cut(at, error) => {
                bytes.truncate(at);
                steps.extend(error.then_some(Step::Broken));
            }
            Fault::Silence(at) => {
                bytes.truncate(at);
                steps.push(Step::Hang);
            }
            Fault::Hang => {
                bytes.clear();
                steps.push(Step::Hang);
            }
            _ => {}
        }
        let chunks = cut(&bytes, &mut state);
        let steps: VecDeque<_> = chunks.into_iter().map(Step::Chunk).chain(steps).collect();
        Ok(play(steps))
    }

    fn answer_watch(&self, request: WatchRequest) -> Result<ByteStream, OpenError> {
        let mut state = self.0.state.lock();
        state.watches.push(request.clone());
        if request.send_initial_events && !state.watch_list {
            return Err(OpenError::refused(status(422, "Invalid")));
        }
        let fault = state.watch_faults.pop_front().unwrap_or(Fault::None);
        let version = request.resource_version.parse::<u64>().unwrap_or(0);
        match &fault {
            Fault::Refuse(status) => return Err(OpenError::refused(status.clone())),
            Fault::NoConnection => return Err(no_connection()),
            Fault::Hang => return Ok(play([Step::Hang].into())),
            _ => {}
        }
        if version > state.version {
            return Err(OpenError::refused(too_large()));
        }
        if version < state.floor && !request.send_initial_events {
            return Err(OpenError::refused(expired()));
        }
        let mut text = String::new();
        let mut cursor = version;
        if request.send_initial_events {
            for object in state.objects.values() {
                text += &frame("ADDED", &object.json);
            }
            cursor = state.version;
            if !matches!(fault, Fault::NoMarker) {
                text += &bookmark(state.version, true);
            }
        }
        let watcher = Watcher {
            server: self.clone(),
            cursor,
            epoch: state.epoch,
            pending: cut(text.as_bytes(), &mut state).into(),
            sent: 0,
            events: 0,
            fault,
            deadline: tokio::time::Instant::now() + request.timeout,
        };
        Ok(Box::pin(stream::unfold(watcher, Watcher::step)))
    }
}

/// One watch under way.
struct Watcher {
    server: Server,
    cursor: u64,
    epoch: u64,
    pending: VecDeque<Bytes>,
    sent: usize,
    events: usize,
    fault: Fault,
    deadline: tokio::time::Instant,
}

type Sent = Option<(
    Result<Bytes, Box<dyn std::error::Error + Send + Sync>>,
    Watcher,
)>;

impl Watcher {
    async fn step(mut self) -> Sent {
        loop {
            if let Some(chunk) = self.pending.pop_front() {
                return self.send(chunk).await;
            }
            let server = self.server.clone();
            let changed = server.0.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let epoch = {
                let mut state = server.0.state.lock();
                let next = state.log.iter().find(|c| c.version > self.cursor).cloned();
                if let Some(change) = next.filter(|_| state.epoch == self.epoch) {
                    self.cursor = change.version;
                    let text = self.text(&change);
                    self.pending = cut(text.as_bytes(), &mut state).into();
                    continue;
                }
                state.epoch
            };
            if epoch != self.epoch {
                return None;
            }
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep_until(self.deadline) => return None,
                () = tokio::time::sleep(Duration::from_secs(60)) => {
                    if !matches!(self.fault, Fault::NoBookmarks) {
                        let version = server.version();
                        self.pending.push_back(bookmark(version, false).into());
                    }
                }
            }
        }
    }

    fn text(&mut self, change: &Change) -> String {
        self.events += 1;
        let text = frame(change.event, &change.json);
        match &self.fault {
            Fault::ErrorEvent(after, status) if self.events > *after => {
                frame("ERROR", &serde_json::to_string(status).unwrap())
            }
            Fault::Bytes(after, bytes) if self.events > *after => (*bytes).to_owned(),
            Fault::Twice => text.repeat(2),
            _ => text,
        }
    }

    async fn send(mut self, chunk: Bytes) -> Sent {
        let left = match self.fault {
            Fault::Cut(at, _) | Fault::Silence(at) => at.saturating_sub(self.sent),
            _ => usize::MAX,
        };
        if left == 0 {
            return match self.fault {
                Fault::Cut(_, false) => None,
                Fault::Cut(_, true) => {
                    self.fault = Fault::Cut(0, false);
                    self.pending = [Bytes::new()].into();
                    Some((Err("connection reset by peer".into()), self))
                }
                _ => std::future::pending().await,
            };
        }
        let now = chunk.slice(..chunk.len().min(left));
        if now.len() < chunk.len() {
            self.pending.push_front(chunk.slice(now.len()..));
        }
        self.sent += now.len();
        Some((Ok(now), self))
    }
}
