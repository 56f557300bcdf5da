//! [`Reconciler`], its input ([`Request`], [`Context`]) and its result ([`Action`], [`Error`]).
//!
//! A reconciler learns *which* object to look at, not what happened to it: it reads the current state and makes it the
//! desired one. It never runs twice at once for one request. Errors are logged and retried with growing delays; a panic
//! is an error too.

use std::{
    fmt,
    future::Future,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use kube::{Resource, ResourceExt};
use kubewright_client::BoxError;
use kubewright_informer::{Key, StoredObject};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::{
    client::{Client, ReadError},
    manager::Stop,
    status::Trigger,
};

/// The object to reconcile. Cheap to clone.
///
/// ```
/// use kubewright_controller::Request;
///
/// let request = Request::new("shop", "web");
/// assert_eq!((request.namespace(), request.name()), (Some("shop"), "web"));
/// assert_eq!(Request::cluster_scoped("node-1").to_string(), "node-1");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Request {
    key: Key,
    cluster: Option<Arc<str>>,
}

/// The result of a successful reconcile.
///
/// ```
/// use std::time::Duration;
/// use kubewright_controller::Action;
///
/// # fn ready() -> bool { true }
/// fn result() -> Action {
///     if ready() {
///         Action::done()
///     } else {
///         Action::requeue_after(Duration::from_secs(30))
///     }
/// }
/// # assert_eq!(result(), Action::done());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Action {
    pub(crate) next: Next,
    pub(crate) priority: Option<i32>,
}

/// The time of the next run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Next {
    #[default]
    Done,
    Requeue,
    After(Duration),
}

/// The error of a reconcile. `?` converts any error; use [`terminal`](Self::terminal) for those that must not be
/// retried.
///
/// ```
/// use kubewright_controller::Error;
///
/// fn parse(text: &str) -> Result<u32, Error> {
///     // Retrying does not help before the object changes.
///     text.parse().map_err(Error::terminal)
/// }
/// assert!(parse("x").is_err());
/// ```
pub struct Error {
    cause: BoxError,
    kind: ErrorKind,
}

/// The kind of a reconcile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// An error that is retried.
    Failed,
    /// An error that is not retried before another event requests the object.
    Terminal,
    /// A panic, which is retried.
    Panicked,
    /// A timeout, which is retried.
    TimedOut,
}

/// The context of a reconcile: the client, the number of the attempt, the stop signal.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Action, Context, Error, Request};
///
/// async fn reconcile(context: Context, request: Request) -> Result<Action, Error> {
///     let Some(map) = context.get::<ConfigMap>(&request).await? else {
///         return Ok(Action::done());
///     };
///     println!("attempt {} of {}: {:?}", context.attempt(), context.reconcile_id(), map.data);
///     Ok(Action::done())
/// }
/// ```
#[derive(Clone)]
pub struct Context {
    pub(crate) client: Client,
    pub(crate) id: ReconcileId,
    pub(crate) attempt: usize,
    pub(crate) trigger: Option<Trigger>,
    pub(crate) stop: Stop,
}

/// The ID of one run of a reconciler, printed as a UUID.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Action, Context, Controller, Manager, Request};
///
/// let (sender, mut ids) = tokio::sync::mpsc::unbounded_channel();
/// let manager = Manager::new(client);
/// let controller = Controller::for_::<ConfigMap>()
///     .build(&manager, move |context: Context, _: Request| {
///         sender.send(context.reconcile_id()).unwrap();
///         async { Ok(Action::done()) }
///     })
///     .unwrap();
/// controller.trigger(Request::new("shop", "web"));
/// controller.trigger(Request::new("shop", "db"));
/// let both = async {
///     let (first, second) = (ids.recv().await.unwrap(), ids.recv().await.unwrap());
///     assert_ne!(first, second);
///     assert_eq!(first.to_string().len(), 36);
/// };
/// manager.run(both).await.unwrap();
/// # });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReconcileId(Uuid);

/// Makes the state of an object the desired one. Async functions of a [`Context`] and a [`Request`] are reconcilers.
///
/// ```
/// use kubewright_controller::{Action, Context, Error, Reconciler, Request};
///
/// struct Greeter {
///     greeting: String,
/// }
///
/// #[async_trait::async_trait]
/// impl Reconciler for Greeter {
///     async fn reconcile(&self, _: Context, request: Request) -> Result<Action, Error> {
///         println!("{}, {request}", self.greeting);
///         Ok(Action::done())
///     }
/// }
/// ```
#[async_trait::async_trait]
pub trait Reconciler: Send + Sync + 'static {
    /// Reconciles one object.
    ///
    /// # Errors
    ///
    /// Fails if the object should be reconciled again later.
    async fn reconcile(&self, context: Context, request: Request) -> Result<Action, Error>;
}

