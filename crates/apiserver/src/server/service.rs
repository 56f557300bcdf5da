//! The `tower::Service`: the steps around every request.

use std::{
    convert::Infallible,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, header};
use http_body::Body as HttpBody;
use kubewright_machinery::{Status, status};
use kubewright_serve::OpenEnded;
use tower::Service;

use super::{ApiServer, access, deadline, in_flight::Facts};
use crate::{
    aggregation::Forwarded,
    audit::record::{Completion, Record},
    body::{Body, BoxError},
    endpoints::metrics::{Effect, RequestLabels},
    flow::Flow,
    ledger::{LEDGER_HEADER, Note},
    request::{Annotations, RequestInfo, UserInfo, Warnings, query::Query},
    respond::{Accepted, compress, encode::response, status_answer},
};

/// The header by which a server says that it has a ledger.
const LEDGER: HeaderName = HeaderName::from_static(LEDGER_HEADER);

/// The maximum total length of warnings, in characters. Beyond it each is truncated, and those that still exceed it are left
/// out.
const WARNINGS_LIMIT: usize = 4 * 1024;
const WARNING_CUT: usize = 256;

/// The shortest timeout that a request can meet.
const SHORTEST_TIMEOUT: Duration = Duration::from_micros(1);

impl<B> Service<Request<B>> for ApiServer
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        let request = request.map(Body::wrap);
        Box::pin(async move { Ok(server.handle(request).await) })
    }
}

/// A request with its parsed parts.
pub(crate) struct Incoming {
    pub(crate) request: Request<Body>,
    pub(crate) info: Arc<RequestInfo>,
    pub(crate) query: Arc<Query>,
    pub(crate) warnings: Warnings,
    pub(crate) annotations: Annotations,
}

impl ApiServer {
    /// Handles a request. Failures are responses.
    pub async fn handle(&self, request: Request<Body>) -> Response<Body> {
        self.answer(request, None).await
    }

    /// Handles a request of the server itself: the user is authenticated and authorized. Only if the request names another
    /// user to be made as, permissions are checked: the user's for that, and the other user's for the request.
    pub async fn handle_as(&self, user: Arc<UserInfo>, request: Request<Body>) -> Response<Body> {
        self.answer(request, Some(user)).await
    }

    async fn answer(&self, request: Request<Body>, user: Option<Arc<UserInfo>>) -> Response<Body> {
        let began = Instant::now();
        let query = Arc::new(Query::parse(request.uri().query()));
        let info = Arc::new(RequestInfo::new(
            request.method(),
            request.uri().path(),
            &query,
        ));
        let warnings = Warnings::default();
        let form = StatusForm::of(request.headers(), &query);
        let audit_id = audit_id(request.headers());
        let annotations = self.annotations(&audit_id);
        let method = request.method().clone();
        let apply = is_apply(request.headers());
        let note = self.shared.ledger.as_ref().map(|recorder| {
            let (info, query) = (info.clone(), query.clone());
            Note::new(
                recorder.clone(),
                info,
                query,
                request.headers(),
                &audit_id,
                apply,
                began,
            )
        });
        let effect = match info.verb.is_write() {
            true => Effect::Mutating,
            false => Effect::ReadOnly,
        };
        let _in_flight = self.shared.metrics.in_flight(effect);
        let incoming = Incoming {
            request,
            info: info.clone(),
            query: query.clone(),
            warnings: warnings.clone(),
            annotations: annotations.clone(),
        };
        let facts = Facts::default();
        // Callers in the same process hold this future in theirs: boxed, it takes little of their stacks.
        let handled = Box::pin(self.within_time(incoming, user, &facts));
        let handled = AssertUnwindSafe(handled).catch_unwind();
        let guarded = match &note {
            Some(note) => note.clone().within(handled).await,
            None => handled.await,
        };
        let mut response = match guarded {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                if let Some(note) = &note {
                    note.refused(&error);
                }
                status_answer(&annotations, &form.accepted(), &error)
            }
            Err(cause) => {
                if let Some(record) = annotations.record() {
                    record.panicked(&*cause);
                }
                tracing::error!(path = %info.path, "a request caused a panic");
                response(
                    500,
                    "text/plain; charset=utf-8",
                    "This request caused apiserver to panic. Look in the logs for details.",
                )
            }
        };
        if let Some(flow) = facts.flow.get() {
            Flow::name_in(flow, response.headers_mut());
        }
        finish(response.headers_mut(), audit_id, &warnings);
        let took = began.elapsed();
        if let Some(note) = note {
            note.respond(response.status().as_u16(), took);
            response
                .headers_mut()
                .insert(LEDGER, HeaderValue::from_static("v1"));
        }
        let labels = RequestLabels::of(&info, &method, apply, &query);
        let metrics = &self.shared.metrics;
        metrics.observe(&labels, response.status().as_u16(), took);
        let response = match annotations.record() {
            Some(record) => recorded(record, response),
            None => response,
        };
        let response = match method {
            Method::HEAD => without_body(response),
            _ => response,
        };
        // A stream is running until its body is sent.
        match response.extensions().get::<OpenEnded>() {
            Some(OpenEnded) => {
                let running = metrics.long_running(&labels);
                response.map(|body| body.with_guard(running))
            }
            None => facts.bound(response),
        }
    }

    /// Returns where the annotations of a request go: into its audit event, or nowhere without audit.
    fn annotations(&self, audit_id: &HeaderValue) -> Annotations {
        match &*self.shared.audit.load() {
            None => Annotations::default(),
            Some(auditing) => {
                let id = String::from_utf8_lossy(audit_id.as_bytes()).into_owned();
                Annotations::of(Arc::new(Record::new(auditing.clone(), id)))
            }
        }
    }

    async fn within_time(
        &self,
        incoming: Incoming,
        user: Option<Arc<UserInfo>>,
        facts: &Facts,
    ) -> Result<Response<Body>, Status> {
        let limit = {
            let serving = self.shared.serving.load();
            let longest = self.shared.request_timeout;
            deadline::of(&incoming.info, &incoming.query, &serving.registry, longest)?
        };
        if let Some(limit) = limit {
            // Set once for each request.
            let _ = facts.deadline.set(tokio::time::Instant::now() + limit);
        }
        let gzip = compress::accepts_gzip(incoming.request.headers());
        let handled = async {
            match user {
                Some(user) => access::run_as(self, incoming, user, facts).await,
                None => access::run(self, incoming, facts).await,
            }
        };
        let Some(limit) = limit else {
            return handled.await;
        };
        let handled = async {
            match handled.await {
                // What another server sends is compressed there or not at all: it may be a slow stream.
                Ok(response) if gzip && response.extensions().get::<Forwarded>().is_none() => {
                    Ok(compress::compress(response).await)
                }
                other => other,
            }
        };
        // A timer cannot measure less, and what is ready at once would be in time.
        let began = Instant::now();
        let handled = match limit < SHORTEST_TIMEOUT {
            true => None,
            false => tokio::time::timeout(limit, handled).await.ok(),
        };
        // What ended because the time was up is too late as well.
        let handled = handled.filter(|_| began.elapsed() < limit);
        handled.unwrap_or_else(|| {
            Err(status::timeout(
                "Timeout: request did not complete within the allotted timeout",
                0,
            ))
        })
    }
}

