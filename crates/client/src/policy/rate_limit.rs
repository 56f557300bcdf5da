//! [`RateLimitLayer`]: every attempt has to pass a [`TokenBucket`].
//!
//! The first attempt of a watch takes no token: watches are few and long, and a cache that starts should not queue
//! behind what it is meant to replace.

use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response};
use tower::{Layer, Service, ServiceExt};

use super::{
    Answering, BoxError, RequestMetrics, TokenBucket, metrics::Told, query, retry::Attempt,
    timeout::Deadline,
};

/// Waits that are worth telling: noticeable, and annoying.
const NOTICEABLE: Duration = Duration::from_millis(50);
const ANNOYING: Duration = Duration::from_secs(1);

/// Limits how often requests are sent. Clones share the bucket.
#[derive(Clone, Debug)]
pub struct RateLimitLayer {
    bucket: Option<Arc<TokenBucket>>,
    told: Option<Told>,
}

/// What [`RateLimitLayer`] makes of a service.
#[derive(Clone, Debug)]
pub struct RateLimitService<S> {
    inner: S,
    bucket: Option<Arc<TokenBucket>>,
    told: Option<Told>,
}

impl RateLimitLayer {
    /// Every request takes a token from this bucket; without one, no limit.
    pub fn new(bucket: Option<Arc<TokenBucket>>) -> Self {
        Self { bucket, told: None }
    }

    /// Tells `metrics` how long requests to `host` wait.
    #[must_use]
    pub fn metrics(mut self, metrics: Option<Arc<dyn RequestMetrics>>, host: &str) -> Self {
        self.told = metrics.map(|metrics| Told {
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
            told: self.told.clone(),
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
        let (bucket, told) = (self.bucket.clone(), self.told.clone());
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
                if let Some(Told { metrics, host }) = told {
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
        tracing::info!(?waited, %method, %uri, "waited for the client's own rate limit, not for the server");
    } else if waited > NOTICEABLE {
        tracing::debug!(?waited, %method, %uri, "waited for the client's own rate limit, not for the server");
    }
}
