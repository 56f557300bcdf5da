//! [`ApiServer`]: a `tower::Service` over a registry of resources.
//!
//! A request passes the panic guard, authentication, impersonation and authorization, and goes to discovery, a health check
//! or a verb.
//! [`ApiServer`] is cheap to clone and has no socket: pass it to [`crate::serve::serve`] or to an in-process client.

mod access;
mod deadline;
mod dispatch;
mod in_flight;
mod service;

pub use in_flight::InFlightLimits;
pub(crate) use in_flight::{RETRY_AFTER, Seat};
pub(crate) use service::Incoming;

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use arc_swap::{ArcSwap, ArcSwapOption};
use in_flight::InFlight;
use kubewright_ledger::Ledger;
use kubewright_metrics::TextWriter;
use parking_lot::Mutex;

use crate::{
    admission::AdmissionChain,
    aggregation::{Aggregator, GroupVersionInfo},
    audit::{AuditMetrics, Auditing, Policy, Sink},
    auth::{
        AccessObserver, AlwaysAllow, Anonymous, Authenticator, Authorizer, AuthorizerUnion,
        MASTERS, Observed, PrivilegedGroups, impersonation::Impersonation,
    },
    clock::{SharedClock, SystemClock},
    discovery::Discovery,
    endpoints::{Document, HealthChecks, Metrics, Probe, VersionInfo},
    flow::FlowControl,
    ledger::Recorder,
    openapi::{Descriptions, MergedV2, OpenApi, Undescribed, remote_parts},
    registry::Registry,
};

/// An API server. Clones share its state.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use http::Request;
/// use kubewright_apiserver::{ApiServer, Body, registry::RegistryBuilder};
///
/// let server = ApiServer::builder(RegistryBuilder::default().build()).build();
/// let request = Request::get("/version").body(Body::empty()).unwrap();
/// assert_eq!(server.handle(request).await.status(), 200);
/// # });
/// ```
#[derive(Clone)]
pub struct ApiServer {
    shared: Arc<Shared>,
}

struct Shared {
    serving: ArcSwap<Serving>,
    /// Held while `serving` is replaced.
    replacing: Mutex<()>,
    aggregator: Option<Arc<dyn Aggregator>>,
    authenticator: Arc<dyn Authenticator>,
    audiences: Vec<String>,
    authorizer: Arc<dyn Authorizer>,
    impersonation: Impersonation,
    admission: AdmissionChain,
    audit: ArcSwapOption<Auditing>,
    audit_metrics: Arc<AuditMetrics>,
    clock: SharedClock,
    flow_control: Option<Arc<dyn FlowControl>>,
    in_flight: InFlight,
    health: HealthChecks,
    metrics: Arc<Metrics>,
    version: VersionInfo,
    descriptions: Arc<dyn Descriptions>,
    address: String,
    documents: Vec<Document>,
    ledger: Option<Recorder>,
    request_timeout: Duration,
    /// Whether `/readyz` fails since the server is about to stop.
    shutting_down: Arc<AtomicBool>,
}

/// A weak reference to an [`ApiServer`], for state that the server itself owns.
///
/// ```
/// use kubewright_apiserver::{ApiServer, registry::Registry};
///
/// let server = ApiServer::builder(Registry::default()).build();
/// let weak = server.downgrade();
/// assert!(weak.upgrade().is_some());
///
/// drop(server);
/// assert!(weak.upgrade().is_none());
/// ```
#[derive(Clone)]
pub struct WeakApiServer(Weak<Shared>);

/// A registry and its documents. A request uses one consistent set of them.
struct Serving {
    registry: Arc<Registry>,
    infos: Arc<[GroupVersionInfo]>,
    discovery: Discovery,
    openapi: Arc<OpenApi>,
    /// The OpenAPI v2 document with those of other servers.
    merged: Arc<MergedV2>,
}

