//! [`Running`]: a source that runs, and whether it has anything left to tell.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use kubewright_informer::{
    Cached, Event, ReflectorError, SharedInformer, SubscribeOptions, Subscription,
};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::{Enqueue, Kind, Source, Watch, is_unknown_kind};
use crate::{
    client::caches::Caches,
    predicate::AnyEvent,
    status::{SourceState, SourceStatus},
};

/// A source that runs.
pub(crate) struct Running {
    pub(crate) name: Arc<str>,
    /// Its name among the readers of the informer.
    subscriber: String,
    caches: Caches,
    /// Of a watch. Another one when the namespaces change.
    informer: Mutex<Option<SharedInformer<()>>>,
    state: watch::Sender<SourceState>,
    /// It deals with an event.
    busy: AtomicBool,
    pulse: Arc<Notify>,
}

impl Running {
    pub(super) fn new(
        name: Arc<str>,
        subscriber: String,
        caches: Caches,
        informer: Option<SharedInformer<()>>,
        pulse: Arc<Notify>,
    ) -> Self {
        Self {
            name,
            subscriber,
            caches,
            informer: Mutex::new(informer),
            state: watch::Sender::new(SourceState::New),
            busy: AtomicBool::new(false),
            pulse,
        }
    }

    /// The cache that a watch watches.
    pub(crate) fn informer(&self) -> Option<SharedInformer<()>> {
        self.informer.lock().clone()
    }

    /// Runs a source until it is dropped, or ends by itself.
    pub(crate) async fn run(self: Arc<Self>, source: Source, enqueue: Enqueue) {
        match source.kind {
            Kind::Watch(watch) => self.watch(&watch, &enqueue).await,
            Kind::Raw(run) => {
                self.state.send_replace(SourceState::Synced);
                self.pulse.notify_waiters();
                run(enqueue).await;
            }
        }
        self.ended();
    }

    async fn watch(&self, watch: &Watch, enqueue: &Enqueue) {
        let mut scope = self.caches.namespace_changes();
        // They may have changed since it was made.
        *self.informer.lock() = Some(watch.cache(&self.caches));
        while let Some(informer) = self.informer() {
            let mut options = SubscribeOptions::default().name(self.subscriber.clone());
            options.resync = watch.resync;
            let mut events = informer.subscribe(options);
            informer.start();
            self.state.send_replace(SourceState::Syncing);
            loop {
                let event = tokio::select! {
                    biased;
                    Ok(()) = scope.changed() => {
                        if self.rescope(watch, &informer, enqueue).await {
                            break;
                        }
                        continue;
                    }
                    event = self.next(&mut events) => event,
                };
                match event {
                    Some(event) => self.handle(watch, &event, enqueue),
                    None => return,
                }
            }
        }
    }

    /// The namespaces have changed. If that makes another cache of it, changes over to it: what is in the old one only is
    /// told as deleted, what is in the new one will be told as it is with every watch that begins.
    async fn rescope(&self, watch: &Watch, old: &SharedInformer<()>, enqueue: &Enqueue) -> bool {
        let new = watch.cache(&self.caches);
        if Arc::ptr_eq(new.indexer(), old.indexer()) {
            return false;
        }
        // Until the new subscription has nothing to tell.
        self.busy.store(true, Ordering::SeqCst);
        self.state.send_replace(SourceState::Syncing);
        *self.informer.lock() = Some(new.clone());
        new.start();
        while !new.has_synced() && !new.is_stopped() {
            // What goes wrong may pass; until then the old objects stay.
            if new.sync_or_error().await.is_err() {
                tokio::time::sleep(PAUSE).await;
            }
        }
        let kept = new.indexer().snapshot();
        let kept: HashSet<&str> = kept.iter().map(|object| object.key().as_str()).collect();
        for object in old.indexer().snapshot().iter() {
            if !kept.contains(object.key().as_str()) {
                let last = Cached::new(object.clone());
                self.handle(watch, &Event::Deleted { last, exact: false }, enqueue);
            }
        }
        true
    }

    fn handle(&self, watch: &Watch, event: &AnyEvent, enqueue: &Enqueue) {
        let handled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            watch.handle(event, enqueue);
        }));
        if handled.is_err() {
            tracing::error!(source = %self.name, key = %event.key(), "a handler panicked");
        }
    }

    /// The next event. Idle exactly while there is none.
    async fn next(&self, events: &mut Subscription<()>) -> Option<AnyEvent> {
        let mut next = std::pin::pin!(events.next());
        std::future::poll_fn(|cx| {
            self.busy.store(true, Ordering::SeqCst);
            let polled = next.as_mut().poll(cx);
            if polled.is_pending() {
                self.busy.store(false, Ordering::SeqCst);
                self.pulse.notify_waiters();
            }
            polled
        })
        .await
    }

    /// Whether everything that the cache shows has been dealt with.
    pub(crate) fn is_drained(&self) -> bool {
        let Some(informer) = self.informer() else {
            return true;
        };
        // The depth first: who takes an event is busy before.
        let handlers = informer.metrics().handlers;
        let waiting = handlers
            .iter()
            .any(|(name, depth)| **name == *self.subscriber && *depth > 0);
        !waiting && !self.busy.load(Ordering::SeqCst)
    }

    pub(crate) fn ended(&self) {
        self.state.send_replace(SourceState::Ended);
        self.pulse.notify_waiters();
    }

    pub(crate) fn state(&self) -> SourceState {
        let state = *self.state.borrow();
        if state != SourceState::Syncing {
            return state;
        }
        // What a cache has applied has been told when it can be measured: only then say that it is filled.
        let filled = self.informer().is_none_or(|informer| {
            informer.metrics();
            informer.has_synced()
        });
        if filled && self.is_drained() {
            self.state.send_if_modified(|state| {
                let syncing = *state == SourceState::Syncing;
                if syncing {
                    *state = SourceState::Synced;
                }
                syncing
            });
            return SourceState::Synced;
        }
        if self.error().is_some_and(|error| is_unknown_kind(&error)) {
            return SourceState::WaitingForKind;
        }
        SourceState::Syncing
    }

    /// What is wrong with the watch.
    pub(crate) fn error(&self) -> Option<Arc<ReflectorError>> {
        self.informer()?.error()
    }

    pub(crate) fn status(&self) -> SourceStatus {
        SourceStatus {
            name: self.name.to_string(),
            state: self.state(),
            error: self.error().map(|error| error.to_string()),
        }
    }
}

/// How long to leave a list alone that fails, before it is looked at again.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);