/// The headers that decide the encoding of an error.
struct StatusForm {
    accept: Option<HeaderValue>,
    user_agent: Option<HeaderValue>,
    query: Arc<Query>,
}

impl StatusForm {
    fn of(headers: &HeaderMap, query: &Arc<Query>) -> Self {
        Self {
            accept: headers.get(header::ACCEPT).cloned(),
            user_agent: headers.get(header::USER_AGENT).cloned(),
            query: query.clone(),
        }
    }

    fn accepted(self) -> Accepted {
        let mut headers = HeaderMap::new();
        headers.extend(self.accept.map(|value| (header::ACCEPT, value)));
        headers.extend(self.user_agent.map(|value| (header::USER_AGENT, value)));
        Accepted::for_status(&headers, &self.query)
    }
}

/// Removes the body of an answer to HEAD, which has only the headers of the answer to GET.
fn without_body(response: Response<Body>) -> Response<Body> {
    let (mut head, body) = response.into_parts();
    if let Some(length) = body.size_hint().exact() {
        head.headers.insert(header::CONTENT_LENGTH, length.into());
    }
    Response::from_parts(head, Body::empty())
}

/// Returns whether a patch with these headers is a server-side apply.
fn is_apply(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|media| media == "application/apply-patch+yaml")
}

/// Records the answer, and that it is complete when its body has been sent.
fn recorded(record: &Arc<Record>, response: Response<Body>) -> Response<Body> {
    record.respond(response.status().as_u16());
    if response.body().is_whole() {
        record.complete();
        return response;
    }
    let completion = Completion(record.clone());
    response.map(|body| body.with_guard(completion))
}

/// Returns the audit id that the client sent, as it is, or a new one.
fn audit_id(headers: &HeaderMap) -> HeaderValue {
    let given = headers.get("audit-id").filter(|id| !id.is_empty());
    given.cloned().unwrap_or_else(|| {
        let mut buffer = uuid::Uuid::encode_buffer();
        let id = crate::ids::random().hyphenated().encode_lower(&mut buffer);
        HeaderValue::from_str(id).unwrap_or(HeaderValue::from_static("-"))
    })
}

fn finish(headers: &mut HeaderMap, audit_id: HeaderValue, warnings: &Warnings) {
    headers.insert("audit-id", audit_id);
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-cache, private"));
    let warnings = warnings.take();
    if warnings.is_empty() {
        return;
    }
    let total: usize = warnings.iter().map(|w| w.chars().count()).sum();
    let mut written = 0;
    // One with control characters cannot be sent.
    let printable = |warning: &String| !warning.chars().any(char::is_control);
    for warning in warnings.into_iter().filter(printable) {
        let text: String = if total > WARNINGS_LIMIT {
            warning.chars().take(WARNING_CUT).collect()
        } else {
            warning
        };
        if written >= WARNINGS_LIMIT {
            break;
        }
        written += text.chars().count();
        if let Ok(value) = HeaderValue::from_bytes(warning_header(&text).as_bytes()) {
            headers.append(header::WARNING, value);
        }
    }
}

/// Formats a `Warning` header: `299 - "text"`.
fn warning_header(text: &str) -> String {
    let mut out = String::from("299 - \"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
