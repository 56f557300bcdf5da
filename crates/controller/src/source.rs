//! Where requests come from: [`Watch`]es of kinds, channels, timers, and whatever else can ask.
//!
//! A source runs in a task of its own from the controller's start until it is stopped; a handler that takes its time holds
//! up its own source only. A kind that the server does not know is waited for.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use kube::{Resource, core::ApiResource};
use kubewright_informer::{
    Cause, Event, ReflectorError, SharedInformer, SubscribeOptions, Subscription,
};
use kubewright_workqueue::{AddOptions, WorkQueue};
use tokio::sync::{Notify, mpsc, watch};

use crate::{
    client::caches::{self, Caches},
    handler::{Handler, priority_of},
    predicate::{AnyEvent, Predicate},
    reconcile::Request,
    status::{Journal, SourceState, SourceStatus, Trigger, TriggerCause},
};

/// How many requests wait in a channel.
pub const CHANNEL_CAPACITY: usize = 1024;

/// A source of requests, to be given to a controller.
pub struct Source {
    name: Arc<str>,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    Watch(Watch),
    Raw(Box<dyn FnOnce(Enqueue) -> BoxFuture<'static, ()> + Send>),
}

/// A source that watches a kind.
#[derive(Clone, Debug)]
pub struct Watch {
    resource: ApiResource,
    metadata_only: bool,
    handler: Handler,
    predicates: Vec<Predicate>,
    resync: Option<Duration>,
    priority: Option<i32>,
}

/// Puts requests into a controller's queue. Cheap to clone.
#[derive(Clone)]
pub struct Enqueue {
    source: Arc<str>,
    queue: WorkQueue<Request>,
    journal: Arc<Journal>,
}

/// Sends requests to a controller.
#[derive(Clone, Debug)]
pub struct RequestSender(mpsc::Sender<Request>);

/// A source that runs.
pub(crate) struct Running {
    pub(crate) name: Arc<str>,
    /// Its name among the readers of the informer.
    subscriber: String,
    pub(crate) informer: Option<SharedInformer<()>>,
    state: watch::Sender<SourceState>,
    /// It deals with an event.
    busy: AtomicBool,
    pulse: Arc<Notify>,
}

impl Source {
    /// Requests that are sent to it. At most [`CHANNEL_CAPACITY`] wait.
    pub fn channel(name: impl Into<Arc<str>>) -> (RequestSender, Self) {
        let (sender, mut requests) = mpsc::channel(CHANNEL_CAPACITY);
        let source = Self::raw(name, move |enqueue: Enqueue| async move {
            while let Some(request) = requests.recv().await {
                enqueue.add(request);
            }
        });
        (RequestSender(sender), source)
    }

    /// The same request again and again.
    pub fn timer(name: impl Into<Arc<str>>, every: Duration, request: Request) -> Self {
        Self::raw(name, move |enqueue: Enqueue| async move {
            // The shortest that a timer can do.
            let mut ticks = tokio::time::interval(every.max(Duration::from_millis(1)));
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                enqueue.add(request.clone());
            }
        })
    }

    /// Whatever a function asks for. It is dropped when the source is stopped.
    pub fn raw<F, R>(name: impl Into<Arc<str>>, run: F) -> Self
    where
        F: FnOnce(Enqueue) -> R + Send + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        Self {
            name: name.into(),
            kind: Kind::Raw(Box::new(|enqueue| Box::pin(run(enqueue)))),
        }
    }

    pub(crate) fn prepare(
        &self,
        subscriber: String,
        caches: &Caches,
        pulse: &Arc<Notify>,
    ) -> Running {
        let informer = match &self.kind {
            Kind::Watch(watch) if watch.metadata_only => Some(caches.metadata(&watch.resource)),
            Kind::Watch(watch) => Some(caches.informer(&watch.resource)),
            Kind::Raw(_) => None,
        };
        Running {
            name: self.name.clone(),
            subscriber,
            informer,
            state: watch::Sender::new(SourceState::New),
            busy: AtomicBool::new(false),
            pulse: pulse.clone(),
        }
    }
}

impl From<Watch> for Source {
    fn from(watch: Watch) -> Self {
        Self {
            name: caches::name(&watch.resource).into(),
            kind: Kind::Watch(watch),
        }
    }
}

impl Watch {
    /// Watches a type.
    pub fn of<K: Resource<DynamicType = ()>>(handler: Handler) -> Self {
        Self::kind(&ApiResource::erase::<K>(&()), handler)
    }

