//! Faults: errors that are injected between clients and the server.
//!
//! A [`Fault`] hits the requests that its [`Match`] selects, a given number of times. Faults are applied in the order
//! in which they were injected.

mod select;
mod webhooks;

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{Arc, atomic::AtomicUsize},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Method, Request, Response, header::USER_AGENT};
use kubewright_apiserver::{
    Accepted, ApiServer, Body, BoxError,
    flow::Overloaded,
    request::{Query, RequestInfo, Verb},
    status_response,
};
use kubewright_machinery::{Status, gvk::GroupResource, status};
use parking_lot::Mutex;
use tokio::sync::watch;
use tower::Service;

pub use select::Match;
use webhooks::PlannedWebhook;
pub use webhooks::{FaultyService, WebhookFault};

/// An error to inject.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// 409 Conflict: the object has been modified.
    Conflict,
    /// 410 Gone: the revision has been compacted.
    Gone,
    /// 429 Too Many Requests, with a time to wait.
    TooManyRequests {
        /// The value of `Retry-After`, in seconds.
        retry_after: u16,
    },
    /// 429 as API priority and fairness responds: plain text instead of a status, with a time to wait.
    Overloaded {
        /// The value of `Retry-After`, in seconds.
        retry_after: u16,
    },
    /// Any other error status; created by [`Fault::refuse`].
    Refuse(Box<Status>),
    /// The watch breaks after a number of chunks.
    DropWatch {
        /// The number of chunks that are delivered before.
        after: usize,
    },
    /// Every chunk of the watch is delayed.
    SlowWatch {
        /// The delay.
        delay: Duration,
    },
}

impl Fault {
    /// Returns the fault of an error response.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kubewright_apiserver::request::Verb;
    /// use kubewright_cluster::{Fault, Match};
    ///
    /// let fault = Fault::refuse(403, "Forbidden", "secrets are forbidden");
    /// let on = Match::kind::<Secret>().with_verb(Verb::Create);
    /// # let _ = (fault, on);
    /// ```
    pub fn refuse(code: u16, reason: &str, message: &str) -> Self {
        Self::Refuse(Box::new(Status::failure(code, reason, message)))
    }
}

/// The pending faults of a cluster. Clones share them.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::{Api, api::ListParams};
/// use kubewright_apiserver::request::Verb;
/// use kubewright_cluster::{Cluster, Fault, Lab, Match};
///
/// let lab = Lab::new();
/// let cluster = Cluster::builder().lab(lab.clone()).start().await?;
/// lab.faults().inject(Fault::Gone, Match::verb(Verb::List), 1);
///
/// let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
/// assert!(maps.list(&ListParams::default()).await.is_err());
/// assert!(maps.list(&ListParams::default()).await.is_ok());
/// # Ok::<_, kubewright_cluster::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Default)]
pub struct Faults(Arc<Shared>);

#[derive(Default)]
struct Shared {
    planned: Mutex<Planned>,
    webhooks: Mutex<Vec<PlannedWebhook>>,
    /// The number of webhook calls.
    webhook_calls: AtomicUsize,
    connections: watch::Sender<Connections>,
}

#[derive(Default)]
struct Planned {
    faults: Vec<PlannedFault>,
    /// The id of the newest fault.
    last: u64,
}

/// A fault that has not affected all its requests yet.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedFault {
    /// The id for [`Faults::remove`].
    pub id: u64,
    /// The fault.
    pub fault: Fault,
    /// The affected requests.
    pub on: Match,
    /// The number of requests that it will still affect.
    pub times: usize,
}

/// The state of all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Connections {
    /// Whether the server is down.
    down: bool,
    /// The number of times that all watches were closed.
    closed: u64,
}

impl Faults {
    /// Injects a fault into the next `times` matching requests.
    pub fn inject(&self, fault: Fault, on: Match, times: usize) {
        let mut planned = self.0.planned.lock();
        planned.last += 1;
        let id = planned.last;
        planned.faults.push(PlannedFault {
            id,
            fault,
            on,
            times,
        });
    }

    /// Returns the faults that will still affect requests, in the order of their injection.
    pub fn planned(&self) -> Vec<PlannedFault> {
        self.0.planned.lock().faults.clone()
    }

    /// Removes a fault, and reports whether it was still there.
    pub fn remove(&self, id: u64) -> bool {
        let mut planned = self.0.planned.lock();
        let before = planned.faults.len();
        planned.faults.retain(|fault| fault.id != id);
        planned.faults.len() < before
    }

    /// Returns the number of requests and webhook calls that faults will still affect.
    pub fn pending(&self) -> usize {
        let planned = self.0.planned.lock();
        let requests: usize = planned.faults.iter().map(|planned| planned.times).sum();
        let webhooks = self.0.webhooks.lock();
        requests + webhooks.iter().map(PlannedWebhook::times).sum::<usize>()
    }

    /// Removes all faults.
    pub fn clear(&self) {
        self.0.planned.lock().faults.clear();
        self.0.webhooks.lock().clear();
        self.come_back();
    }

    /// Makes the server unavailable: every request fails with 503, and every watch breaks.
    pub fn go_down(&self) {
        self.0.connections.send_modify(|state| state.down = true);
    }

    /// Makes the server available again.
    pub fn come_back(&self) {
        self.0.connections.send_modify(|state| state.down = false);
    }

    /// Reports whether the server is unavailable.
    pub fn is_down(&self) -> bool {
        self.0.connections.borrow().down
    }

    /// Breaks all open watches.
    pub fn close_watches(&self) {
        self.0.connections.send_modify(|state| state.closed += 1);
    }

