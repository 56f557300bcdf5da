//! [`TimeoutLayer`]: one timeout for all attempts and the whole body.
//!
//! Endless responses, such as watches, followed logs and upgraded connections, are exempt from the client's timeout,
//! but not from that of the request itself ([`RequestTimeout`]).

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep};
use tower::{Layer, Service, ServiceExt};

use super::{Answering, BoxError, query};

/// Limits the time of requests.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
/// use std::{convert::Infallible, time::Duration};
/// use http::{Request, Response};
/// use kubewright_client::policy::{TimedOut, TimeoutLayer};
/// use tower::{Layer, ServiceExt, service_fn};
///
/// let silent = service_fn(|_: Request<()>| {
///     std::future::pending::<Result<Response<()>, Infallible>>()
/// });
/// let limit = Duration::from_secs(30);
/// let result = TimeoutLayer::new(Some(limit)).layer(silent).oneshot(Request::new(())).await;
/// assert_eq!(result.err().unwrap().downcast_ref::<TimedOut>(), Some(&TimedOut(limit)));
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeoutLayer(Option<Duration>);

/// The service of [`TimeoutLayer`].
#[derive(Clone, Debug)]
pub struct TimeoutService<S> {
    inner: S,
    limit: Option<Duration>,
}

/// An extension of a request: its timeout.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
/// use std::{convert::Infallible, time::Duration};
/// use http::{Request, Response};
/// use kubewright_client::policy::{RequestTimeout, TimedOut, TimeoutLayer};
/// use tower::{Layer, ServiceExt, service_fn};
///
/// let silent = service_fn(|_: Request<()>| {
///     std::future::pending::<Result<Response<()>, Infallible>>()
/// });
/// let mut request = Request::new(());
/// request.extensions_mut().insert(RequestTimeout(Duration::from_secs(5)));
/// // The layer itself sets no timeout.
/// let result = TimeoutLayer::default().layer(silent).oneshot(request).await;
/// assert!(result.err().unwrap().is::<TimedOut>());
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTimeout(pub Duration);

/// No complete response arrived in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no response within {0:?}")]
pub struct TimedOut(pub Duration);

/// A body with a deadline.
pub struct TimedBody<B> {
    inner: Pin<Box<B>>,
    limit: Option<(Pin<Box<Sleep>>, Duration)>,
}

/// The deadline of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline(pub(super) Instant);

impl TimeoutLayer {
    /// Sets the timeout; none if `None`.
    pub fn new(limit: Option<Duration>) -> Self {
        Self(limit)
    }
}

impl<S> Layer<S> for TimeoutLayer {
    type Service = TimeoutService<S>;

    fn layer(&self, inner: S) -> TimeoutService<S> {
        TimeoutService {
            inner,
            limit: self.0,
        }
    }
}

impl<S, A, B> Service<Request<A>> for TimeoutService<S>
where
    S: Service<Request<A>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError>,
    A: Send + 'static,
    B: 'static,
{
    type Response = Response<TimedBody<B>>;
    type Error = BoxError;
    type Future = Answering<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<A>) -> Self::Future {
        let inner = self.inner.clone();
        let own = request
            .extensions()
            .get::<RequestTimeout>()
            .map(|own| own.0);
        let limit = own.or(self.limit.filter(|_| !query::is_endless(&request)));
        Box::pin(async move {
            let timed = limit.and_then(|limit| Some((Instant::now().checked_add(limit)?, limit)));
            let Some((deadline, limit)) = timed else {
                let response = inner.oneshot(request).await.map_err(Into::into)?;
                return Ok(response.map(|body| TimedBody::new(body, None)));
            };
            request.extensions_mut().insert(Deadline(deadline));
            let response = tokio::time::timeout_at(deadline, inner.oneshot(request))
                .await
                .map_err(|_| TimedOut(limit))?
                .map_err(Into::into)?;
            let sleep = Box::pin(tokio::time::sleep_until(deadline));
            Ok(response.map(|body| TimedBody::new(body, Some((sleep, limit)))))
        })
    }
}

impl<B> TimedBody<B> {
    fn new(inner: B, limit: Option<(Pin<Box<Sleep>>, Duration)>) -> Self {
        Self {
            inner: Box::pin(inner),
            limit,
        }
    }
}

impl<B> http_body::Body for TimedBody<B>
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
        if let Poll::Ready(frame) = self.inner.as_mut().poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        if let Some((sleep, limit)) = &mut self.limit {
            return sleep
                .as_mut()
                .poll(cx)
                .map(|()| Some(Err(TimedOut(*limit).into())));
        }
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, future::pending};

    use http_body_util::{BodyExt, Empty, StreamBody};
    use tower::service_fn;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    fn get(uri: &str) -> Request<()> {
        Request::get(uri).body(()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_does_not_come_is_given_up() {
        let silent =
            service_fn(|_: Request<()>| pending::<Result<Response<Empty<Bytes>>, Infallible>>());
        let began = Instant::now();
        let service = TimeoutLayer::new(Some(LIMIT)).layer(silent);
        let Err(error) = service.clone().oneshot(get("/api/v1/pods")).await else {
            panic!("it answered");
        };
        assert_eq!(error.downcast_ref(), Some(&TimedOut(LIMIT)));
        assert_eq!(began.elapsed(), LIMIT);
        // The timeout of the request wins.
        let mut request = get("/api/v1/pods");
        let own = Duration::from_secs(2);
        request.extensions_mut().insert(RequestTimeout(own));
        assert!(service.oneshot(request).await.is_err());
        assert_eq!(began.elapsed(), LIMIT + own);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_is_given_up_and_a_watch_is_not() {
        let stalls = service_fn(|_: Request<()>| async {
            let body = StreamBody::new(futures_util::stream::pending::<
                Result<Frame<Bytes>, Infallible>,
            >());
            Ok::<_, Infallible>(Response::new(body))
        });
        let service = TimeoutLayer::new(Some(LIMIT)).layer(stalls);
        let response = service.clone().oneshot(get("/api/v1/pods")).await.unwrap();
        let error = response.into_body().collect().await.unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&TimedOut(LIMIT)));
        for endless in [
            "/api/v1/pods?watch=true",
            "/api/v1/namespaces/a/pods/b/log?follow=1",
        ] {
            let response = service.clone().oneshot(get(endless)).await.unwrap();
            let wait = tokio::time::timeout(100 * LIMIT, response.into_body().collect());
            assert!(wait.await.is_err(), "{endless}");
        }
    }
}