/// Configures and builds an [`ApiServer`].
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::{ApiServer, auth::TokenFile, registry::Registry};
///
/// let tokens = TokenFile::parse("secret,alice,alice-uid,admins").unwrap();
/// let server = ApiServer::builder(Registry::default())
///     .authenticator(Arc::new(tokens))
///     .build();
/// assert!(server.registry().groups().is_empty());
/// ```
pub struct ApiServerBuilder {
    registry: Registry,
    authenticator: Arc<dyn Authenticator>,
    audiences: Vec<String>,
    authorizer: Arc<dyn Authorizer>,
    access_observer: Option<Arc<dyn AccessObserver>>,
    admission: AdmissionChain,
    health: HealthChecks,
    metrics: Arc<Metrics>,
    version: VersionInfo,
    descriptions: Arc<dyn Descriptions>,
    address: String,
    documents: Vec<Document>,
    flow_control: Option<Arc<dyn FlowControl>>,
    clock: SharedClock,
    aggregator: Option<Arc<dyn Aggregator>>,
    ledger: Option<Ledger>,
    request_timeout: Duration,
    audit: Option<(Policy, Arc<dyn Sink>)>,
    in_flight: InFlightLimits,
}

impl ApiServer {
    /// Returns a builder for a server of these resources. By default all users are anonymous and all requests are allowed.
    pub fn builder(registry: Registry) -> ApiServerBuilder {
        ApiServerBuilder {
            registry,
            authenticator: Arc::new(Anonymous),
            audiences: Vec::new(),
            authorizer: Arc::new(AlwaysAllow),
            access_observer: None,
            admission: AdmissionChain::default(),
            health: HealthChecks::new(),
            metrics: Arc::new(Metrics::new(jiff::Timestamp::now())),
            version: VersionInfo::default(),
            descriptions: Arc::new(Undescribed),
            address: String::new(),
            documents: Vec::new(),
            flow_control: None,
            clock: Arc::new(SystemClock),
            aggregator: None,
            ledger: None,
            request_timeout: deadline::LONGEST,
            audit: None,
            in_flight: InFlightLimits::default(),
        }
    }

    /// Replaces the registry. Requests in progress finish with the old one.
    pub fn set_registry(&self, registry: Registry) {
        let shared = &self.shared;
        let _replacing = shared.replacing.lock();
        let infos = shared.serving.load().infos.clone();
        let serving = Serving::new(registry, infos, &shared.descriptions, &shared.version);
        shared.serving.store(Arc::new(serving));
    }

    /// Sets the order of discovery, and the group versions of other servers that it shows (default: only those of the registry, in
    /// its order).
    pub fn set_group_versions(&self, infos: Vec<GroupVersionInfo>) {
        let shared = &self.shared;
        let _replacing = shared.replacing.lock();
        let before = shared.serving.load();
        if *before.infos == *infos {
            return;
        }
        let serving = Serving {
            registry: before.registry.clone(),
            discovery: Discovery::new(before.registry.clone(), &infos),
            merged: match remote_parts(&infos).eq(remote_parts(&before.infos)) {
                true => before.merged.clone(),
                false => Arc::default(),
            },
            openapi: before.openapi.clone(),
            infos: infos.into(),
        };
        shared.serving.store(Arc::new(serving));
    }

    /// Returns a weak reference.
    pub fn downgrade(&self) -> WeakApiServer {
        WeakApiServer(Arc::downgrade(&self.shared))
    }

    /// Returns the current registry.
    pub fn registry(&self) -> Arc<Registry> {
        self.shared.serving.load().registry.clone()
    }

    /// Returns the authorizer, which allows members of `system:masters` everything.
    pub fn authorizer(&self) -> &Arc<dyn Authorizer> {
        &self.shared.authorizer
    }

    /// Returns the authenticator. Ask it with [`Credentials::authenticate`](crate::auth::Credentials::authenticate).
    pub fn authenticator(&self) -> &Arc<dyn Authenticator> {
        &self.shared.authenticator
    }

    /// Returns the audiences that the server was built with.
    pub fn audiences(&self) -> &[String] {
        &self.shared.audiences
    }

    /// Records audit events from now on: the policy selects them, and the sink takes them. See [`audit`](crate::audit) for an
    /// example. A policy and a sink that were set before are replaced; requests in progress keep theirs.
    pub fn audit(&self, policy: Policy, sink: Arc<dyn Sink>) {
        let shared = &self.shared;
        let auditing = Auditing {
            policy,
            sink,
            clock: shared.clock.clone(),
            metrics: shared.audit_metrics.clone(),
        };
        shared.audit.store(Some(Arc::new(auditing)));
    }

