//! What a controller does with a key: [`Reconciler`], what it is asked ([`Request`], [`Context`]) and what it answers
//! ([`Action`], [`Error`]).
//!
//! A reconciler is told *which* object to look at, never what happened to it: it reads the state there is and makes it what
//! it should be. It is never run twice at once for one request. What it fails with is logged and tried again, each time
//! later; a panic is a failure too.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use kube::{Resource, ResourceExt};
use kubewright_informer::{Key, StoredObject};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::{
    client::{Client, ReadError},
    manager::Stop,
    status::Trigger,
};

/// Which object to look at. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Request {
    key: Key,
    cluster: Option<Arc<str>>,
}

/// What is to happen next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Action {
    pub(crate) next: Next,
    pub(crate) priority: Option<i32>,
}

/// When the request is to run again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Next {
    #[default]
    Done,
    Requeue,
    After(Duration),
}

/// Why a reconcile failed. Made of any error by `?`; [`terminal`](Self::terminal) says that trying again is of no use.
pub struct Error {
    cause: BoxError,
    kind: ErrorKind,
}

/// Any error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// How a reconcile failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// It is tried again.
    Failed,
    /// It is not tried again before something else asks for it.
    Terminal,
    /// It panicked. It is tried again.
    Panicked,
    /// It took too long. It is tried again.
    TimedOut,
}

/// What a reconcile has at hand.
#[derive(Clone)]
pub struct Context {
    pub(crate) client: Client,
    pub(crate) id: Uuid,
    pub(crate) attempt: usize,
    pub(crate) trigger: Option<Trigger>,
    pub(crate) stop: Stop,
}

/// Makes the state of an object what it should be. Async functions of a [`Context`] and a [`Request`] are reconcilers.
#[async_trait::async_trait]
pub trait Reconciler: Send + Sync + 'static {
    /// Looks at one object.
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

impl Request {
    /// The object of that name in that namespace; none if it is empty.
    pub fn new(namespace: &str, name: &str) -> Self {
        Key::new(Some(namespace), name).into()
    }

    /// The object of that name that has no namespace.
    pub fn cluster_scoped(name: &str) -> Self {
        Key::new(None, name).into()
    }

    /// The object.
    pub fn of<K: Resource>(object: &K) -> Self {
        Key::new(object.namespace().as_deref(), &object.name_any()).into()
    }

    /// The same in that cluster.
    #[must_use]
    pub fn in_cluster(mut self, cluster: impl Into<Arc<str>>) -> Self {
        self.cluster = Some(cluster.into());
        self
    }

    /// The object's namespace, if it has one.
    pub fn namespace(&self) -> Option<&str> {
        self.key.namespace()
    }

    /// The object's name.
    pub fn name(&self) -> &str {
        self.key.name()
    }

    /// The object's cluster, where there are several.
    pub fn cluster(&self) -> Option<&str> {
        self.cluster.as_deref()
    }

    /// Namespace and name.
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
    /// Nothing more, until something happens.
    pub fn done() -> Self {
        Self::default()
    }

    /// Again, each time later: after 5 ms, 10 ms, 20 ms and so on.
    pub fn requeue() -> Self {
        Self {
            next: Next::Requeue,
            priority: None,
        }
    }

    /// Again after that time, or sooner if something happens.
    pub fn requeue_after(after: Duration) -> Self {
        Self {
            next: Next::After(after),
            priority: None,
        }
    }

    /// With that priority from now on; otherwise it keeps the one it had.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = Some(priority);
        self
    }
}

impl Error {
    /// A failure that is tried again, from a text.
    pub fn message(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, text.into())
    }

    /// A failure that trying again does not mend: it waits until something happens.
    pub fn terminal(cause: impl Into<BoxError>) -> Self {
        Self::new(ErrorKind::Terminal, cause)
    }

    pub(crate) fn new(kind: ErrorKind, cause: impl Into<BoxError>) -> Self {
        Self {
            cause: cause.into(),
            kind,
        }
    }

    /// How it failed.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What it failed with.
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
    /// The manager's client: reads from the caches, writes to the server.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The requested object, from the cache. `None` if it is gone.
    pub async fn get<K>(&self, request: &Request) -> Result<Option<Arc<K>>, ReadError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        self.client.get_key(request.key()).await
    }

    /// Names this run in logs.
    pub fn reconcile_id(&self) -> Uuid {
        self.id
    }

    /// How often the request has failed in a row before.
    pub fn attempt(&self) -> usize {
        self.attempt
    }

    /// What made it run; the last of several.
    pub fn trigger(&self) -> Option<&Trigger> {
        self.trigger.as_ref()
    }

    /// Told when the controller is to stop. A reconcile may go on until it has ended, but not for longer than the manager's
    /// shutdown timeout.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }
}
