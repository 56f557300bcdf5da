//! The program's connection to the cluster, where perturbations are injected.
//!
//! Each start of the program has its own [`Wire`]. A dead wire delivers nothing in either direction, even if parts of the program
//! still run.

use std::{
    collections::HashSet,
    convert::Infallible,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use kubewright_apiserver::{
    Accepted, ApiServer, Body, BoxError,
    auth::LocalUser,
    request::{Query, RequestInfo, Verb},
    status_response,
};
use kubewright_machinery::status;
use parking_lot::Mutex;
use tokio::sync::watch;
use tower::Service;

use super::{Perturbation, stage::Stage, stream};
use crate::{
    access::known,
    endless::{is_write, write_name},
};

/// The virtual time that a write takes while caches are stale. Without it, a program that keeps acting on an outdated cache
/// would stop the clock, and the cache would never catch up.
const WRITE_TAKES: Duration = Duration::from_millis(50);

/// The connection of one start of the program.
pub(super) struct Wire {
    pub(super) generation: usize,
    stage: Weak<Stage>,
    condition: watch::Sender<Condition>,
    /// Notifies watches that have missed events and must restart.
    missed: Mutex<HashSet<String>>,
}

/// The state of a wire.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Condition {
    /// Nothing gets through: the program has crashed.
    pub(super) dead: bool,
    /// No events get through.
    pub(super) blind: bool,
    /// No requests about leases get through.
    pub(super) cut_from_lease: bool,
    /// Another program leads.
    pub(super) deposed: bool,
}

/// The effect of a perturbation on a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strike {
    Nothing,
    /// The program dies before the write is done.
    CrashBefore,
    /// The write is done, and the program dies before it gets the response.
    CrashAfter,
    /// The write is done, and the program gets the response once another program leads.
    LoseLease,
}

/// The server at the other end of a wire.
#[derive(Clone)]
pub(super) struct Link {
    server: ApiServer,
    wire: Arc<Wire>,
    user: LocalUser,
}

impl Wire {
    pub(super) fn new(stage: Weak<Stage>, generation: usize) -> Arc<Self> {
        Arc::new(Self {
            generation,
            stage,
            condition: watch::Sender::default(),
            missed: Mutex::default(),
        })
    }

    pub(super) fn condition(&self) -> Condition {
        *self.condition.borrow()
    }

    pub(super) fn changes(&self) -> watch::Receiver<Condition> {
        self.condition.subscribe()
    }

    pub(super) fn set(&self, change: impl FnOnce(&mut Condition)) {
        self.condition.send_modify(change);
    }

    /// A watch has missed an event.
    pub(super) fn missed(&self, path: &str) {
        self.missed.lock().insert(path.to_owned());
    }

    async fn until(&self, holds: impl FnMut(&Condition) -> bool) {
        let mut changes = self.changes();
        // The sender lives as long as the wire.
        let _ = changes.wait_for(holds).await;
    }
}

impl Link {
    pub(super) fn new(server: ApiServer, wire: Arc<Wire>, user: LocalUser) -> Self {
        Self { server, wire, user }
    }

    async fn answer(self, request: Request<Body>, info: RequestInfo) -> Response<Body> {
        let Self { server, wire, user } = self;
        let stage = wire.stage.upgrade();
        let (Some(stage), false) = (stage, wire.condition().dead) else {
            return std::future::pending().await;
        };
        let about_lease = info.resource == "leases";
        if about_lease && wire.condition().cut_from_lease {
            let refusal = status::service_unavailable("the server is unreachable");
            return status_response(&Accepted::JSON, &refusal);
        }
        if !about_lease && matches!(info.verb, Verb::List | Verb::Watch) {
            wire.until(|condition| !condition.blind).await;
        }
        let from_there = is_from_there(request.uri().query());
        if info.verb == Verb::Watch && from_there && wire.missed.lock().remove(&info.path) {
            let gone = status::expired("too old resource version: 1 (2)");
            return status_response(&Accepted::JSON, &gone);
        }
        let strike = if is_write(&info) {
            stage.write_begins(&wire, &write_name(request.method(), &info.path))
        } else {
            Strike::Nothing
        };
        let stale = matches!(stage.perturbation, Some(Perturbation::StaleCache { .. }));
        if stale && is_write(&info) {
            tokio::time::sleep(WRITE_TAKES).await;
        }
        if strike == Strike::CrashBefore {
            stage.crash(wire.generation);
            return std::future::pending().await;
        }
        let initial = is_watch_list(request.uri().query());
        let response = server.handle(known(request, &user)).await;
        match strike {
            Strike::Nothing | Strike::CrashBefore => {}
            Strike::CrashAfter => stage.crash(wire.generation),
            Strike::LoseLease => {
                stage.lose_lease(&wire);
                wire.until(|condition| condition.deposed).await;
            }
        }
        if wire.condition().dead {
            return std::future::pending().await;
        }
        if info.verb != Verb::Watch || about_lease || !response.status().is_success() {
            return response;
        }
        match stage.perturbation {
            Some(Perturbation::StaleCache { events }) => {
                stage.strikes();
                response.map(|body| stream::late(body, events, initial))
            }
            Some(Perturbation::Skipped { .. }) => {
                response.map(|body| stream::blind(body, info.path, wire))
            }
            _ => response,
        }
    }
}

impl<B> Service<Request<B>> for Link
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
        let answer = self.clone().answer(request.map(Body::wrap), info);
        Box::pin(async move { Ok(answer.await) })
    }
}

/// Returns whether a watch starts at a revision.
fn is_from_there(query: Option<&str>) -> bool {
    let mut pairs = query.unwrap_or_default().split('&');
    pairs.any(|pair| {
        pair.strip_prefix("resourceVersion=")
            .is_some_and(|version| !matches!(version, "" | "0"))
    }) && !is_watch_list(query)
}

/// Returns whether a watch starts with the existing objects.
fn is_watch_list(query: Option<&str>) -> bool {
    let mut pairs = query.unwrap_or_default().split('&');
    pairs.any(|pair| pair == "sendInitialEvents=true")
}
