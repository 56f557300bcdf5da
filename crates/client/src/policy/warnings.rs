//! [`WarningHandler`]: the treatment of warnings that servers send with their responses.

use std::{
    collections::HashSet,
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response};
use parking_lot::Mutex;
use tower::{Layer, Service, ServiceExt};

use super::{Answering, BoxError, Warning, parse_warnings};

/// The code of warnings that users should see.
const FOR_PEOPLE: u16 = 299;

/// The number of different warnings that [`OnceEach`] remembers before it starts over.
const REMEMBERED: usize = 1000;

/// Handles warnings. Closures over `&Warning` are handlers too.
///
/// ```
/// use kubewright_client::policy::{Warning, WarningHandler};
/// use kubewright_metrics::Counter;
///
/// #[derive(Default)]
/// struct Count(Counter);
///
/// impl WarningHandler for Count {
///     fn warn(&self, _warning: &Warning) {
///         self.0.inc();
///     }
/// }
///
/// let count = Count::default();
/// count.warn(&Warning { code: 299, agent: "-".into(), text: "v1beta1 is deprecated".into() });
/// assert_eq!(count.0.get(), 1);
/// ```
pub trait WarningHandler: Send + Sync {
    /// Handles a warning. Called for every warning of every final response, including failures and the start of
    /// watches.
    fn warn(&self, warning: &Warning);
}

/// Drops all warnings.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use kubewright_client::{ClientOptions, RestClient, policy::NoWarnings};
///
/// let client = ClientOptions::new().warnings(NoWarnings).wrap(client);
/// assert!(RestClient::new(client).get().abs_path("/version").send().await.is_ok());
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct NoWarnings;

/// Logs the warnings that users should see (code 299, with a text), through `tracing`.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use kubewright_client::{ClientOptions, RestClient, policy::{LogWarnings, OnceEach}};
///
/// // Logs each warning once.
/// let client = ClientOptions::new().warnings(OnceEach::new(LogWarnings)).wrap(client);
/// assert!(RestClient::new(client).get().abs_path("/version").send().await.is_ok());
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct LogWarnings;

/// Passes each warning that users should see on once.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use kubewright_client::policy::{OnceEach, Warning, WarningHandler, parse_warnings};
///
/// let texts = Arc::new(Mutex::new(Vec::new()));
/// let sink = texts.clone();
/// let handler = OnceEach::new(move |warning: &Warning| {
///     sink.lock().unwrap().push(warning.text.clone());
/// });
/// let mut headers = http::HeaderMap::new();
/// headers.insert("warning", "299 - \"v1beta1 is deprecated\"".parse().unwrap());
/// for warning in parse_warnings(&headers).iter().chain(&parse_warnings(&headers)) {
///     handler.warn(warning);
/// }
/// assert_eq!(*texts.lock().unwrap(), ["v1beta1 is deprecated"]);
/// ```
#[derive(Debug, Default)]
pub struct OnceEach<H> {
    to: H,
    seen: Mutex<HashSet<String>>,
}

/// An extension of a request: the handler of its warnings.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::{convert::Infallible, sync::Arc};
/// use http::{Request, Response};
/// use kubewright_client::policy::{NoWarnings, RequestWarnings, Warning, WarningLayer};
/// use kubewright_metrics::Counter;
/// use tower::{Layer, ServiceExt, service_fn};
///
/// let server = service_fn(|_: Request<()>| async {
///     Ok::<_, Infallible>(Response::builder().header("warning", "299 - \"old\"").body(()).unwrap())
/// });
/// let count = Counter::default();
/// let counter = count.clone();
/// let layer = WarningLayer::new(Arc::new(move |_: &Warning| counter.inc()));
///
/// let mut request = Request::new(());
/// request.extensions_mut().insert(RequestWarnings(Arc::new(NoWarnings)));
/// layer.layer(server).oneshot(request).await.unwrap();
/// assert_eq!(count.get(), 0);
/// # });
/// ```
#[derive(Clone)]
pub struct RequestWarnings(pub Arc<dyn WarningHandler>);