    fn strike(&self, info: &RequestInfo, user_agent: &str) -> Option<Fault> {
        let faults = &mut self.0.planned.lock().faults;
        let hit = |planned: &PlannedFault| planned.times > 0 && planned.on.fits(info, user_agent);
        let i = faults.iter().position(hit)?;
        faults[i].times -= 1;
        let fault = faults[i].fault.clone();
        if faults[i].times == 0 {
            faults.remove(i);
        }
        Some(fault)
    }
}

/// Notes the successful requests to a [`FaultyServer`].
pub trait RequestObserver: Send + Sync {
    /// Reports whether a request is to be noted.
    fn observes(&self, info: &RequestInfo) -> bool;

    /// Notes that such a request succeeded, by its method and path.
    fn succeeded(&self, method: &Method, path: &str);
}

/// A server with fault injection.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use http::Request;
/// use kubewright_apiserver::{ApiServer, Body, registry::Registry};
/// use kubewright_cluster::{Fault, Faults, FaultyServer, Match};
/// use tower::Service;
///
/// let (server, faults) = (ApiServer::builder(Registry::default()).build(), Faults::default());
/// let mut server = FaultyServer::new(server, faults.clone());
/// faults.inject(Fault::TooManyRequests { retry_after: 1 }, Match::default(), 1);
/// for code in [429, 200] {
///     let request = Request::get("/version").body(Body::empty()).unwrap();
///     assert_eq!(server.call(request).await.unwrap().status(), code);
/// }
/// # });
/// ```
#[derive(Clone)]
pub struct FaultyServer {
    server: ApiServer,
    faults: Faults,
    observer: Option<Arc<dyn RequestObserver>>,
}

impl FaultyServer {
    /// Wraps a server.
    pub fn new(server: ApiServer, faults: Faults) -> Self {
        Self {
            server,
            faults,
            observer: None,
        }
    }

    /// Sets the observer of requests.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn RequestObserver>) -> Self {
        self.observer = Some(observer);
        self
    }
}

impl<B> Service<Request<B>> for FaultyServer
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let query = Query::parse(request.uri().query());
        let info = RequestInfo::new(request.method(), request.uri().path(), &query);
        let connections = self.faults.0.connections.subscribe();
        let before = *connections.borrow();
        let fault = if before.down {
            let gone = status::service_unavailable("the server is gone");
            Some(Fault::Refuse(Box::new(gone)))
        } else {
            let agent = request.headers().get(USER_AGENT);
            let agent = agent.and_then(|agent| agent.to_str().ok());
            self.faults.strike(&info, agent.unwrap_or_default())
        };
        let server = self.server.clone();
        let observer = self.observer.as_ref().filter(|it| it.observes(&info));
        let observed = observer.map(|observer| {
            let path = request.uri().path().to_owned();
            (observer.clone(), request.method().clone(), path)
        });
        let mut request = request.map(Body::wrap);
        if let Some(Fault::Overloaded { retry_after }) = fault {
            request.extensions_mut().insert(Overloaded { retry_after });
        }
        Box::pin(async move {
            if let Some(refusal) = fault.as_ref().and_then(|fault| refusal(fault, &info)) {
                return Ok(status_response(&Accepted::JSON, &refusal));
            }
            let response = server.handle(request).await;
            if let Some((observer, method, path)) = observed
                && response.status().is_success()
            {
                observer.succeeded(&method, &path);
            }
            let response = match info.verb {
                Verb::Watch => response.map(|body| broken_with(body, connections, before)),
                _ => response,
            };
            Ok(match fault {
                Some(Fault::DropWatch { after }) => response.map(|body| dropped(body, after)),
                Some(Fault::SlowWatch { delay }) => response.map(|body| slowed(body, delay)),
                _ => response,
            })
        })
    }
}

fn refusal(fault: &Fault, info: &RequestInfo) -> Option<Status> {
    let resource = GroupResource::new(&info.group, &info.resource);
    match fault {
        Fault::Conflict => Some(status::conflict(
            &resource,
            &info.name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )),
        Fault::Gone => Some(status::expired("too old resource version: 1 (2)")),
        Fault::TooManyRequests { retry_after } => Some(status::too_many_requests(
            "the server has received too many requests and has asked us to try again later",
            *retry_after,
        )),
        Fault::Refuse(status) => Some((**status).clone()),
        Fault::Overloaded { .. } | Fault::DropWatch { .. } | Fault::SlowWatch { .. } => None,
    }
}

/// A body that breaks when the server goes down or closes its watches.
fn broken_with(body: Body, connections: watch::Receiver<Connections>, before: Connections) -> Body {
    let state = Some((Box::pin(body.into_chunks()), connections));
    Body::stream(stream::unfold(state, move |state| async move {
        let (mut chunks, mut connections) = state?;
        let breaks = |now: &Connections| now.down || now.closed != before.closed;
        let chunk = tokio::select! {
            biased;
            chunk = chunks.next() => Some(chunk?),
            _ = connections.wait_for(breaks) => None,
        };
        Some(match chunk {
            Some(chunk) => (chunk, Some((chunks, connections))),
            None => (Err("the connection broke".into()), None),
        })
    }))
}

fn dropped(body: Body, after: usize) -> Body {
    let broken = stream::iter([Err::<Bytes, BoxError>("the connection broke".into())]);
    let some = body.into_chunks().filter(|chunk| {
        let empty = chunk.as_ref().is_ok_and(Bytes::is_empty);
        std::future::ready(!empty)
    });
    Body::stream(some.take(after).chain(broken))
}

fn slowed(body: Body, delay: Duration) -> Body {
    Body::stream(body.into_chunks().then(move |chunk| async move {
        tokio::time::sleep(delay).await;
        chunk
    }))
}
