//! [`RateLimitLayer`]: every attempt has to pass a [`TokenBucket`].
//!
//! The first attempt of a watch takes no token: watches are few and long, and a cache that starts should not queue
//! behind the requests that it replaces.

use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response};
use tower::{Layer, Service, ServiceExt};

use super::{
    Answering, BoxError, RequestMetrics, TokenBucket, metrics::Reporter, query, retry::Attempt,
    timeout::Deadline,
};

/// The waits that are logged: noticeable and annoying ones.
const NOTICEABLE: Duration = Duration::from_millis(50);
const ANNOYING: Duration = Duration::from_secs(1);

/// Limits the rate of requests. Clones share the bucket.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
/// use std::{convert::Infallible, sync::Arc, time::Duration};
/// use http::{Request, Response};
/// use kubewright_client::policy::{RateLimitLayer, TokenBucket};
/// use tower::{Layer, ServiceExt, service_fn};
///
/// let server = service_fn(|_: Request<()>| async { Ok::<_, Infallible>(Response::new(())) });
/// let bucket = Arc::new(TokenBucket::new(2.0, 1));
/// let service = RateLimitLayer::new(Some(bucket)).layer(server);
/// let start = tokio::time::Instant::now();
/// for _ in 0..3 {
///     service.clone().oneshot(Request::new(())).await.unwrap();
/// }
/// // The first request passes at once; the others wait half a second each.
/// assert!(start.elapsed() > Duration::from_millis(900));
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct RateLimitLayer {
    bucket: Option<Arc<TokenBucket>>,
    reporter: Option<Reporter>,
}

/// The service of [`RateLimitLayer`].
#[derive(Clone, Debug)]
pub struct RateLimitService<S> {
    inner: S,
    bucket: Option<Arc<TokenBucket>>,
    reporter: Option<Reporter>,
}

impl RateLimitLayer {
    /// Takes a token from this bucket for every request; without a bucket there is no limit.
    pub fn new(bucket: Option<Arc<TokenBucket>>) -> Self {
        Self {
            bucket,
            reporter: None,
        }
    }

    /// Reports the waits of requests to `host` to `metrics`.
    #[must_use]
    pub fn metrics(mut self, metrics: Option<Arc<dyn RequestMetrics>>, host: &str) -> Self {
        self.reporter = metrics.map(|metrics| Reporter {
            metrics,
            host: host.into(),
        });
        self
    }
}

impl<S> Layer<S> for RateLimitLayer {
    type Service = RateLimitService<S>;

    fn layer(&self, inner: S) -> RateLimitService<S> {
        RateLimitService {
            inner,
            bucket: self.bucket.clone(),
            reporter: self.reporter.clone(),
        }
    }
}

impl<S, A, B> Service<Request<A>> for RateLimitService<S>
where
    S: Service<Request<A>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError>,
    A: Send + 'static,
    B: 'static,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = Answering<Response<B>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let inner = self.inner.clone();
        let (bucket, reporter) = (self.bucket.clone(), self.reporter.clone());
        Box::pin(async move {
            let first = request
                .extensions()
                .get::<Attempt>()
                .is_none_or(|a| a.0 == 1);
            if let Some(bucket) = bucket
                && !(first && query::is_watch(&request))
            {
                let deadline = request.extensions().get::<Deadline>().map(|d| d.0);
                let waited = bucket.acquire(deadline).await?;
                report(&request, waited);
                if let Some(Reporter { metrics, host }) = reporter {
                    metrics.rate_limiter_latency(request.method().as_str(), &host, waited);
                }
            }
            inner.oneshot(request).await.map_err(Into::into)
        })
    }
}

fn report<B>(request: &Request<B>, waited: Duration) {
    let (method, uri) = (request.method(), request.uri());
    if waited > ANNOYING {
        tracing::info!(?waited, %method, %uri, "throttled by the client-side rate limit");
    } else if waited > NOTICEABLE {
        tracing::debug!(?waited, %method, %uri, "throttled by the client-side rate limit");
    }
}
