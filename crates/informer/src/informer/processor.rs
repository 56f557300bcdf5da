//! From deltas to the cache and to events.
//!
//! The cache changes first, in one step for each batch; then readers are notified. Readers come and go under the same
//! lock, so that each sees every change exactly once: in its replay or as an event.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use crate::delta::{Delta, Sourced};
use crate::events::event::AnyEvent;
use crate::events::progress::SubscriberState;
use crate::events::subscription::{initial, shown};
use crate::events::{Cause, Cursor, Entry, Event, HandlerPanic, Log, SubscribeOptions};
use crate::object::{Cached, StoredObject};
use crate::reflector::Monitor;
use crate::store::{Indexer, Snapshot};
use crate::version::compare_resource_versions;

/// Applies deltas to the cache and notifies the readers.
pub(crate) struct Processor {
    pub(crate) indexer: Arc<Indexer>,
    pub(crate) log: Log,
    pub(crate) monitor: Arc<Monitor>,
    /// Notified when a bounded reader has read on, or a reader has gone.
    pub(crate) read: Notify,
    state: Mutex<State>,
    synced: watch::Sender<bool>,
    next_id: AtomicU64,
    last_panic: Mutex<Option<HandlerPanic>>,
}

struct State {
    subscribers: Vec<Arc<SubscriberState>>,
    sources: Vec<SourceState>,
}

/// The state of one stream.
struct SourceState {
    /// The namespace, if there are several streams.
    namespace: Option<String>,
    version: String,
    filled: bool,
}

/// The starting point of a new reader.
pub(crate) struct Beginning {
    pub(crate) state: Arc<SubscriberState>,
    pub(crate) replay: Vec<Arc<StoredObject>>,
    pub(crate) synced: bool,
    pub(crate) cursor: Cursor,
}

/// The entries of one batch, in order.
#[derive(Default)]
struct Notifications {
    entries: Vec<Entry>,
    changes: Vec<AnyEvent>,
}

impl Processor {
    pub(crate) fn new(
        indexer: Arc<Indexer>,
        monitor: Arc<Monitor>,
        namespaces: Vec<Option<String>>,
    ) -> Self {
        let sources = namespaces
            .into_iter()
            .map(|namespace| SourceState {
                namespace,
                version: String::new(),
                filled: false,
            })
            .collect();
        Self {
            indexer,
            log: Log::new(),
            monitor,
            read: Notify::new(),
            state: Mutex::new(State {
                subscribers: Vec::new(),
                sources,
            }),
            synced: watch::Sender::new(false),
            next_id: AtomicU64::new(0),
            last_panic: Mutex::new(None),
        }
    }

    /// Applies a batch.
    pub(crate) fn apply(&self, batch: Vec<Sourced>) {
        let mut state = self.state.lock();
        let State {
            subscribers,
            sources,
        } = &mut *state;
        let was_synced = *self.synced.borrow();
        let mut notifications = Notifications::default();
        self.indexer.write(|cache| {
            for Sourced { source, delta } in batch {
                apply(
                    cache,
                    source,
                    delta,
                    sources,
                    subscribers,
                    was_synced,
                    &mut notifications,
                );
            }
            cache.set_resource_version(shown_version(sources));
        });
        notifications.flush();
        for entry in notifications.entries {
            self.notify(entry, subscribers);
        }
        if !was_synced && sources.iter().all(|source| source.filled) {
            self.notify(Entry::Synced, subscribers);
            self.synced.send_replace(true);
        }
    }

    /// Waits for a batch that is being applied, so that everything that the cache shows has been passed to its readers.
    /// The cache changes before they are notified, both under this lock.
    pub(crate) fn barrier(&self) {
        drop(self.state.lock());
    }

    /// Waits until no bounded reader is too far behind.
    pub(crate) async fn caught_up(&self) {
        loop {
            let read = self.read.notified();
            tokio::pin!(read);
            read.as_mut().enable();
            let behind = {
                let state = self.state.lock();
                state.subscribers.iter().any(|s| s.is_over_its_bound(self))
            };
            if !behind {
                return;
            }
            read.await;
        }
    }

    /// Adds a reader: all objects, and then every change.
    pub(crate) fn subscribe(&self, options: SubscribeOptions) -> Beginning {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let subscriber = Arc::new(SubscriberState::new(id, options));
        let mut state = self.state.lock();
        state.subscribers.push(subscriber.clone());
        let synced = *self.synced.borrow();
        let mut replay: Vec<_> = self.indexer.snapshot().iter().cloned().collect();
        if let Some(queue) = &subscriber.coalesced {
            // Before any change can be pushed.
            queue.push(std::mem::take(&mut replay).into_iter().map(initial));
            if synced {
                queue.mark_synced();
            }
        }
        Beginning {
            replay,
            synced,
            cursor: self.log.end(),
            state: subscriber,
        }
    }

    /// Removes a reader.
    pub(crate) fn forget(&self, id: u64) {
        self.state.lock().subscribers.retain(|s| s.id != id);
        self.read.notify_waiters();
    }

    pub(crate) fn subscribers(&self) -> Vec<Arc<SubscriberState>> {
        self.state.lock().subscribers.clone()
    }

    pub(crate) fn synced(&self) -> watch::Receiver<bool> {
        self.synced.subscribe()
    }

    /// Ends all readers.
    pub(crate) fn close(&self) {
        let state = self.state.lock();
        self.log.close();
        for subscriber in &state.subscribers {
            if let Some(queue) = &subscriber.coalesced {
                queue.close();
            }
        }
    }

