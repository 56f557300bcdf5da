//! [`Running`]: a source that has been started, and its progress.

use std::{collections::HashSet, panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use kubewright_informer::{
    Cached, Event, ReflectorError, SharedInformer, SubscribeOptions, Subscription,
    SubscriptionProgress,
};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::{Enqueue, Kind, Source, Watch, is_unknown_kind};
use crate::{
    client::{Client, caches::Caches},
    predicate::AnyEvent,
    status::{SourceState, SourceStatus},
};

/// A source that has been started.
pub(crate) struct Running {
    pub(crate) name: Arc<str>,
    /// The name of its subscription in metrics and logs.
    subscriber: String,
    caches: Caches,
    reading: Mutex<Reading>,
    state: watch::Sender<SourceState>,
    pulse: Arc<Notify>,
}

/// A watch, and where its requests go.
struct Target {
    watch: Watch,
    enqueue: Enqueue,
    /// The client of map functions.
    client: Client,
}

/// The informer that a source reads. Sources that are not watches read none.
#[derive(Clone, Default)]
struct Reading {
    /// Replaced when the namespaces change.
    informer: Option<SharedInformer<()>>,
    subscription: Subscribed,
}

/// The subscription of a source to its informer.
#[derive(Clone, Default)]
enum Subscribed {
    /// The source has not started yet.
    #[default]
    NotYet,
    /// The source switches to another informer, and has not processed the difference yet.
    Changing,
    /// The source reads events.
    Yes(SubscriptionProgress),
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
            reading: Mutex::new(Reading {
                informer,
                subscription: Subscribed::NotYet,
            }),
            state: watch::Sender::new(SourceState::New),
            pulse,
        }
    }

    /// Returns the informer that a watch reads.
    pub(crate) fn informer(&self) -> Option<SharedInformer<()>> {
        self.reading.lock().informer.clone()
    }

    /// Runs a source until it is dropped, or ends by itself.
    pub(crate) async fn run(self: Arc<Self>, source: Source, enqueue: Enqueue, client: Client) {
        match source.kind {
            Kind::Watch(watch) => {
                let target = Target {
                    watch,
                    enqueue,
                    client,
                };
                self.watch(&target).await;
            }
            Kind::Raw(run) => {
                self.state.send_replace(SourceState::Synced);
                self.pulse.notify_waiters();
                run(enqueue).await;
            }
        }
        self.ended();
    }

    async fn watch(&self, target: &Target) {
        let watch = &target.watch;
        let mut scope = self.caches.namespace_changes();
        // The namespaces may have changed since the source was made.
        self.reading.lock().informer = Some(watch.cache(&self.caches));
        while let Some(informer) = self.informer() {
            let mut options = SubscribeOptions::default().name(self.subscriber.clone());
            options.resync = watch.resync;
            let mut events = informer.subscribe(options);
            self.reading.lock().subscription = Subscribed::Yes(events.progress());
            informer.start();
            self.state.send_replace(SourceState::Syncing);
            loop {
                let event = tokio::select! {
                    biased;
                    Ok(()) = scope.changed() => {
                        if self.rescope(target, &informer).await {
                            break;
                        }
                        continue;
                    }
                    event = self.next(&mut events) => event,
                };
                match event {
                    Some(event) => self.handle(target, &event).await,
                    None => return,
                }
            }
        }
    }

    /// Switches to another informer if the change of the namespaces requires it. Objects that only the old
    /// informer holds are reported as deleted; those of the new one arrive as they do for every new watch.
    async fn rescope(&self, target: &Target, old: &SharedInformer<()>) -> bool {
        let new = target.watch.cache(&self.caches);
        if Arc::ptr_eq(new.indexer(), old.indexer()) {
            return false;
        }
        *self.reading.lock() = Reading {
            informer: Some(new.clone()),
            subscription: Subscribed::Changing,
        };
        self.state.send_replace(SourceState::Syncing);
        new.start();
        while !new.has_synced() && !new.is_stopped() {
            // The error may be transient; until then the old objects stay.
            if new.sync_or_error().await.is_err() {
                tokio::time::sleep(PAUSE).await;
            }
        }
        let kept = new.indexer().snapshot();
        let kept: HashSet<&str> = kept.iter().map(|object| object.key().as_str()).collect();
        for object in old.indexer().snapshot().iter() {
            if !kept.contains(object.key().as_str()) {
                let object = Cached::new(object.clone());
                let exact = false;
                let event = Event::Deleted { object, exact };
                self.handle(target, &event).await;
            }
        }
        true
    }

    async fn handle(&self, target: &Target, event: &AnyEvent) {
        let handled = target.watch.handle(event, &target.enqueue, &target.client);
        if AssertUnwindSafe(handled).catch_unwind().await.is_err() {
            tracing::error!(source = %self.name, key = %event.key(), "event handler panicked");
        }
    }

    /// Waits for the next event. If there is none, wakes the tasks that wait for the source to be drained.
    async fn next(&self, events: &mut Subscription<()>) -> Option<AnyEvent> {
        let mut next = std::pin::pin!(events.next());
        std::future::poll_fn(|cx| {
            let polled = next.as_mut().poll(cx);
            if polled.is_pending() {
                self.pulse.notify_waiters();
            }
            polled
        })
        .await
    }

    /// Reports whether all events of the informer have been processed.
    pub(crate) fn is_drained(&self) -> bool {
        let reading = self.reading.lock().clone();
        match (reading.informer, reading.subscription) {
            (None, _) | (_, Subscribed::NotYet) => true,
            (_, Subscribed::Changing) => false,
            (_, Subscribed::Yes(progress)) => progress.is_drained(),
        }
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
        let Reading {
            informer,
            subscription,
        } = self.reading.lock().clone();
        let synced = match subscription {
            Subscribed::NotYet => informer.is_none(),
            Subscribed::Changing => false,
            Subscribed::Yes(progress) => progress.has_synced(),
        };
        if synced {
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

    /// Returns the error that the watch has at present.
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

/// The interval at which a failing list is checked.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);