/// Passes warnings to a handler.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::{convert::Infallible, sync::Arc};
/// use http::{Request, Response};
/// use kubewright_client::policy::{Warning, WarningLayer};
/// use kubewright_metrics::Counter;
/// use tower::{Layer, ServiceExt, service_fn};
///
/// let server = service_fn(|_: Request<()>| async {
///     Ok::<_, Infallible>(Response::builder().header("warning", "299 - \"old\"").body(()).unwrap())
/// });
/// let count = Counter::default();
/// let counter = count.clone();
/// let layer = WarningLayer::new(Arc::new(move |_: &Warning| counter.inc()));
/// layer.layer(server).oneshot(Request::new(())).await.unwrap();
/// assert_eq!(count.get(), 1);
/// # });
/// ```
#[derive(Clone)]
pub struct WarningLayer(Arc<dyn WarningHandler>);

/// The service of [`WarningLayer`].
#[derive(Clone)]
pub struct WarningService<S> {
    inner: S,
    handler: Arc<dyn WarningHandler>,
}

impl<F: Fn(&Warning) + Send + Sync> WarningHandler for F {
    fn warn(&self, warning: &Warning) {
        self(warning);
    }
}

impl WarningHandler for NoWarnings {
    fn warn(&self, _: &Warning) {}
}

impl WarningHandler for LogWarnings {
    fn warn(&self, warning: &Warning) {
        if is_for_people(warning) {
            tracing::warn!(agent = warning.agent, "{}", warning.text);
        }
    }
}

impl<H> OnceEach<H> {
    /// Passes warnings on to `to`.
    pub fn new(to: H) -> Self {
        Self {
            to,
            seen: Mutex::default(),
        }
    }
}

impl<H: WarningHandler> WarningHandler for OnceEach<H> {
    fn warn(&self, warning: &Warning) {
        if !is_for_people(warning) {
            return;
        }
        let new = {
            let mut seen = self.seen.lock();
            if seen.len() >= REMEMBERED {
                seen.clear();
            }
            seen.insert(warning.text.clone())
        };
        if new {
            self.to.warn(warning);
        }
    }
}

impl WarningLayer {
    /// Passes warnings to this handler, unless a request has [its own](RequestWarnings).
    pub fn new(handler: Arc<dyn WarningHandler>) -> Self {
        Self(handler)
    }
}

impl<S> Layer<S> for WarningLayer {
    type Service = WarningService<S>;

    fn layer(&self, inner: S) -> WarningService<S> {
        WarningService {
            inner,
            handler: self.0.clone(),
        }
    }
}

impl<S, A, B> Service<Request<A>> for WarningService<S>
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
        let own = request.extensions().get::<RequestWarnings>();
        let handler = own.map_or_else(|| self.handler.clone(), |own| own.0.clone());
        Box::pin(async move {
            let response = inner.oneshot(request).await.map_err(Into::into)?;
            for warning in parse_warnings(response.headers()) {
                handler.warn(&warning);
            }
            Ok(response)
        })
    }
}

impl fmt::Debug for WarningLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WarningLayer").finish_non_exhaustive()
    }
}

fn is_for_people(warning: &Warning) -> bool {
    warning.code == FOR_PEOPLE && !warning.text.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_warning_is_passed_on_once() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ear = heard.clone();
        let once = OnceEach::new(move |warning: &Warning| ear.lock().push(warning.text.clone()));
        for (code, text) in [
            (299, "a"),
            (299, "a"),
            (199, "not for people"),
            (299, ""),
            (299, "b"),
        ] {
            once.warn(&Warning {
                code,
                agent: "-".into(),
                text: text.into(),
            });
        }
        assert_eq!(*heard.lock(), ["a", "b"]);
    }
}