    pub(crate) fn report_panic(&self, panic: HandlerPanic) {
        self.monitor.metrics.handler_panics.inc();
        tracing::error!(%panic, "event handler panicked");
        *self.last_panic.lock() = Some(panic);
    }

    pub(crate) fn last_panic(&self) -> Option<HandlerPanic> {
        self.last_panic.lock().clone()
    }

    fn notify(&self, entry: Entry, subscribers: &[Arc<SubscriberState>]) {
        for subscriber in subscribers {
            let Some(queue) = &subscriber.coalesced else {
                continue;
            };
            match &entry {
                Entry::Changes(events) => queue.push(events.iter().cloned()),
                Entry::Shown { objects, cause, to } if to.contains(&subscriber.id) => {
                    queue.push(objects.iter().map(|object| shown(object, *cause)));
                }
                Entry::Shown { .. } => {}
                Entry::Synced => queue.mark_synced(),
            }
        }
        self.log.append(entry);
    }
}

impl Notifications {
    fn flush(&mut self) {
        if !self.changes.is_empty() {
            let changes = std::mem::take(&mut self.changes);
            self.entries.push(Entry::Changes(changes));
        }
    }
}

fn apply(
    cache: &mut Snapshot,
    source: usize,
    delta: Delta,
    sources: &mut [SourceState],
    subscribers: &[Arc<SubscriberState>],
    was_synced: bool,
    notifications: &mut Notifications,
) {
    let Some(stream) = sources.get_mut(source) else {
        return;
    };
    match delta {
        Delta::Added(object) | Delta::Updated(object) => {
            stream.reached(object.resource_version());
            notifications
                .changes
                .extend(upsert(cache, object, !was_synced).err());
        }
        Delta::Deleted(object) => {
            stream.reached(object.resource_version());
            cache.remove(object.key().as_str());
            notifications.changes.push(Event::Deleted {
                object: Cached::new(object),
                exact: true,
            });
        }
        Delta::Bookmark { resource_version } => stream.reached(&resource_version),
        Delta::Sync { subscribers } => {
            notifications.flush();
            notifications.entries.push(Entry::Shown {
                objects: cache.iter().cloned().collect(),
                cause: Cause::Resync,
                to: subscribers,
            });
        }
        Delta::Replaced {
            objects,
            resource_version,
        } => {
            stream.reached(&resource_version);
            stream.filled = true;
            let namespace = stream.namespace.as_deref();
            let unchanged = replace(cache, namespace, objects, !was_synced, notifications);
            let to: Vec<u64> = subscribers
                .iter()
                .filter(|s| s.resync.is_some())
                .map(|s| s.id)
                .collect();
            notifications.flush();
            if !to.is_empty() && !unchanged.is_empty() {
                notifications.entries.push(Entry::Shown {
                    objects: unchanged,
                    cause: Cause::Relist,
                    to,
                });
            }
        }
    }
}

/// Makes the cache show these objects in that namespace. Deletions are reported first. Returns the objects that were
/// cached already in the same version.
fn replace(
    cache: &mut Snapshot,
    namespace: Option<&str>,
    objects: Vec<Arc<StoredObject>>,
    initial: bool,
    notifications: &mut Notifications,
) -> Vec<Arc<StoredObject>> {
    if !cache.is_empty() {
        let listed: HashSet<&str> = objects.iter().map(|object| object.key().as_str()).collect();
        let gone: Vec<_> = cache
            .iter()
            .filter(|object| {
                namespace.is_none_or(|namespace| object.namespace() == Some(namespace))
            })
            .filter(|object| !listed.contains(object.key().as_str()))
            .cloned()
            .collect();
        for object in gone {
            cache.remove(object.key().as_str());
            notifications.changes.push(Event::Deleted {
                object: Cached::new(object),
                exact: false,
            });
        }
    }
    let mut unchanged = Vec::new();
    for object in objects {
        match upsert(cache, object, initial) {
            Ok(object) => unchanged.push(object),
            Err(event) => notifications.changes.push(event),
        }
    }
    unchanged
}

/// Caches an object. Returns the event for readers, or the object itself if it was cached already in that version.
fn upsert(
    cache: &mut Snapshot,
    object: Arc<StoredObject>,
    initial: bool,
) -> Result<Arc<StoredObject>, AnyEvent> {
    let known = cache.get(object.key().as_str());
    if let Some(known) = known
        && known.is_same_version(&object)
    {
        return Ok(known.clone());
    }
    Err(match cache.insert(object.clone()) {
        None => Event::Added {
            object: Cached::new(object),
            initial,
        },
        Some(old) => Event::Updated {
            cause: if old.uid() == object.uid() {
                Cause::Change
            } else {
                Cause::Recreated
            },
            old: Cached::new(old),
            object: Cached::new(object),
        },
    })
}

impl SourceState {
    fn reached(&mut self, version: &str) {
        if !version.is_empty() {
            self.version.clear();
            self.version.push_str(version);
        }
    }
}

/// Returns the version of the cache as a whole: the oldest of its streams, once each has delivered something.
fn shown_version(sources: &[SourceState]) -> Option<&str> {
    let mut versions = sources.iter().map(|source| &*source.version);
    let first = versions.next()?;
    let oldest = versions.fold(first, |oldest, other| {
        if other.is_empty() || compare_resource_versions(other, oldest).is_some_and(|o| o.is_lt()) {
            other
        } else {
            oldest
        }
    });
    (!oldest.is_empty()).then_some(oldest)
}
