//! Faults: what goes wrong between a client and the server, on purpose and on time.
//!
//! A [`Fault`] strikes the requests that its [`Match`] fits, a number of times, in the order in which faults were injected.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Request, Response};
use kubewright_apiserver::{
    body::{Body, BoxError},
    request::{RequestInfo, Verb, query::Query},
    respond::{Accepted, status_response},
    server::ApiServer,
};
use kubewright_machinery::{Status, gvk::GroupResource, status};
use parking_lot::Mutex;
use tokio::sync::watch;
use tower::Service;

/// A fault to inject.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// 409: the object has been modified.
    Conflict,
    /// 410: that revision is gone.
    Gone,
    /// 429, with a time to wait.
    TooManyRequests {
        /// `Retry-After`, in seconds.
        retry_after: u16,
    },
    /// Any other refusal.
    Refuse(Box<Status>),
    /// The watch breaks off after that many chunks.
    DropWatch {
        /// The number of chunks that get through.
        after: usize,
    },
    /// Every chunk of the watch is late.
    SlowWatch {
        /// By how much.
        delay: Duration,
    },
}

/// Selects the requests that a fault applies to. A field that is `None` matches all.
#[derive(Clone, Debug, Default)]
pub struct Match {
    /// The verb.
    pub verb: Option<Verb>,
    /// The resource: `configmaps`.
    pub resource: Option<String>,
    /// The object's name.
    pub name: Option<String>,
}

impl Match {
    /// Requests with that verb.
    pub fn verb(verb: Verb) -> Self {
        Self {
            verb: Some(verb),
            ..Self::default()
        }
    }

    /// And of that resource.
    #[must_use]
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.resource = Some(resource.into());
        self
    }

    /// And of that object.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    fn fits(&self, info: &RequestInfo) -> bool {
        self.verb.is_none_or(|verb| verb == info.verb)
            && self
                .resource
                .as_ref()
                .is_none_or(|resource| *resource == info.resource)
            && self.name.as_ref().is_none_or(|name| *name == info.name)
    }
}

/// The faults still to strike. Clones share them.
#[derive(Clone, Default)]
pub struct Faults(Arc<Shared>);

#[derive(Default)]
struct Shared {
    planned: Mutex<Vec<Planned>>,
    /// The server is gone.
    down: watch::Sender<bool>,
}

struct Planned {
    fault: Fault,
    on: Match,
    times: usize,
}

impl Faults {
    /// Strikes the next `times` requests that fit.
    pub fn inject(&self, fault: Fault, on: Match, times: usize) {
        self.0.planned.lock().push(Planned { fault, on, times });
    }

    /// Returns the number of times that faults are still to be injected.
    pub fn pending(&self) -> usize {
        let planned = self.0.planned.lock();
        planned.iter().map(|planned| planned.times).sum()
    }

    /// Nothing goes wrong any more.
    pub fn clear(&self) {
        self.0.planned.lock().clear();
        self.come_back();
    }

    /// The server is gone: every request is refused with 503, and every watch breaks.
    pub fn go_down(&self) {
        self.0.down.send_replace(true);
    }

    /// The server is back.
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

/// A server with faults in front of it.
#[derive(Clone)]
pub struct FaultyServer {
    server: ApiServer,
    faults: Faults,
}

impl FaultyServer {
    /// Puts faults in front of a server.
    pub fn new(server: ApiServer, faults: Faults) -> Self {
        Self { server, faults }
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
        let request = request.map(Body::wrap);
        Box::pin(async move {
            if let Some(refusal) = fault.as_ref().and_then(|fault| refusal(fault, &info)) {
                return Ok(status_response(&Accepted::JSON, &refusal));
            }
            let response = server.handle(request).await;
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
        Fault::DropWatch { .. } | Fault::SlowWatch { .. } => None,
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

/// Breaks when the server goes down.
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