#[async_trait::async_trait]
impl<F, R> Reconciler for F
where
    F: Fn(Context, Request) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Action, Error>> + Send,
{
    async fn reconcile(&self, context: Context, request: Request) -> Result<Action, Error> {
        self(context, request).await
    }
}

impl ReconcileId {
    /// Returns a new ID. It is unpredictable enough for logs, and costs no call of the system.
    pub(crate) fn random() -> Self {
        static SEEDS: LazyLock<[RandomState; 2]> = LazyLock::new(Default::default);
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let [high, low] = [&SEEDS[0], &SEEDS[1]].map(|seed| seed.hash_one(count));
        let bytes = (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }
}

impl fmt::Display for ReconcileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ReconcileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Request {
    /// Names an object in a namespace; cluster-scoped if the namespace is empty.
    pub fn new(namespace: &str, name: &str) -> Self {
        Key::new(Some(namespace), name).into()
    }

    /// Names a cluster-scoped object.
    pub fn cluster_scoped(name: &str) -> Self {
        Key::new(None, name).into()
    }

    /// Names the given object.
    pub fn of<K: Resource>(object: &K) -> Self {
        Key::new(object.namespace().as_deref(), &object.name_any()).into()
    }

    /// Names the same object in that cluster.
    #[must_use]
    pub fn in_cluster(mut self, cluster: impl Into<Arc<str>>) -> Self {
        self.cluster = Some(cluster.into());
        self
    }

    /// Returns the namespace, if the object has one.
    pub fn namespace(&self) -> Option<&str> {
        self.key.namespace()
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        self.key.name()
    }

    /// Returns the cluster, where there are several.
    pub fn cluster(&self) -> Option<&str> {
        self.cluster.as_deref()
    }

    /// Returns the namespace and name.
    pub fn key(&self) -> &Key {
        &self.key
    }
}

impl From<Key> for Request {
    fn from(key: Key) -> Self {
        Self { key, cluster: None }
    }
}

impl From<&StoredObject> for Request {
    fn from(object: &StoredObject) -> Self {
        object.key().clone().into()
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cluster {
            Some(cluster) => write!(f, "{cluster}:{}", self.key),
            None => self.key.fmt(f),
        }
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl Action {
    /// Finishes; the object is reconciled again on the next event.
    pub fn done() -> Self {
        Self::default()
    }

    /// Reconciles again with growing delays: after 5 ms, 10 ms, 20 ms and so on.
    pub fn requeue() -> Self {
        Self {
            next: Next::Requeue,
            priority: None,
        }
    }

    /// Reconciles again after that time, or sooner on an event.
    pub fn requeue_after(after: Duration) -> Self {
        Self {
            next: Next::After(after),
            priority: None,
        }
    }

    /// Sets the priority of the next run. Defaults to the current one.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = Some(priority);
        self
    }
}

impl Error {
    /// Builds an error from a message. It is retried.
    pub fn message(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, text.into())
    }

    /// Builds an error that must not be retried before another event requests the object.
    pub fn terminal(cause: impl Into<BoxError>) -> Self {
        Self::new(ErrorKind::Terminal, cause)
    }

    pub(crate) fn new(kind: ErrorKind, cause: impl Into<BoxError>) -> Self {
        Self {
            cause: cause.into(),
            kind,
        }
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the cause.
    pub fn cause(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.cause
    }

    /// Reports whether a write failed because the object has changed meanwhile, also where another error wraps the
    /// server's answer.
    pub fn is_conflict(&self) -> bool {
        kubewright_client::is_conflict(&*self.cause)
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Error {
    fn from(cause: E) -> Self {
        Self::new(ErrorKind::Failed, cause)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {:?}", self.kind, self.cause)
    }
}

impl Context {
    /// Returns the manager's client, which reads from the caches and writes to the server.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the requested object from the cache; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the cache cannot be read.
    pub async fn get<K>(&self, request: &Request) -> Result<Option<Arc<K>>, ReadError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        self.client.get_key(request.key()).await
    }

    /// Returns the ID of this run in logs.
    pub fn reconcile_id(&self) -> ReconcileId {
        self.id
    }

    /// Returns how often the request has failed in a row.
    pub fn attempt(&self) -> usize {
        self.attempt
    }

    /// Returns the trigger of this run; the last of several.
    pub fn trigger(&self) -> Option<&Trigger> {
        self.trigger.as_ref()
    }

    /// Returns the stop signal of the controller. A reconcile may continue until it has ended, but no longer than the
    /// manager's shutdown timeout.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }
}