    /// Makes `/readyz` fail from now on, so that no more requests are sent here. Everything else is answered as before: stop the
    /// server once the readers of `/readyz` have noticed.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use http::Request;
    /// use kubewright_apiserver::{ApiServer, Body, registry::Registry};
    ///
    /// let server = ApiServer::builder(Registry::default()).build();
    /// server.begin_shutdown();
    /// let request = |path: &str| Request::get(path).body(Body::empty()).unwrap();
    /// assert_eq!(server.handle(request("/readyz")).await.status(), 500);
    /// assert_eq!(server.handle(request("/livez")).await.status(), 200);
    /// # });
    /// ```
    pub fn begin_shutdown(&self) {
        self.shared.shutting_down.store(true, Ordering::Relaxed);
    }

    /// Returns whether audit events are recorded.
    pub fn is_audited(&self) -> bool {
        self.shared.audit.load().is_some()
    }

    /// Returns the ledger, if the server has one.
    pub fn ledger(&self) -> Option<&Ledger> {
        self.shared.ledger.as_ref().map(|recorder| &recorder.ledger)
    }

    /// Returns the request metrics.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.shared.metrics
    }
}

impl Shared {
    /// Writes the metrics of audit and impersonation.
    fn collect(&self, out: &mut TextWriter) {
        let auditing = self.audit.load();
        let sink = auditing.as_ref().map(|auditing| &*auditing.sink);
        self.audit_metrics.collect(sink, out);
        self.impersonation.collect(out);
    }
}

impl WeakApiServer {
    /// Returns the server if it still exists.
    pub fn upgrade(&self) -> Option<ApiServer> {
        self.0.upgrade().map(|shared| ApiServer { shared })
    }
}

impl Serving {
    fn new(
        registry: Registry,
        infos: Arc<[GroupVersionInfo]>,
        descriptions: &Arc<dyn Descriptions>,
        version: &VersionInfo,
    ) -> Self {
        let registry = Arc::new(registry);
        let version = format!("{}.{}", version.major, version.minor);
        let openapi = OpenApi::new(registry.clone(), descriptions.clone(), version);
        Self {
            discovery: Discovery::new(registry.clone(), &infos),
            openapi: Arc::new(openapi),
            merged: Arc::default(),
            infos,
            registry,
        }
    }
}

impl ApiServerBuilder {
    /// Sets the authenticator (default: all users are anonymous).
    #[must_use]
    pub fn authenticator(mut self, authenticator: Arc<dyn Authenticator>) -> Self {
        self.authenticator = authenticator;
        self
    }

    /// Sets the audiences of the server. Tokens for other audiences only are rejected (default: none, so audiences do not
    /// matter).
    #[must_use]
    pub fn audiences(mut self, audiences: Vec<String>) -> Self {
        self.audiences = audiences;
        self
    }

