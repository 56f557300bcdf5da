//! [`Webhooks`]: the webhooks of a program as a `tower::Service`.

use std::{
    collections::HashMap,
    convert::Infallible,
    panic::AssertUnwindSafe,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use bytes::Bytes;
use futures_util::{FutureExt, future::BoxFuture};
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body::Body;
use http_body_util::{BodyExt, Collected, Full};
use kubewright_client::BoxError;
use kubewright_controller::{Client, Clock, Object};
use kubewright_metrics::Registry;
use parking_lot::RwLock;
use serde_json::Value;

use crate::{
    Defaulter, Validator, Webhook,
    admission::Admission,
    bodies::{Bodies, Unread},
    certificates::ReadMetrics,
    conversion,
    converter::Converter,
    error::WebhookError,
    journal::Journal,
    metrics::{Metrics, PathMetrics},
    review::{AdmissionResponse, Decoded, Operation, Parts, decode, decode_parts, encode},
};

/// The path of conversion reviews.
const CONVERT: &str = "/convert";

/// The maximum size of an admission review: two objects of at most 3 MiB each, and 1 MiB for the rest.
const MAX_ADMISSION_BODY: usize = 7 << 20;

/// The maximum size of a conversion review, which holds a list of objects.
const MAX_CONVERSION_BODY: usize = 64 << 20;

/// The webhooks of a program. Clones share them.
///
/// This is a `tower::Service` for a [`WebhookServer`](crate::WebhookServer) or for calls in process. Its responses are those of
/// controller-runtime.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use http::Request;
/// use http_body_util::{BodyExt, Full};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_webhook::Webhooks;
/// use serde_json::{Value, json};
/// use tower::ServiceExt;
///
/// let webhooks = Webhooks::builder()
///     .validator(|map: &ConfigMap| match &map.data {
///         Some(_) => Ok(()),
///         None => Err("a ConfigMap needs data".into()),
///     })
///     .build()
///     .unwrap();
///
/// let review = json!({
///     "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
///     "request": {"uid": "1", "operation": "CREATE", "object": {"metadata": {"name": "colours"}}},
/// });
/// let request = Request::post("/validate--v1-configmap")
///     .header("content-type", "application/json")
///     .body(Full::from(review.to_string()))
///     .unwrap();
/// let answer = webhooks.oneshot(request).await.unwrap();
/// let body = answer.into_body().collect().await.unwrap().to_bytes();
/// let answer: Value = serde_json::from_slice(&body).unwrap();
/// assert_eq!(answer["response"]["allowed"], false);
/// assert_eq!(answer["response"]["status"]["message"], "a ConfigMap needs data");
/// # });
/// ```
#[derive(Clone)]
pub struct Webhooks(Arc<Shared>);

struct Shared {
    routes: HashMap<String, Route>,
    webhooks: Vec<Webhook>,
    converter: Converter,
    client: RwLock<Option<Client>>,
    metrics: Metrics,
    journal: Journal,
    bodies: Bodies,
}

struct Route {
    target: Target,
    metrics: PathMetrics,
}

enum Target {
    Admission(Box<Webhook>),
    Conversion(Converter),
}

/// Builds [`Webhooks`].
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_webhook::{Webhooks, WebhooksBuilder};
///
/// fn register(webhooks: WebhooksBuilder) -> WebhooksBuilder {
///     webhooks.defaulter(|map: &mut ConfigMap| {
///         let labels = map.metadata.labels.get_or_insert_default();
///         labels.entry("team".into()).or_insert("web".into());
///     })
/// }
///
/// let webhooks = register(Webhooks::builder()).build().unwrap();
/// assert!(!webhooks.is_empty());
/// ```
#[derive(Clone, Default)]
#[must_use = "nothing is served before `build`"]
pub struct WebhooksBuilder {
    webhooks: Vec<Webhook>,
    converter: Converter,
    client: Option<Client>,
}

impl WebhooksBuilder {
    /// Adds a webhook.
    pub fn webhook(mut self, webhook: Webhook) -> Self {
        self.webhooks.push(webhook);
        self
    }

    /// Adds the webhook of a [`Defaulter`].
    pub fn defaulter<K: Object, D: Defaulter<K>>(self, defaulter: D) -> Self {
        self.webhook(Webhook::defaulter(defaulter))
    }

    /// Adds the webhook of a [`Validator`].
    pub fn validator<K: Object, V: Validator<K>>(self, validator: V) -> Self {
        self.webhook(Webhook::validator(validator))
    }

    /// Sets the converter, which is served at `/convert`.
    pub fn converter(mut self, converter: Converter) -> Self {
        self.converter = converter;
        self
    }

    /// Sets the client for webhooks.
    pub fn client(mut self, client: Client) -> Self {
        self.client = Some(client);
        self
    }

    /// Builds the service.
    ///
    /// # Errors
    ///
    /// Fails if two webhooks have the same path, or if one is invalid.
    pub fn build(self) -> Result<Webhooks, WebhookError> {
        let metrics = Metrics::new();
        let mut routes = HashMap::new();
        let mut add = |path: &str, target: Target| {
            if !is_valid(path) {
                return Err(WebhookError::Path(path.to_owned()));
            }
            let metrics = metrics.path(path);
            match routes.insert(path.to_owned(), Route { target, metrics }) {
                None => Ok(()),
                Some(_) => Err(WebhookError::Duplicate(path.to_owned())),
            }
        };
        for webhook in &self.webhooks {
            add(webhook.path(), Target::Admission(Box::new(webhook.clone())))?;
        }
        if !self.converter.crds().is_empty() {
            add(CONVERT, Target::Conversion(self.converter.clone()))?;
        }
        Ok(Webhooks(Arc::new(Shared {
            routes,
            webhooks: self.webhooks,
            converter: self.converter,
            client: RwLock::new(self.client),
            metrics,
            journal: Journal::default(),
            bodies: Bodies::default(),
        })))
    }
}

impl Webhooks {
    /// Returns a builder.
    pub fn builder() -> WebhooksBuilder {
        WebhooksBuilder::default()
    }

    /// Reports whether there are no webhooks.
    pub fn is_empty(&self) -> bool {
        self.0.routes.is_empty()
    }

    /// Returns the admission webhooks.
    pub fn admission(&self) -> &[Webhook] {
        &self.0.webhooks
    }

    /// Returns the converter.
    pub fn converter(&self) -> &Converter {
        &self.0.converter
    }

    /// Replaces the client for webhooks. A manager's client reads from the caches of its controllers.
    pub fn set_client(&self, client: Client) {
        *self.0.client.write() = Some(client);
    }

    /// Replaces the clock of [`debug_reviews`](Self::debug_reviews) (default: the machine's).
    pub fn set_clock(&self, clock: Clock) {
        self.0.journal.set_clock(clock);
    }

    pub(crate) fn certificate_reads(&self) -> &ReadMetrics {
        &self.0.metrics.certificate_reads
    }

    /// Adds the metrics to a registry, under the names of controller-runtime. Call it once for each registry.
    pub fn register_metrics(&self, registry: &Registry) {
        self.0.metrics.register(registry);
    }

    /// Returns the number of reviews, and the most recent ones with their verdicts and durations, for `/debug/webhooks`. The
    /// output contains names of objects.
    pub fn debug_reviews(&self) -> Value {
        self.0.journal.to_json()
    }

    /// Handles a request in process, after its body was read.
    pub async fn call(&self, request: Request<Bytes>) -> Response<Bytes> {
        let (parts, body) = self.answer(request.map(Full::new)).await.into_parts();
        let body = body.collect().await.map(Collected::to_bytes);
        Response::from_parts(parts, body.unwrap_or_default())
    }

    /// Handles a request.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let Some(route) = self.0.routes.get(request.uri().path()) else {
            return text(StatusCode::NOT_FOUND, "404 page not found\n");
        };
        let in_flight = InFlight::begin(&route.metrics);
        let response = match &route.target {
            Target::Admission(webhook) => self.admit(request, webhook, &in_flight).await,
            Target::Conversion(converter) => self.convert(request, converter, &in_flight).await,
        };
        route.metrics.answered(response.status());
        response
    }

    async fn admit<B>(
        &self,
        request: Request<B>,
        webhook: &Webhook,
        in_flight: &InFlight<'_>,
    ) -> Response<Full<Bytes>>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let refuse = |code: u16, error: String| {
            tracing::error!(error, "bad request");
            json(encode(&AdmissionResponse::errored(code, error), "", None))
        };
        let content_type = request.headers().get(header::CONTENT_TYPE).cloned();
        let bodies = &self.0.bodies;
        let buffered = match bodies.read(request.into_body(), MAX_ADMISSION_BODY).await {
            Ok(body) => body,
            Err(Unread::Busy) => return busy(),
            Err(Unread::TooLarge) => {
                let text =
                    format!("request entity is too large; limit is {MAX_ADMISSION_BODY} bytes");
                return refuse(413, text);
            }
            Err(Unread::Failed(error)) => return refuse(400, error),
        };
        let body = buffered.bytes();
        if body.is_empty() {
            return refuse(400, "request body is empty".to_owned());
        }
        let content_type = content_type.as_ref().and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default();
        if content_type != "application/json" {
            let text = format!("contentType={content_type}, expected application/json");
            return refuse(400, text);
        }
        // The handler detects objects that are not JSON if it decodes them.
        let parts = match webhook.decodes {
            true => Parts::of(body),
            false => None,
        };
        let decoded = parts.as_ref().and_then(|parts| decode_parts(parts).ok());
        let decoded = decoded.filter(|decoded| {
            let operation = decoded.request.operation();
            matches!(operation, Operation::Create | Operation::Update)
        });
        let Decoded {
            api_version,
            request,
        } = match decoded.map_or_else(|| decode(body), Ok) {
            Ok(decoded) => decoded,
            Err(error) => return refuse(400, error),
        };
        let client = self.0.client.read().clone();
        let uid = request.uid().to_owned();
        let ctx = Admission::new(request, client.as_ref());
        let answered = AssertUnwindSafe(webhook.handler.answer(&ctx))
            .catch_unwind()
            .await;
        let response = match answered {
            Ok(response) => ctx.annotate(response),
            Err(panic) => {
                self.0.metrics.panicked();
                let message = panic_message(&*panic);
                tracing::error!(panic = message, uid, "observed a panic in a webhook");
                let text = format!("panic: {message} [recovered]");
                AdmissionResponse::errored(500, text)
            }
        };
        let (path, took) = (in_flight.metrics.path(), in_flight.began.elapsed());
        self.0.journal.admitted(path, &ctx, &response, took);
        json(encode(&response, &uid, Some(api_version)))
    }

    async fn convert<B>(
        &self,
        request: Request<B>,
        converter: &Converter,
        in_flight: &InFlight<'_>,
    ) -> Response<Full<Bytes>>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let bodies = &self.0.bodies;
        let body = match bodies.read(request.into_body(), MAX_CONVERSION_BODY).await {
            Ok(body) => body,
            Err(Unread::Busy) => return busy(),
            Err(Unread::TooLarge) => return text(StatusCode::PAYLOAD_TOO_LARGE, ""),
            Err(Unread::Failed(_)) => return text(StatusCode::BAD_REQUEST, ""),
        };
        match conversion::answer(body.bytes(), converter, &self.0.metrics).await {
            Some((answer, converted)) => {
                let (path, took) = (in_flight.metrics.path(), in_flight.began.elapsed());
                self.0.journal.converted(path, &converted, took);
                json(answer)
            }
            None => text(StatusCode::BAD_REQUEST, ""),
        }
    }
}

