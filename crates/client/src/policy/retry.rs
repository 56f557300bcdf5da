//! [`RetryLayer`]: retries when the server asks for it, or when a connection broke during a read.
//!
//! A 429 or 5xx *with* a `Retry-After` in seconds is retried after that time, for every verb, because the server has
//! not acted on the request. A broken connection is retried after one second, for GET only. A body that cannot be read
//! twice is sent once.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use tower::{Layer, Service, ServiceExt};

use super::{Answering, BoxError, query, transient};

/// The default maximum number of retries.
pub(super) const DEFAULT_RETRIES: u32 = 10;

/// The wait after a broken connection.
const AFTER_A_BREAK: Duration = Duration::from_secs(1);

/// The maximum size of a response that is read to its end so that the connection can be reused.
const DRAINED: usize = 2 << 10;

/// Retries requests, up to a maximum.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::convert::Infallible;
/// use http::{Request, Response};
/// use kube::client::Body;
/// use kubewright_client::policy::RetryLayer;
/// use kubewright_metrics::Counter;
/// use tower::{Layer, ServiceExt, service_fn};
///
/// let attempts = Counter::default();
/// let counter = attempts.clone();
/// let busy_at_first = service_fn(move |_: Request<Body>| {
///     counter.inc();
///     let code: u16 = if counter.get() == 1 { 503 } else { 200 };
///     let response = Response::builder().status(code).header("retry-after", "0").body(Body::empty());
///     std::future::ready(Ok::<_, Infallible>(response.unwrap()))
/// });
/// let request = Request::new(Body::empty());
/// let response = RetryLayer::new(3).layer(busy_at_first).oneshot(request).await.unwrap();
/// assert_eq!(response.status(), 200);
/// assert_eq!(attempts.get(), 2);
/// # });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RetryLayer {
    max_retries: u32,
}

/// The service of [`RetryLayer`].
#[derive(Clone, Debug)]
pub struct RetryService<S> {
    inner: S,
    max_retries: u32,
}

/// An extension of a request: its maximum number of retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxRetries(pub u32);

/// An extension of a request: the response is read while it arrives, so that a broken connection is the caller's
/// business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamedResponse;

/// An error, with that of an earlier attempt.
#[derive(Debug, thiserror::Error)]
#[error("{last} - error from a previous attempt: {previous}")]
pub struct PreviousAttempt {
    /// The error of the last attempt.
    #[source]
    pub last: BoxError,
    /// The error of an earlier attempt.
    pub previous: String,
}

/// The number of the attempt, from one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt(pub(super) u32);

impl RetryLayer {
    /// Sets the maximum number of retries. Zero disables them.
    pub fn new(max_retries: u32) -> Self {
        Self { max_retries }
    }
}

impl Default for RetryLayer {
    fn default() -> Self {
        Self::new(DEFAULT_RETRIES)
    }
}

impl<S> Layer<S> for RetryLayer {
    type Service = RetryService<S>;

    fn layer(&self, inner: S) -> RetryService<S> {
        RetryService {
            inner,
            max_retries: self.max_retries,
        }
    }
}

impl<S, B> Service<Request<Body>> for RetryService<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = Answering<Response<B>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let wanted = request
            .extensions()
            .get::<MaxRetries>()
            .map(|retries| retries.0);
        let left = wanted.unwrap_or(self.max_retries);
        Box::pin(attempts(self.inner.clone(), request, left))
    }
}

async fn attempts<S, B>(
    service: S,
    request: Request<Body>,
    max_retries: u32,
) -> Result<Response<B>, BoxError>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let (mut parts, body) = request.into_parts();
    let mut body = Some(body);
    let mut previous: Option<String> = None;
    for attempt in 1.. {
        let spare = body.as_ref().and_then(Body::try_clone);
        let this = std::mem::replace(&mut body, spare).unwrap_or_else(Body::empty);
        parts.extensions.insert(Attempt(attempt));
        let request = Request::from_parts(parts.clone(), this);
        let result = service.clone().oneshot(request).await.map_err(Into::into);
        let wait = if attempt > max_retries || body.is_none() {
            None
        } else {
            let request = Request::from_parts(parts.clone(), ());
            match &result {
                Ok(response) => asked_to_wait(response),
                Err(error) => passes_by_itself(&request, &**error).then_some(AFTER_A_BREAK),
            }
        };
        match (wait, result) {
            (None, Ok(response)) => return Ok(response),
            (None, Err(last)) => return Err(with_previous(last, previous)),
            (Some(wait), result) => {
                tracing::debug!(?wait, attempt, method = %parts.method, uri = %parts.uri, "retrying");
                match result {
                    Ok(response) => drain(response).await,
                    Err(error) => previous = Some(error.to_string()),
                }
                tokio::time::sleep(wait).await;
            }
        }
    }
    Err("no attempt was made".into())
}

fn asked_to_wait<B>(response: &Response<B>) -> Option<Duration> {
    let code = response.status();
    if code != StatusCode::TOO_MANY_REQUESTS && !code.is_server_error() {
        return None;
    }
    let value = response.headers().get(header::RETRY_AFTER)?;
    let seconds: u32 = value.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds.into()))
}

fn passes_by_itself(request: &Request<()>, error: &(dyn std::error::Error + 'static)) -> bool {
    request.method() == Method::GET
        && request.extensions().get::<StreamedResponse>().is_none()
        && (transient::is_broken(error)
            || (query::is_watch(request) && transient::is_timeout(error)))
}

fn with_previous(last: BoxError, previous: Option<String>) -> BoxError {
    match previous {
        Some(previous) if previous != last.to_string() => {
            Box::new(PreviousAttempt { last, previous })
        }
        _ => last,
    }
}

async fn drain<B>(response: Response<B>)
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let body = response.into_body();
    if body
        .size_hint()
        .upper()
        .is_none_or(|size| size <= DRAINED as u64)
    {
        // The result does not matter, since nobody reads it.
        let _ = Box::pin(Limited::new(body, DRAINED)).collect().await;
    }
}

#[cfg(test)]
mod tests;
