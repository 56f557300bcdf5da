//! [`ClientOptions`]: the settings of a client.

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response};
use kube::{
    Client, Config,
    api::ValidationDirective,
    client::{Body, ClientBuilder},
};
use tower::{Layer, Service};

use super::{
    Answering, AttemptMetricsLayer, BoxError, DefaultsLayer, LogWarnings, MetricsLayer,
    RateLimitLayer, RequestMetrics, RetryLayer, TimeoutLayer, TokenBucket, WarningHandler,
    WarningLayer, retry::DEFAULT_RETRIES, user_agent,
};

/// The settings of a client. Defaults: no rate limit, up to ten retries when the server asks for them, no timeout,
/// warnings logged, no field manager.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use std::time::Duration;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::api::{Api, PostParams, ValidationDirective};
/// use kubewright_client::ClientOptions;
///
/// let client = ClientOptions::new()
///     .rate_limit(50.0, 100)
///     .timeout(Duration::from_secs(30))
///     .user_agent("shop/1.2")
///     .field_manager("shop")
///     .field_validation(ValidationDirective::Strict)
///     .wrap(client);
///
/// // The result is a `kube::Client`, and everything that takes one uses these settings.
/// let maps: Api<ConfigMap> = Api::default_namespaced(client);
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("colours".into());
/// map.data = Some([("sky".to_owned(), "blue".to_owned())].into());
/// let map = maps.create(&PostParams::default(), &map).await.unwrap();
/// let owner = &map.metadata.managed_fields.unwrap()[0];
/// assert_eq!(owner.manager.as_deref(), Some("shop"));
/// # });
/// ```
#[derive(Clone)]
pub struct ClientOptions {
    limiter: Option<Arc<TokenBucket>>,
    max_retries: u32,
    timeout: Option<Duration>,
    user_agent: String,
    field_manager: Option<String>,
    field_validation: Option<ValidationDirective>,
    warnings: Arc<dyn WarningHandler>,
    metrics: Option<Arc<dyn RequestMetrics>>,
}

/// A [`kube::Client`] as a tower service that can be cloned, for layers to wrap.
#[derive(Clone)]
pub struct ClientService(Client);

impl ClientOptions {
    /// Creates the default settings.
    pub fn new() -> Self {
        Self {
            limiter: None,
            max_retries: DEFAULT_RETRIES,
            timeout: None,
            user_agent: user_agent("kubewright", env!("CARGO_PKG_VERSION")),
            field_manager: None,
            field_validation: None,
            warnings: Arc::new(LogWarnings),
            metrics: None,
        }
    }

    /// Limits the requests per second, with a burst. All clients made with these options share the limit.
    #[must_use]
    pub fn rate_limit(self, qps: f64, burst: u32) -> Self {
        self.limiter(Arc::new(TokenBucket::new(qps, burst)))
    }

    /// Sets a rate limiter that is shared with others.
    #[must_use]
    pub fn limiter(mut self, bucket: Arc<TokenBucket>) -> Self {
        self.limiter = Some(bucket);
        self
    }

    /// Sets the maximum number of retries. Zero disables them.
    #[must_use]
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.max_retries = retries;
        self
    }

    /// Sets the timeout of a request, with all attempts and the whole response. Watches and other endless responses are
    /// exempt.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Sets the user agent; [`user_agent`] builds one.
    #[must_use]
    pub fn user_agent(mut self, agent: impl Into<String>) -> Self {
        self.user_agent = agent.into();
        self
    }

    /// Sets the field manager of writes that have none.
    #[must_use]
    pub fn field_manager(mut self, manager: impl Into<String>) -> Self {
        self.field_manager = Some(manager.into());
        self
    }

    /// Sets the field validation of writes that have none.
    #[must_use]
    pub fn field_validation(mut self, validation: ValidationDirective) -> Self {
        self.field_validation = Some(validation);
        self
    }

    /// Sets the handler of warnings. Defaults to logging them.
    #[must_use]
    pub fn warnings(mut self, handler: impl WarningHandler + 'static) -> Self {
        self.warnings = Arc::new(handler);
        self
    }

    /// Sets the receiver of request metrics, such as [`ClientMetrics`](super::ClientMetrics).
    #[must_use]
    pub fn metrics(mut self, metrics: Arc<dyn RequestMetrics>) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Wraps a client. Metrics have no host, since the client's server is not known here.
    ///
    /// kube-client retries by itself unless [`Config::default_retry`] is off; such retries happen below these settings.
    /// [`connect`](Self::connect) disables them.
    pub fn wrap(&self, client: Client) -> Client {
        self.wrap_for(client, "")
    }

    fn wrap_for(&self, client: Client, host: &str) -> Client {
        let namespace = client.default_namespace().to_owned();
        let valid_until = *client.valid_until();
        let metrics = || self.metrics.clone();
        let service = AttemptMetricsLayer::new(metrics(), host).layer(ClientService(client));
        let service = RateLimitLayer::new(self.limiter.clone())
            .metrics(metrics(), host)
            .layer(service);
        let service = RetryLayer::new(self.max_retries).layer(service);
        let service = MetricsLayer::new(metrics(), host).layer(service);
        let service = TimeoutLayer::new(self.timeout).layer(service);
        let service = WarningLayer::new(self.warnings.clone()).layer(service);
        let defaults = DefaultsLayer::new(
            Some(&self.user_agent),
            self.field_manager.as_deref(),
            self.field_validation.clone(),
        );
        Client::new(defaults.layer(service), namespace).with_valid_until(valid_until)
    }

    /// Creates a client for a cluster, with kube-client's own retries disabled.
    ///
    /// # Errors
    ///
    /// Fails if the configuration is invalid.
    pub fn connect(&self, mut config: Config) -> kube::Result<Client> {
        config.default_retry = false;
        let host = config.cluster_url.authority().map(ToString::to_string);
        let client = ClientBuilder::try_from(config)?.build();
        Ok(self.wrap_for(client, &host.unwrap_or_default()))
    }
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientOptions")
            .field("limiter", &self.limiter)
            .field("max_retries", &self.max_retries)
            .field("timeout", &self.timeout)
            .field("user_agent", &self.user_agent)
            .field("field_manager", &self.field_manager)
            .field("field_validation", &self.field_validation)
            .finish_non_exhaustive()
    }
}

impl ClientService {
    /// Wraps the client.
    pub fn new(client: Client) -> Self {
        Self(client)
    }
}

impl Service<Request<Body>> for ClientService {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Answering<Response<Body>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let client = self.0.clone();
        Box::pin(async move { Ok(client.send(request).await?) })
    }
}