    /// Sets the authorizer (default: allow everything). Members of `system:masters` are allowed everything before it is
    /// asked.
    #[must_use]
    pub fn authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.authorizer = authorizer;
        self
    }

    /// Sets an observer of what requests were allowed and denied (default: none).
    #[must_use]
    pub fn access_observer(mut self, observer: Arc<dyn AccessObserver>) -> Self {
        self.access_observer = Some(observer);
        self
    }

    /// Sets the admission chain (default: no plugins).
    #[must_use]
    pub fn admission(mut self, admission: AdmissionChain) -> Self {
        self.admission = admission;
        self
    }

    /// Sets the checks of `/livez` and `/readyz`. The check `shutdown` of `/readyz` is added to them.
    #[must_use]
    pub fn health(mut self, health: HealthChecks) -> Self {
        self.health = health;
        self
    }

    /// Sets the registry of request metrics.
    #[must_use]
    pub fn metrics(mut self, metrics: Arc<Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// Sets the answer of `/version`.
    #[must_use]
    pub fn version(mut self, version: VersionInfo) -> Self {
        self.version = version;
        self
    }

    /// Sets the descriptions in OpenAPI schemas (default: none).
    #[must_use]
    pub fn descriptions(mut self, descriptions: Arc<dyn Descriptions>) -> Self {
        self.descriptions = descriptions;
        self
    }

    /// Sets the host and port by which clients reach the server; discovery reports it.
    #[must_use]
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.address = address.into();
        self
    }

    /// Adds a document besides the API.
    #[must_use]
    pub fn document(mut self, document: Document) -> Self {
        self.documents.push(document);
        self
    }

    /// Names the flow of each request in its answer (default: none has one).
    #[must_use]
    pub fn flow_control(mut self, flow_control: Arc<dyn FlowControl>) -> Self {
        self.flow_control = Some(flow_control);
        self
    }

    /// Sets the bounds on requests in flight (default: those of kube-apiserver).
    #[must_use]
    pub fn in_flight_limits(mut self, limits: InFlightLimits) -> Self {
        self.in_flight = limits;
        self
    }

    /// Sets the clock of audit events (default: the system clock).
    #[must_use]
    pub fn clock(mut self, clock: SharedClock) -> Self {
        self.clock = clock;
        self
    }

    /// Forwards requests for group versions that other servers have (default: there are none).
    #[must_use]
    pub fn aggregator(mut self, aggregator: Arc<dyn Aggregator>) -> Self {
        self.aggregator = Some(aggregator);
        self
    }

    /// Records requests in a ledger, and serves it at `/kubewright/v1/` (default: none).
    #[must_use]
    pub fn ledger(mut self, ledger: Ledger) -> Self {
        self.ledger = Some(ledger);
        self
    }

    /// Sets the longest that a request may take, unless it is a watch or a stream (default: one minute).
    #[must_use]
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = timeout;
        self
    }

    /// Records audit events: the policy selects them, and the sink takes them (default: none). See [`audit`](crate::audit) for
    /// an example.
    #[must_use]
    pub fn audit(mut self, policy: Policy, sink: Arc<dyn Sink>) -> Self {
        self.audit = Some((policy, sink));
        self
    }

    /// Builds the server.
    pub fn build(self) -> ApiServer {
        let shutting_down = Arc::new(AtomicBool::new(false));
        let stopping = shutting_down.clone();
        let health = self
            .health
            .check_for(&[Probe::Readyz], "shutdown", move || {
                match stopping.load(Ordering::Relaxed) {
                    false => Ok(()),
                    true => Err("process is shutting down".to_owned()),
                }
            });
        let none = Arc::new([]);
        let serving = Serving::new(self.registry, none, &self.descriptions, &self.version);
        let masters = Arc::new(PrivilegedGroups::new([MASTERS]));
        let authorizer = Arc::new(AuthorizerUnion::new(vec![masters, self.authorizer]));
        let authorizer: Arc<dyn Authorizer> = match self.access_observer {
            Some(observer) => Arc::new(Observed {
                authorizer,
                observer,
            }),
            None => authorizer,
        };
        let shared = Shared {
            serving: ArcSwap::from_pointee(serving),
            replacing: Mutex::new(()),
            aggregator: self.aggregator,
            authenticator: self.authenticator,
            audiences: self.audiences,
            authorizer,
            impersonation: Impersonation::new(),
            admission: self.admission,
            audit: ArcSwapOption::empty(),
            audit_metrics: Arc::default(),
            ledger: self.ledger.map(|ledger| Recorder {
                ledger,
                clock: self.clock.clone(),
            }),
            clock: self.clock,
            flow_control: self.flow_control,
            health,
            in_flight: InFlight::new(self.in_flight),
            metrics: self.metrics,
            version: self.version,
            descriptions: self.descriptions,
            address: self.address,
            documents: self.documents,
            request_timeout: self.request_timeout,
            shutting_down,
        };
        let server = ApiServer {
            shared: Arc::new(shared),
        };
        if let Some((policy, sink)) = self.audit {
            server.audit(policy, sink);
        }
        let weak = server.downgrade();
        server.metrics().collect_with(move |out| {
            if let Some(server) = weak.upgrade() {
                server.shared.collect(out);
            }
        });
        server
    }
}
