//! [`Calls`]: the webhook calls of a run, and the one that fails.
//!
//! A failed call must not end the story, whose users would simply repeat their request. So the clients of the cluster repeat a
//! request that fails because of the fault ([`Patient`]), while the program gets the error. Their conversions are neither counted
//! nor disturbed: a write whose response cannot be converted is done, so that it cannot be repeated.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::{Request, Response};
use kubewright_apiserver::{Accepted, Body, BoxError, boxed_async, status_response};
use kubewright_cluster::{Faults, FaultyService, ServiceHandler, WebhookFault};
use kubewright_machinery::status;
use parking_lot::Mutex;
use tower::Service;

/// The path of conversions.
const CONVERT: &str = "/convert";

/// The number of calls that are kept, and can be disturbed.
const MOST_CALLS: usize = 10_000;

/// The maximum size of a request that can be repeated. The server accepts less.
const MOST_BYTES: usize = 16 << 20;

tokio::task_local! {
    /// Set while a request of the story is handled.
    static PATIENT: ();
}

/// The webhook calls of a cluster. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Calls(Arc<Shared>);

#[derive(Default)]
struct Shared {
    is_recording: AtomicBool,
    recorded: Mutex<Recorded>,
}

#[derive(Default)]
struct Recorded {
    paths: Vec<String>,
    planned: Option<(usize, WebhookFault)>,
    struck: bool,
}

impl Calls {
    /// Begins to record, and injects a fault into a call, counted from 1.
    pub(super) fn record(&self, planned: Option<(usize, WebhookFault)>) {
        self.0.recorded.lock().planned = planned;
        self.0.is_recording.store(true, Ordering::SeqCst);
    }

    /// Returns the paths of the calls, in order.
    pub(super) fn paths(&self) -> Vec<String> {
        self.0.recorded.lock().paths.clone()
    }

    /// Reports whether the fault has been injected.
    pub(super) fn struck(&self) -> bool {
        self.0.recorded.lock().struck
    }

    /// Wraps the code that serves webhooks.
    pub(crate) fn wrap(&self, handler: Arc<dyn ServiceHandler>) -> Arc<dyn ServiceHandler> {
        let calls = self.clone();
        Arc::new(Counted { handler, calls })
    }

    fn is_recording(&self) -> bool {
        self.0.is_recording.load(Ordering::SeqCst)
    }

    /// Reports whether a fault is to come.
    fn is_pending(&self) -> bool {
        let recorded = self.0.recorded.lock();
        recorded.planned.is_some() && !recorded.struck
    }

    /// Records a call, and returns the fault to inject into it.
    fn begin(&self, path: &str) -> Option<WebhookFault> {
        let of_story = PATIENT.try_with(|()| ()).is_ok();
        if !self.is_recording() || (of_story && path == CONVERT) {
            return None;
        }
        let mut recorded = self.0.recorded.lock();
        if recorded.paths.len() == MOST_CALLS {
            return None;
        }
        recorded.paths.push(path.to_owned());
        let call = recorded.paths.len();
        let (_, fault) = recorded.planned.clone().filter(|(at, _)| *at == call)?;
        recorded.struck = true;
        Some(fault)
    }
}

/// The code that serves webhooks, with one fault.
struct Counted {
    handler: Arc<dyn ServiceHandler>,
    calls: Calls,
}

#[boxed_async]
impl ServiceHandler for Counted {
    async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        let Some(fault) = self.calls.begin(request.uri().path()) else {
            return self.handler.call(request).await;
        };
        let faults = Faults::default();
        faults.inject_webhook(fault, "", 1);
        let faulty = FaultyService::new(self.handler.clone(), faults);
        faulty.call(request).await
    }
}

/// A server whose clients repeat a request once if the fault makes it fail.
#[derive(Clone)]
pub(crate) struct Patient<S> {
    server: S,
    calls: Calls,
}

impl<S> Patient<S> {
    pub(crate) fn new(server: S, calls: Calls) -> Self {
        Self { server, calls }
    }
}

impl<S, B> Service<Request<B>> for Patient<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send + 'static,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.server.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let request = request.map(Body::wrap);
        if !self.calls.is_recording() {
            return Box::pin(self.server.call(request));
        }
        let (server, calls) = (self.server.clone(), self.calls.clone());
        Box::pin(PATIENT.scope((), async move {
            let response = match calls.is_pending() {
                true => repeated(server, &calls, request).await?,
                false => {
                    let mut server = server;
                    server.call(request).await?
                }
            };
            Ok(response.map(|body| Body::stream(scoped(body))))
        }))
    }
}

/// Sends a request, and sends it again if it failed and a call was disturbed.
async fn repeated<S>(
    mut server: S,
    calls: &Calls,
    request: Request<Body>,
) -> Result<Response<Body>, Infallible>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
{
    let (parts, body) = request.into_parts();
    let bytes = match body.collect_up_to(MOST_BYTES).await {
        Ok(Some(bytes)) => bytes,
        Ok(None) => {
            return Ok(status_response(
                &Accepted::JSON,
                &status::object_too_large(),
            ));
        }
        Err(error) => {
            let refusal = status::bad_request(error.to_string());
            return Ok(status_response(&Accepted::JSON, &refusal));
        }
    };
    let request = || Request::from_parts(parts.clone(), Body::from(bytes.clone()));
    let response = server.call(request()).await?;
    if response.status().is_success() || !calls.struck() {
        return Ok(response);
    }
    server.call(request()).await
}

/// Returns the chunks of a body of the story.
fn scoped(body: Body) -> impl Stream<Item = Result<Bytes, BoxError>> + Send {
    let mut chunks = Box::pin(body.into_chunks());
    stream::poll_fn(move |cx| PATIENT.sync_scope((), || chunks.poll_next_unpin(cx)))
}
