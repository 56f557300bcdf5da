//! [`KubeApiServerBuilder`]: the options of a [`KubeApiServer`](super::KubeApiServer).

use std::sync::Arc;

use kubewright_apiserver::{
    InFlightLimits, SharedClock, SystemClock,
    admission::Plugin,
    audit,
    auth::{AccessObserver, Authorizer},
};
use kubewright_ledger::Ledger;
use kubewright_store::Store;
use kubewright_streams::Kubelets;

use crate::{
    AuthorizationMode,
    admission::{PluginName, PodSecurityConfiguration, Selection},
    authentication,
    crds::Conversions,
    flow_control::PriorityAndFairness,
    kinds::component_statuses::Component,
    outgoing::{ServiceHandler, Services},
    service_accounts,
    service_range::ServiceRange,
};

/// Configures and builds a [`KubeApiServer`](crate::KubeApiServer).
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
///
/// use kubewright_apiserver::auth::TokenFile;
/// use kubewright_kube_apiserver::{FIRST_REVISION, KubeApiServer};
/// use kubewright_store::MemoryStore;
///
/// let tokens = TokenFile::parse("31ada4fd,alice,1001").unwrap();
/// let api = KubeApiServer::builder()
///     .store(Arc::new(MemoryStore::starting_at(FIRST_REVISION)))
///     .token_file(tokens)
///     .build()
///     .await
///     .unwrap();
/// # let _ = api;
/// # });
/// ```
pub struct KubeApiServerBuilder {
    pub(super) store: Option<Arc<dyn Store>>,
    pub(super) is_store_shared: bool,
    pub(super) clock: SharedClock,
    pub(crate) authentication: authentication::Settings,
    pub(crate) service_accounts: service_accounts::Settings,
    pub(super) authorization: Vec<AuthorizationMode>,
    pub(super) access_observer: Option<Arc<dyn AccessObserver>>,
    pub(super) ledger: Option<Ledger>,
    pub(super) plugins: Vec<Arc<dyn Plugin>>,
    pub(super) selection: Selection,
    pub(super) pod_security: PodSecurityConfiguration,
    pub(super) address: String,
    pub(super) service_range: ServiceRange,
    pub(super) conversions: Conversions,
    pub(super) services: Services,
    pub(super) proxy_certificate: Option<(Vec<u8>, Vec<u8>)>,
    pub(super) audit: Option<(audit::Policy, Arc<dyn audit::Sink>)>,
    pub(super) kubelets: Option<Arc<dyn Kubelets>>,
    pub(super) in_flight: InFlightLimits,
    pub(super) fairness: PriorityAndFairness,
    pub(super) components: Vec<Component>,
}

impl KubeApiServerBuilder {
    pub(super) fn new() -> Self {
        Self {
            store: None,
            is_store_shared: false,
            clock: Arc::new(SystemClock),
            authentication: Default::default(),
            service_accounts: Default::default(),
            authorization: vec![AuthorizationMode::AlwaysAllow],
            access_observer: None,
            ledger: None,
            plugins: Vec::new(),
            selection: Selection::default(),
            pod_security: PodSecurityConfiguration::default(),
            address: String::new(),
            service_range: ServiceRange::default(),
            conversions: Conversions::default(),
            services: Services::default(),
            proxy_certificate: None,
            audit: None,
            kubelets: None,
            in_flight: InFlightLimits::default(),
            fairness: PriorityAndFairness::default(),
            components: Vec::new(),
        }
    }

    /// Sets the store (default: a new [`MemoryStore`](kubewright_store::MemoryStore)).
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Declares that other servers write to the store, as with a shared etcd. Their changes of CustomResourceDefinitions and
    /// service addresses are then observed.
    #[must_use]
    pub fn shared_store(mut self) -> Self {
        self.is_store_shared = true;
        self
    }

    /// Sets the clock (default: the system clock).
    #[must_use]
    pub fn clock(mut self, clock: SharedClock) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the authorizers, which are consulted in order (default: allow everything). Members of `system:masters` are always
    /// allowed everything. With [`AuthorizationMode::Rbac`], the roles and bindings of a new cluster exist from the start.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use http::Request;
    /// use kubewright_apiserver::Body;
    /// use kubewright_kube_apiserver::{AuthorizationMode, KubeApiServer};
    ///
    /// let api = KubeApiServer::builder().authorization([AuthorizationMode::Rbac]).build().await.unwrap();
    /// // All users are anonymous here, and may read the version but not pods.
    /// for (path, code) in [("/version", 200), ("/api/v1/pods", 403)] {
    ///     let request = Request::get(path).body(Body::empty()).unwrap();
    ///     assert_eq!(api.server().handle(request).await.status(), code);
    /// }
    /// # });
    /// ```
    #[must_use]
    pub fn authorization(mut self, modes: impl IntoIterator<Item = AuthorizationMode>) -> Self {
        self.authorization = modes.into_iter().collect();
        self
    }

    /// Sets a custom authorizer as the only one.
    #[must_use]
    pub fn authorizer(self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.authorization([AuthorizationMode::Custom(authorizer)])
    }

    /// Sets an observer of authorization decisions (default: none).
    #[must_use]
    pub fn access_observer(mut self, observer: Arc<dyn AccessObserver>) -> Self {
        self.access_observer = Some(observer);
        self
    }