    /// Watches a kind that is known at run time. The cache is the one that typed users have.
    pub fn kind(resource: &ApiResource, handler: Handler) -> Self {
        Self {
            resource: resource.clone(),
            metadata_only: false,
            handler,
            predicates: Vec::new(),
            resync: None,
            priority: None,
        }
    }

    /// Watches metadata only, in a cache of its own.
    #[must_use]
    pub fn metadata_only(mut self) -> Self {
        self.metadata_only = true;
        self
    }

    /// Cares only for events that pass, and pass those given before.
    #[must_use]
    pub fn predicate(mut self, predicate: Predicate) -> Self {
        self.predicates.push(predicate);
        self
    }

    /// Shows everything again that often.
    #[must_use]
    pub fn resync(mut self, every: Duration) -> Self {
        self.resync = Some(every);
        self
    }

    /// The priority of what changes; what was there at the beginning and what is shown again is less urgent still.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = Some(priority);
        self
    }

    fn handle(&self, event: &AnyEvent, enqueue: &Enqueue) {
        if !self
            .predicates
            .iter()
            .all(|predicate| predicate.passes(event))
        {
            return;
        }
        let priority = priority_of(event).saturating_add(self.priority.unwrap_or(0));
        let cause = cause_of(event);
        for request in self.handler.requests(event) {
            enqueue.put(request, cause, AddOptions::new().priority(priority));
        }
    }
}

impl Enqueue {
    pub(crate) fn new(source: Arc<str>, queue: WorkQueue<Request>, journal: Arc<Journal>) -> Self {
        Self {
            source,
            queue,
            journal,
        }
    }

    /// Asks for a request.
    pub fn add(&self, request: Request) {
        self.add_with(request, AddOptions::new());
    }

    /// Asks for a request with a priority, or later.
    pub fn add_with(&self, request: Request, options: AddOptions) {
        self.put(request, TriggerCause::Asked, options);
    }

    pub(crate) fn put(&self, request: Request, cause: TriggerCause, options: AddOptions) {
        self.journal
            .triggered(&request, Trigger::new(&self.source, cause));
        self.queue.add_with(request, options);
    }
}

impl RequestSender {
    /// Sends a request; waits while too many wait. False if the source has been stopped.
    pub async fn send(&self, request: Request) -> bool {
        self.0.send(request).await.is_ok()
    }

    /// Sends a request if there is room for it.
    pub fn try_send(&self, request: Request) -> bool {
        self.0.try_send(request).is_ok()
    }
}

impl Running {
    /// Runs a source until it is dropped, or ends by itself.
    pub(crate) async fn run(self: Arc<Self>, source: Source, enqueue: Enqueue) {
        match (source.kind, &self.informer) {
            (Kind::Watch(watch), Some(informer)) => self.watch(&watch, informer, &enqueue).await,
            (Kind::Raw(run), _) => {
                self.state.send_replace(SourceState::Synced);
                self.pulse.notify_waiters();
                run(enqueue).await;
            }
            (Kind::Watch(_), None) => {}
        }
        self.ended();
    }

    async fn watch(&self, watch: &Watch, informer: &SharedInformer<()>, enqueue: &Enqueue) {
        let mut options = SubscribeOptions::default().name(self.subscriber.clone());
        options.resync = watch.resync;
        let mut events = informer.subscribe(options);
        informer.start();
        self.state.send_replace(SourceState::Syncing);
        while let Some(event) = self.next(&mut events).await {
            let handled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                watch.handle(&event, enqueue);
            }));
            if handled.is_err() {
                tracing::error!(source = %self.name, key = %event.key(), "a handler panicked");
            }
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
        let Some(informer) = &self.informer else {
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
        let filled = self.informer.as_ref().is_none_or(|informer| {
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
        self.informer.as_ref()?.error()
    }

    pub(crate) fn status(&self) -> SourceStatus {
        SourceStatus {
            name: self.name.to_string(),
            state: self.state(),
            error: self.error().map(|error| error.to_string()),
        }
    }
}

/// The server does not know the resource.
pub(crate) fn is_unknown_kind(error: &ReflectorError) -> bool {
    error.code() == Some(404)
}

fn cause_of(event: &AnyEvent) -> TriggerCause {
    match event {
        Event::Added { initial: true, .. } => TriggerCause::Initial,
        Event::Added { .. } => TriggerCause::Added,
        Event::Updated {
            cause: Cause::Relist | Cause::Resync,
            ..
        } => TriggerCause::Resync,
        Event::Updated { .. } => TriggerCause::Updated,
        Event::Deleted { .. } => TriggerCause::Deleted,
    }
}