impl<B> tower::Service<Request<B>> for Webhooks
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let webhooks = self.clone();
        Box::pin(async move { Ok(webhooks.answer(request).await) })
    }
}

/// A request that is being handled.
struct InFlight<'a> {
    metrics: &'a PathMetrics,
    began: Instant,
}

impl<'a> InFlight<'a> {
    fn begin(metrics: &'a PathMetrics) -> Self {
        metrics.in_flight.inc();
        Self {
            metrics,
            began: Instant::now(),
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.metrics.in_flight.dec();
        self.metrics.latency.observe_duration(self.began.elapsed());
    }
}

/// Reports whether a path is one that controller-runtime accepts: `^((/[a-zA-Z0-9-_]+)+|/)$`.
fn is_valid(path: &str) -> bool {
    let part = |part: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        !part.is_empty() && part.chars().all(allowed)
    };
    path == "/"
        || path
            .strip_prefix('/')
            .is_some_and(|path| path.split('/').all(part))
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a value that is not text")
}

fn json(body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// Returns the answer to a review for which there is no memory at the moment. The API server asks again after the pause.
fn busy() -> Response<Full<Bytes>> {
    let mut response = text(
        StatusCode::SERVICE_UNAVAILABLE,
        "too many reviews at once\n",
    );
    let pause = HeaderValue::from_static("1");
    response.headers_mut().insert(header::RETRY_AFTER, pause);
    response
}

fn text(status: StatusCode, body: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if !body.is_empty() {
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        headers.insert(header::CONTENT_TYPE, plain);
        let nosniff = HeaderValue::from_static("nosniff");
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    }
    response
}