    /// Records requests in a ledger, and serves it at `/kubewright/v1/` (default: none).
    #[must_use]
    pub fn ledger(mut self, ledger: impl Into<Option<Ledger>>) -> Self {
        self.ledger = ledger.into();
        self
    }

    /// Sets the bounds on requests in flight (default: those of kube-apiserver).
    #[must_use]
    pub fn in_flight_limits(mut self, limits: InFlightLimits) -> Self {
        self.in_flight = limits;
        self
    }

    /// Declares that a component runs beside the server, which `componentstatuses` reports.
    #[must_use]
    pub fn component(mut self, component: Component) -> Self {
        self.components.push(component);
        self
    }

    /// Enables or disables API Priority and Fairness (default: enabled).
    #[must_use]
    pub fn priority_and_fairness(mut self, fairness: PriorityAndFairness) -> Self {
        self.fairness = fairness;
        self
    }

    /// Adds an admission plugin. Plugins run in the order in which they are added, after the in-tree plugins and before
    /// webhooks and ResourceQuota. Custom objects that a plugin changes are pruned and defaulted again.
    #[must_use]
    pub fn plugin(mut self, plugin: Arc<dyn Plugin>) -> Self {
        self.plugins.push(plugin);
        self
    }

    /// Enables admission plugins that are disabled by default. `ImagePolicyWebhook` and `EventRateLimit` are not supported: with
    /// one of them, [`build`](Self::build) fails.
    #[must_use]
    pub fn enable_admission_plugins(mut self, names: impl IntoIterator<Item = PluginName>) -> Self {
        self.selection.enabled.extend(names);
        self
    }

    /// Disables admission plugins, even those that were enabled explicitly.
    #[must_use]
    pub fn disable_admission_plugins(
        mut self,
        names: impl IntoIterator<Item = PluginName>,
    ) -> Self {
        self.selection.disabled.extend(names);
        self
    }

    /// Sets the Pod Security Standards of namespaces without labels, and the exemptions (default: everything is allowed, without
    /// exemptions).
    #[must_use]
    pub fn pod_security(mut self, configuration: PodSecurityConfiguration) -> Self {
        self.pod_security = configuration;
        self
    }

    /// Sets the range of cluster IPs (default: `10.96.0.0/12`).
    #[must_use]
    pub fn service_cluster_ip_range(mut self, range: ServiceRange) -> Self {
        self.service_range = range;
        self
    }

    /// Sets the host and port of the server as seen by clients, which discovery reports.
    #[must_use]
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.address = address.into();
        self
    }

    /// Sets functions that convert custom objects between versions, instead of the conversions of their CRDs.
    #[must_use]
    pub fn conversions(mut self, conversions: Conversions) -> Self {
        self.conversions = conversions;
        self
    }

    /// Maps services of webhooks and aggregated servers to code in this process, or to addresses of this machine. They take
    /// precedence over the services of the cluster. The mapping can be changed while the server runs.
    #[must_use]
    pub fn services(mut self, services: Services) -> Self {
        self.services = services;
        self
    }

    /// Sets the nodes to which `log`, `exec`, `attach`, `portforward` and `proxy` are forwarded (default: none, so that these
    /// requests fail).
    #[must_use]
    pub fn kubelets(mut self, kubelets: Arc<dyn Kubelets>) -> Self {
        self.kubelets = Some(kubelets);
        self
    }

    /// Maps a service to code in this process. See [`services`](Self::services).
    #[must_use]
    pub fn service(
        self,
        namespace: &str,
        name: &str,
        port: u16,
        handler: Arc<dyn ServiceHandler>,
    ) -> Self {
        self.services.set_handler(namespace, name, port, handler);
        self
    }

    /// Sets the certificate and the key (PEM) with which this server authenticates itself to aggregated servers as a proxy that
    /// passes users in headers. It must be signed by the authority of a [`front_proxy`](Self::front_proxy).
    #[must_use]
    pub fn proxy_client_certificate(
        mut self,
        certificate: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        self.proxy_certificate = Some((certificate.into(), key.into()));
        self
    }

    /// Records audit events that the policy selects, and passes them to the sink. The server's own requests during initialization
    /// are not recorded.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    ///
    /// use http::Request;
    /// use kubewright_apiserver::{Body, audit::{Level, Policy, Ring, Stage}};
    /// use kubewright_kube_apiserver::KubeApiServer;
    ///
    /// let ring = Ring::new(100);
    /// let policy = Policy::everything(Level::Metadata).without(Stage::RequestReceived);
    /// let api = KubeApiServer::builder().audit(policy, Arc::new(ring.clone())).build().await?;
    /// let request = Request::get("/api/v1/namespaces").body(Body::empty()).unwrap();
    /// api.server().handle(request).await;
    /// assert!(ring.events()[0].is("list", "namespaces"));
    /// # Ok::<_, kubewright_machinery::Status>(()) }).unwrap();
    /// ```
    #[must_use]
    pub fn audit(mut self, policy: audit::Policy, sink: Arc<dyn audit::Sink>) -> Self {
        self.audit = Some((policy, sink));
        self
    }
}
