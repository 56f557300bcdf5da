//! [`Server`]: an API server of one resource, in memory, that misbehaves on request.
//!
//! It answers lists and watches with the bytes that a real server sends, cut into chunks by a seed. What goes wrong is
//! planned beforehand, list by list and watch by watch.

mod answers;
mod convergence;
mod wire;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use kube::core::{DynamicObject, Status};
use kubewright_informer::Registration;
use kubewright_informer::{InformerConfig, SharedInformer, SubscribeOptions};
use kubewright_informer::{ListRequest, WatchRequest};
use parking_lot::Mutex;
use tokio::sync::Notify;

pub(crate) use self::convergence::{config, converged, widgets};
use crate::cut::Place;
use crate::history::History;

/// The fault of one list or watch.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// It is refused.
    Refuse(Status),
    /// Nobody listens.
    NoConnection,
    /// Nothing ever comes.
    Hang,
    /// The connection breaks there. With `true` by an error, else as if it had ended.
    Cut(Place, bool),
    /// From there on nothing more comes.
    Silence(Place),
    /// It comes byte by byte.
    ByteByByte,
    /// Only a page after the first is refused.
    RefusePage(Status),
    /// After so many events there is an event of type ERROR.
    ErrorEvent(usize, Status),
    /// After so many events these bytes come.
    Bytes(usize, &'static str),
    /// Every event comes twice.
    Twice,
    /// Changed objects are called new ones.
    AddedAgain,
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
    /// The earlier objects.
    before: BTreeMap<String, Object>,
    before_version: u64,
    log: Vec<Change>,
    /// Changes up to here are forgotten.
    floor: u64,
    list_faults: VecDeque<Fault>,
    watch_faults: VecDeque<Fault>,
    watch_list: bool,
    pages_everything: bool,
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

    /// Without a cache: lists of anything at hand come in pages too.
    pub(crate) fn paging_everything(self) -> Self {
        self.0.state.lock().pages_everything = true;
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

    /// An informer on this server, and a history of what a handler receives.
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

fn json(name: &str, uid: u64, version: u64) -> String {
    format!(
        r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"{name}","namespace":"ns","managedFields":[{{"manager":"é\"}}"}}],"uid":"{uid}","resourceVersion":"{version}","labels":{{"n":"{name}"}}}},"spec":{{"text":"ünï\\\"cödé 😀","v":{version}}}}}"#
    )
}
