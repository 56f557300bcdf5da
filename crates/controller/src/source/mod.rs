//! Sources of requests: [`Watch`]es of kinds, channels, timers, and functions.
//!
//! A source runs in a task of its own from the controller's start until it is stopped; a slow handler holds up its own
//! source only. A kind that the server does not know is waited for.

mod running;

use std::{future::Future, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use kube::{Resource, core::ApiResource};
use kubewright_informer::{Cause, Event, ReflectorError, SharedInformer};
use kubewright_workqueue::{AddOptions, WorkQueue};
pub(crate) use running::Running;
use tokio::sync::{Notify, mpsc};

use crate::{
    client::{
        Client,
        caches::{self, Caches},
    },
    handler::{Handler, priority_of},
    predicate::{AnyEvent, Predicate},
    reconcile::Request,
    status::{ChangedObject, Journal, Trigger, TriggerCause},
};

/// The maximum number of requests that wait in a channel.
pub(crate) const CHANNEL_CAPACITY: usize = 1024;

/// A source of requests for a controller.
///
/// ```
/// use std::time::Duration;
/// use kubewright_controller::{Request, Source};
///
/// let (sender, channel) = Source::channel("webhook");
/// let timer = Source::timer("hourly", Duration::from_secs(3600), Request::cluster_scoped("all"));
/// assert!(sender.try_send(Request::new("default", "web")));
/// # let _ = (channel, timer);
/// ```
pub struct Source {
    name: Arc<str>,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    Watch(Watch),
    Raw(Box<dyn FnOnce(Enqueue) -> BoxFuture<'static, ()> + Send>),
}

/// A source that watches a kind.
///
/// ```
/// use k8s_openapi::api::core::v1::Secret;
/// use kubewright_controller::{Handler, Predicate, Watch};
///
/// let secrets = Watch::of::<Secret>(Handler::for_object()).predicate(Predicate::namespaces(["shop"]));
/// assert_eq!(secrets.resource().plural, "secrets");
/// ```
#[derive(Clone, Debug)]
pub struct Watch {
    resource: Arc<ApiResource>,
    metadata_only: bool,
    handler: Handler,
    predicates: Vec<Predicate>,
    resync: Option<Duration>,
    priority: Option<i32>,
}

/// Adds requests to a controller's queue. Cheap to clone.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use kubewright_controller::{Action, Context, Controller, Enqueue, Manager, Request, Source};
///
/// let source = Source::raw("files", |enqueue: Enqueue| async move {
///     enqueue.add(Request::new("shop", "web"));
/// });
/// let (sender, mut names) = tokio::sync::mpsc::unbounded_channel();
/// let manager = Manager::new(client);
/// Controller::builder()
///     .named("greeter")
///     .source(source)
///     .build(&manager, move |_: Context, request: Request| {
///         sender.send(request.to_string()).unwrap();
///         async { Ok(Action::done()) }
///     })
///     .unwrap();
/// manager.run(async { assert_eq!(names.recv().await.unwrap(), "shop/web") }).await.unwrap();
/// # });
/// ```
#[derive(Clone)]
pub struct Enqueue {
    source: Arc<str>,
    queue: WorkQueue<Request>,
    journal: Arc<Journal>,
}

/// Sends requests to a controller.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Action, Context, Controller, Manager, Request, Source};
///
/// let (requests, source) = Source::channel("webhook");
/// let manager = Manager::new(client);
/// let controller = Controller::for_::<ConfigMap>()
///     .build(&manager, |_: Context, _: Request| async { Ok(Action::done()) })
///     .unwrap();
/// controller.watch(source).detach();
/// assert!(requests.send(Request::new("shop", "web")).await);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct RequestSender(mpsc::Sender<Request>);

impl Source {
    /// Creates a source of requests that are sent to it. At most 1024 wait.
    pub fn channel(name: impl Into<Arc<str>>) -> (RequestSender, Self) {
        let (sender, mut requests) = mpsc::channel(CHANNEL_CAPACITY);
        let source = Self::raw(name, move |enqueue: Enqueue| async move {
            while let Some(request) = requests.recv().await {
                enqueue.add(request);
            }
        });
        (RequestSender(sender), source)
    }

    /// Creates a source that repeats a request at an interval.
    pub fn timer(name: impl Into<Arc<str>>, every: Duration, request: Request) -> Self {
        Self::raw(name, move |enqueue: Enqueue| async move {
            // The shortest interval of a timer.
            let mut ticks = tokio::time::interval(every.max(Duration::from_millis(1)));
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                enqueue.add(request.clone());
            }
        })
    }

    /// Creates a source from a function, which is dropped when the source is stopped.
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
            Kind::Watch(watch) => Some(watch.cache(caches)),
            Kind::Raw(_) => None,
        };
        Running::new(
            self.name.clone(),
            subscriber,
            caches.clone(),
            informer,
            pulse.clone(),
        )
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
    /// Returns the watched kind.
    pub fn resource(&self) -> &ApiResource {
        &self.resource
    }

    /// Watches a type.
    pub fn of<K: Resource<DynamicType = ()>>(handler: Handler) -> Self {
        Self::kind(&ApiResource::erase::<K>(&()), handler)
    }

    /// Watches a kind that is known at run time, in the same cache that typed readers use.
    pub fn kind(resource: &ApiResource, handler: Handler) -> Self {
        Self {
            resource: Arc::new(resource.clone()),
            metadata_only: false,
            handler,
            predicates: Vec::new(),
            resync: None,
            priority: None,
        }
    }

    /// Watches metadata only, in a separate cache.
    #[must_use]
    pub fn metadata_only(mut self) -> Self {
        self.metadata_only = true;
        self
    }

    /// Adds a filter of events. Events have to pass all filters.
    #[must_use]
    pub fn predicate(mut self, predicate: Predicate) -> Self {
        self.predicates.push(predicate);
        self
    }

    /// Shows all objects again at this interval.
    #[must_use]
    pub fn resync(mut self, every: Duration) -> Self {
        self.resync = Some(every);
        self
    }

    /// Sets the priority of changes; objects that existed at startup and resyncs are less urgent by
    /// [`LOW_PRIORITY`](crate::LOW_PRIORITY).
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = Some(priority);
        self
    }

    fn cache(&self, caches: &Caches) -> SharedInformer<()> {
        if self.metadata_only {
            caches.metadata(&self.resource)
        } else {
            caches.informer(&self.resource)
        }
    }

    async fn handle(&self, event: &AnyEvent, enqueue: &Enqueue, client: &Client) {
        if !self
            .predicates
            .iter()
            .all(|predicate| predicate.passes(event))
        {
            return;
        }
        let priority = priority_of(event).saturating_add(self.priority.unwrap_or(0));
        let cause = cause_of(event);
        let object = event.object();
        let changed =
            || ChangedObject::new(&self.resource, object.key(), object.resource_version());
        for request in self.handler.requests(event, client).await {
            let trigger = Trigger::new(&enqueue.source, cause, enqueue.journal.now()).of(changed());
            enqueue.trigger(request, trigger, AddOptions::new().priority(priority));
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

    /// Adds a request.
    pub fn add(&self, request: Request) {
        self.add_with(request, AddOptions::new());
    }

    /// Adds a request with options: priority, delay.
    pub fn add_with(&self, request: Request, options: AddOptions) {
        self.put(request, TriggerCause::Asked, options);
    }

    pub(crate) fn put(&self, request: Request, cause: TriggerCause, options: AddOptions) {
        let trigger = Trigger::new(&self.source, cause, self.journal.now());
        self.trigger(request, trigger, options);
    }

    fn trigger(&self, request: Request, trigger: Trigger, options: AddOptions) {
        self.journal.triggered(&request, trigger);
        self.queue.add_with(request, options);
    }
}

impl RequestSender {
    /// Sends a request, waiting for room. Returns false if the source has been stopped.
    pub async fn send(&self, request: Request) -> bool {
        self.0.send(request).await.is_ok()
    }

    /// Sends a request if there is room. Returns whether there was.
    pub fn try_send(&self, request: Request) -> bool {
        self.0.try_send(request).is_ok()
    }
}

/// Reports whether the server does not know the resource.
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
