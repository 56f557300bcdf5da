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
use http::{Request, Response};
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
pub(crate) use webhooks::FaultyService;
use webhooks::PlannedWebhook;
pub use webhooks::WebhookFault;

use crate::endless::{Counters, is_write};

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
    /// 429 as priority and fairness rejects requests: plain text instead of a status, with a time to wait.
    Overloaded {
        /// The value of `Retry-After`, in seconds.
        retry_after: u16,
    },
    /// Any other error status; [`Fault::refuse`] makes one.
    Refuse(Box<Status>),
    /// The watch breaks after a number of chunks.
    DropWatch {
        /// The number of chunks that get through.
        after: usize,
    },
    /// Every chunk of the watch is delayed.
    SlowWatch {
        /// The delay.
        delay: Duration,
    },
}

impl Fault {
    /// Returns the fault of an error status.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kubewright_testing::{Fault, Match, Verb};
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
/// use kubewright_testing::{Fault, Match, TestCluster, Verb};
///
/// let cluster = TestCluster::start().await;
/// cluster.faults().inject(Fault::Gone, Match::verb(Verb::List), 1);
///
/// let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
/// assert!(maps.list(&ListParams::default()).await.is_err());
/// assert!(maps.list(&ListParams::default()).await.is_ok());
/// # });
/// ```
#[derive(Clone, Default)]
pub struct Faults(Arc<Shared>);

#[derive(Default)]
struct Shared {
    planned: Mutex<Vec<Planned>>,
    webhooks: Mutex<Vec<PlannedWebhook>>,
    /// The number of calls of webhooks.
    webhook_calls: AtomicUsize,
    /// True while the server is down.
    down: watch::Sender<bool>,
}

struct Planned {
    fault: Fault,
    on: Match,
    times: usize,
}

impl Faults {
    /// Injects a fault into the next `times` matching requests.
    pub fn inject(&self, fault: Fault, on: Match, times: usize) {
        self.0.planned.lock().push(Planned { fault, on, times });
    }

    /// Returns the number of requests and calls of webhooks that faults are still to hit.
    pub fn pending(&self) -> usize {
        let planned = self.0.planned.lock();
        let requests: usize = planned.iter().map(|planned| planned.times).sum();
        let webhooks = self.0.webhooks.lock();
        requests + webhooks.iter().map(PlannedWebhook::times).sum::<usize>()
    }

    /// Removes all faults.
    pub fn clear(&self) {
        self.0.planned.lock().clear();
        self.0.webhooks.lock().clear();
        self.come_back();
    }

    /// Takes the server down: every request fails with 503, and every watch breaks.
    pub fn go_down(&self) {
        self.0.down.send_replace(true);
    }

    /// Brings the server back.
    pub fn come_back(&self) {
        self.0.down.send_replace(false);
    }

    fn strike(&self, info: &RequestInfo) -> Option<Fault> {
        let mut planned = self.0.planned.lock();
        let i = planned
            .iter()
            .position(|p| p.times > 0 && p.on.fits(info))?;
        planned[i].times -= 1;
        let fault = planned[i].fault.clone();
        if planned[i].times == 0 {
            planned.remove(i);
        }
        Some(fault)
    }
}

/// A server behind injected faults.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use http::Request;
/// use kubewright_apiserver::{ApiServer, Body, registry::Registry};
/// use kubewright_testing::{Fault, Faults, FaultyServer, Match};
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
    writes: Counters,
}

impl FaultyServer {
    /// Wraps a server.
    pub fn new(server: ApiServer, faults: Faults) -> Self {
        Self::counted(server, faults, Counters::default())
    }

    /// Wraps a server whose writes are counted.
    pub(crate) fn counted(server: ApiServer, faults: Faults, writes: Counters) -> Self {
        Self {
            server,
            faults,
            writes,
        }
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
        let down = self.faults.0.down.subscribe();
        let fault = if *down.borrow() {
            let gone = status::service_unavailable("the server is gone");
            Some(Fault::Refuse(Box::new(gone)))
        } else {
            self.faults.strike(&info)
        };
        let server = self.server.clone();
        let counted = (is_write(&info) && self.writes.are_used())
            .then(|| (self.writes.clone(), write_name(&request)));
        let mut request = request.map(Body::wrap);
        if let Some(Fault::Overloaded { retry_after }) = fault {
            request.extensions_mut().insert(Overloaded { retry_after });
        }
        Box::pin(async move {
            if let Some(refusal) = fault.as_ref().and_then(|fault| refusal(fault, &info)) {
                return Ok(status_response(&Accepted::JSON, &refusal));
            }
            let response = server.handle(request).await;
            if let Some((writes, request)) = counted
                && response.status().is_success()
            {
                writes.count(&request);
            }
            let response = match info.verb {
                Verb::Watch => response.map(|body| broken_with(body, down)),
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

/// Returns the name of a write in reports, such as `PATCH /api/v1/namespaces/default/configmaps/rope`.
pub(crate) fn write_name<B>(request: &Request<B>) -> String {
    format!("{} {}", request.method(), request.uri().path())
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

pub(crate) fn chunks(
    body: Body,
) -> impl futures_util::Stream<Item = Result<Bytes, BoxError>> + Send {
    stream::unfold(Box::pin(body), |mut body| async move {
        loop {
            let frame =
                std::future::poll_fn(|cx| http_body::Body::poll_frame(body.as_mut(), cx)).await?;
            match frame.map(http_body::Frame::into_data) {
                Ok(Ok(data)) => return Some((Ok(data), body)),
                Ok(Err(_)) => {}
                Err(e) => return Some((Err(e), body)),
            }
        }
    })
}

/// A body that breaks when the server goes down.
fn broken_with(body: Body, down: watch::Receiver<bool>) -> Body {
    let state = Some((Box::pin(chunks(body)), down));
    Body::stream(stream::unfold(state, |state| async move {
        let (mut chunks, mut down) = state?;
        let chunk = tokio::select! {
            biased;
            chunk = chunks.next() => Some(chunk?),
            _ = down.wait_for(|down| *down) => None,
        };
        Some(match chunk {
            Some(chunk) => (chunk, Some((chunks, down))),
            None => (Err("the connection broke".into()), None),
        })
    }))
}

fn dropped(body: Body, after: usize) -> Body {
    let broken = stream::iter([Err::<Bytes, BoxError>("the connection broke".into())]);
    let some = chunks(body).filter(|chunk| {
        let empty = chunk.as_ref().is_ok_and(Bytes::is_empty);
        std::future::ready(!empty)
    });
    Body::stream(some.take(after).chain(broken))
}

fn slowed(body: Body, delay: Duration) -> Body {
    Body::stream(chunks(body).then(move |chunk| async move {
        tokio::time::sleep(delay).await;
        chunk
    }))
}
