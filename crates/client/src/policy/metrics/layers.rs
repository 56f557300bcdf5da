//! [`MetricsLayer`] around a request, [`AttemptMetricsLayer`] around each of its attempts.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::{Frame, SizeHint};
use tokio::time::Instant;
use tower::{Layer, Service, ServiceExt};

use super::{Reporter, RequestMetrics};
use crate::policy::{Answering, BoxError, query, retry::Attempt};

/// The code of an attempt without a response.
const NO_ANSWER: &str = "<error>";

/// Measures whole requests: all attempts, until the response has been read.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::{convert::Infallible, sync::Arc};
/// use http::{Request, Response};
/// use kubewright_client::policy::{ClientMetrics, MetricsLayer};
/// use kubewright_metrics::Registry;
/// use tower::{Layer, ServiceExt, service_fn};
///
/// let (registry, metrics) = (Registry::new(), ClientMetrics::default());
/// registry.register(metrics.clone());
/// let server = service_fn(|_: Request<()>| async { Ok::<_, Infallible>(Response::new(())) });
/// let service = MetricsLayer::new(Some(Arc::new(metrics)), "shop").layer(server);
/// // A request has ended when its body is read or dropped.
/// drop(service.oneshot(Request::new(())).await.unwrap());
/// let count = "rest_client_request_duration_seconds_count{verb=\"GET\",host=\"shop\"} 1\n";
/// assert!(registry.encode().contains(count));
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct MetricsLayer(Option<Reporter>);

/// The service of [`MetricsLayer`].
#[derive(Clone, Debug)]
pub struct MetricsService<S> {
    inner: S,
    reporter: Option<Reporter>,
}

/// Counts attempts.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::{convert::Infallible, sync::Arc};
/// use http::{Request, Response};
/// use kube::client::Body;
/// use kubewright_client::policy::{AttemptMetricsLayer, ClientMetrics};
/// use tower::{Layer, ServiceExt, service_fn};
///
/// let metrics = ClientMetrics::default();
/// let server = service_fn(|_: Request<Body>| async { Ok::<_, Infallible>(Response::new(())) });
/// let service = AttemptMetricsLayer::new(Some(Arc::new(metrics.clone())), "shop").layer(server);
/// service.oneshot(Request::new(Body::empty())).await.unwrap();
/// assert_eq!(metrics.requests("200", "GET"), 1);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct AttemptMetricsLayer(Option<Reporter>);

/// The service of [`AttemptMetricsLayer`].
#[derive(Clone, Debug)]
pub struct AttemptMetricsService<S> {
    inner: S,
    reporter: Option<Reporter>,
}

/// A body that reports its end.
pub struct MeasuredBody<B> {
    inner: Pin<Box<B>>,
    exchange: Option<Exchange>,
}

/// A request in progress. Its end is reported when it is dropped, even if the response is not read to its end.
struct Exchange {
    reporter: Reporter,
    verb: Method,
    began: Instant,
    read: Option<u64>,
}

impl MetricsLayer {
    /// Reports requests to `host` to `metrics`, if any.
    pub fn new(metrics: Option<Arc<dyn RequestMetrics>>, host: &str) -> Self {
        Self(reporter(metrics, host))
    }
}

impl AttemptMetricsLayer {
    /// Reports attempts at `host` to `metrics`, if any.
    pub fn new(metrics: Option<Arc<dyn RequestMetrics>>, host: &str) -> Self {
        Self(reporter(metrics, host))
    }
}

impl<S> Layer<S> for MetricsLayer {
    type Service = MetricsService<S>;

    fn layer(&self, inner: S) -> MetricsService<S> {
        MetricsService {
            inner,
            reporter: self.0.clone(),
        }
    }
}

impl<S> Layer<S> for AttemptMetricsLayer {
    type Service = AttemptMetricsService<S>;

    fn layer(&self, inner: S) -> AttemptMetricsService<S> {
        AttemptMetricsService {
            inner,
            reporter: self.0.clone(),
        }
    }
}

impl<S, A, B> Service<Request<A>> for MetricsService<S>
where
    S: Service<Request<A>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError>,
    A: Send + 'static,
    B: 'static,
{
    type Response = Response<MeasuredBody<B>>;
    type Error = BoxError;
    type Future = Answering<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let inner = self.inner.clone();
        let reporter = self
            .reporter
            .clone()
            .filter(|_| !query::is_endless(&request));
        let mut exchange = reporter.map(|reporter| Exchange {
            reporter,
            verb: request.method().clone(),
            began: Instant::now(),
            read: None,
        });
        Box::pin(async move {
            let response = inner.oneshot(request).await.map_err(Into::into)?;
            if let Some(exchange) = &mut exchange {
                exchange.read = Some(0);
            }
            Ok(response.map(|body| MeasuredBody {
                inner: Box::pin(body),
                exchange,
            }))
        })
    }
}

impl<S, A, B> Service<Request<A>> for AttemptMetricsService<S>
where
    S: Service<Request<A>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError>,
    A: http_body::Body + Send + 'static,
    B: 'static,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = Answering<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let inner = self.inner.clone();
        let reporter = self.reporter.clone();
        Box::pin(async move {
            let Some(Reporter { metrics, host }) = reporter else {
                return inner.oneshot(request).await.map_err(Into::into);
            };
            let verb = request.method().clone();
            let again = request
                .extensions()
                .get::<Attempt>()
                .is_some_and(|attempt| attempt.0 > 1);
            if let Some(size) = request.body().size_hint().exact()
                && size > 0
            {
                metrics.request_size(verb.as_str(), &host, size);
            }
            let result = inner.oneshot(request).await.map_err(Into::into);
            let code = match &result {
                Ok(response) => response.status().as_str().to_owned(),
                Err(_) => NO_ANSWER.to_owned(),
            };
            metrics.result(&code, verb.as_str(), &host);
            if again {
                metrics.retry(&code, verb.as_str(), &host);
            }
            result
        })
    }
}

impl<B> http_body::Body for MeasuredBody<B>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = self.inner.as_mut().poll_frame(cx);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                let bytes = frame.data_ref().map_or(0, Bytes::len) as u64;
                if let Some(read) = self.exchange.as_mut().and_then(|e| e.read.as_mut()) {
                    *read += bytes;
                }
            }
            Poll::Ready(None | Some(Err(_))) => drop(self.exchange.take()),
            Poll::Pending => {}
        }
        polled.map(|frame| frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let (metrics, verb, host) = (
            &self.reporter.metrics,
            self.verb.as_str(),
            &*self.reporter.host,
        );
        metrics.latency(verb, host, self.began.elapsed());
        if let Some(read) = self.read {
            metrics.response_size(verb, host, read);
        }
    }
}

fn reporter(metrics: Option<Arc<dyn RequestMetrics>>, host: &str) -> Option<Reporter> {
    metrics.map(|metrics| Reporter {
        metrics,
        host: host.into(),
    })
}
