//! [`KubeApiServer`]: an [`ApiServer`] that serves the API of a Kubernetes cluster.

use std::{sync::Arc, time::Duration};

use http::Method;
use kubewright_apiserver::{
    ApiServer, ApiServerBuilder, HealthChecks, Probe, SharedClock, SystemClock,
    admission::{AdmissionChain, NamespaceLifecycle, Plugin},
    audit,
    auth::{AccessObserver, Authorizer},
    registry::BlockingPool,
};
use kubewright_machinery::{Status, json::Read, status};
use kubewright_metrics::TextWriter;
use kubewright_store::{MemoryStore, Revision, Store};
use serde_json::json;

use crate::{
    AuthorizationMode, ServiceAccountKeys,
    admission::{
        self, AdmissionMetrics, PluginName, PodSecurityConfiguration, Selection, policy::Params,
        stored::Stored,
    },
    aggregation::Aggregation,
    authentication, bootstrap,
    crds::{Conversions, Crds},
    flow_control::{self, Flows},
    follow::Following,
    kinds::{self, Environment, namespaces},
    openapi::BuiltInDescriptions,
    outgoing::{Identity, Outgoing, Services},
    rbac::{self, Policy},
    service_accounts,
    service_range::ServiceRange,
};

/// The revision at which a new store starts. It is not 0, because clients give resourceVersion 0 a special meaning.
pub const FIRST_REVISION: Revision = Revision(1);

/// The number of threads that compile schemas, patterns and expressions of users.
const COMPILER_THREADS: usize = 1;

/// An API server with the built-in kinds of Kubernetes. Clones share the server and its store.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use http::Request;
/// use kubewright_apiserver::Body;
/// use kubewright_kube_apiserver::KubeApiServer;
///
/// let api = KubeApiServer::builder().build().await.unwrap();
/// let before = api.store().current().await.unwrap();
/// let colours = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "colours"}}"#;
/// let request = Request::post("/api/v1/namespaces/default/configmaps")
///     .header("content-type", "application/json")
///     .body(Body::from(colours))
///     .unwrap();
/// assert_eq!(api.server().handle(request).await.status(), 201);
/// assert!(api.store().current().await.unwrap() > before);
/// # });
/// ```
#[derive(Clone)]
pub struct KubeApiServer {
    server: ApiServer,
    store: Arc<dyn Store>,
    clock: SharedClock,
    service_account_keys: ServiceAccountKeys,
    client_authorities: Arc<[u8]>,
}

/// Configures and builds a [`KubeApiServer`].
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
    store: Option<Arc<dyn Store>>,
    clock: SharedClock,
    pub(crate) authentication: authentication::Settings,
    pub(crate) service_accounts: service_accounts::Settings,
    authorization: Vec<AuthorizationMode>,
    access_observer: Option<Arc<dyn AccessObserver>>,
    plugins: Vec<Arc<dyn Plugin>>,
    selection: Selection,
    pod_security: PodSecurityConfiguration,
    address: String,
    service_range: ServiceRange,
    conversions: Conversions,
    services: Services,
    proxy_certificate: Option<(Vec<u8>, Vec<u8>)>,
    audit: Option<(audit::Policy, Arc<dyn audit::Sink>)>,
}

impl KubeApiServer {
    /// Returns a builder whose defaults are an in-memory store, anonymous access and no authorization.
    pub fn builder() -> KubeApiServerBuilder {
        KubeApiServerBuilder {
            store: None,
            clock: Arc::new(SystemClock),
            authentication: Default::default(),
            service_accounts: Default::default(),
            authorization: vec![AuthorizationMode::AlwaysAllow],
            access_observer: None,
            plugins: Vec::new(),
            selection: Selection::default(),
            pod_security: PodSecurityConfiguration::default(),
            address: String::new(),
            service_range: ServiceRange::default(),
            conversions: Conversions::default(),
            services: Services::default(),
            proxy_certificate: None,
            audit: None,
        }
    }

    /// Returns the server, a `tower::Service` that can be called directly or served on a socket.
    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    /// Returns the store that holds the objects.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Returns the authorities of users and proxies as PEM, for
    /// `Tls::request_client_certificates` of `kubewright-serve`.
    pub fn client_authorities(&self) -> &[u8] {
        &self.client_authorities
    }

    /// Issues a token for a service account, which must exist. Its audience is the server itself.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::time::Duration;
    ///
    /// use kubewright_kube_apiserver::KubeApiServer;
    ///
    /// let api = KubeApiServer::builder().build().await?;
    /// let hour = Duration::from_secs(3600);
    /// let error = api.service_account_token("default", "missing", hour).await.unwrap_err();
    /// assert!(error.message.contains("not found"), "{}", error.message);
    /// # Ok::<_, kubewright_machinery::Status>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if there is no such account, or the lifetime is out of bounds.
    pub async fn service_account_token(
        &self,
        namespace: &str,
        name: &str,
        lifetime: Duration,
    ) -> Result<String, Status> {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        let request = json!({"spec": {"expirationSeconds": lifetime.as_secs()}});
        let media = "application/json";
        let answer = bootstrap::send(&self.server, Method::POST, &path, media, &request).await?;
        let token = answer.unwrap_or_default()["status"]["token"]
            .text()
            .to_owned();
        Ok(token)
    }

    /// Creates a service account, and its namespace, unless they exist.
    ///
    /// # Errors
    ///
    /// Fails if one of the names is invalid.
    pub async fn ensure_service_account(&self, namespace: &str, name: &str) -> Result<(), Status> {
        let object = |name: &str| json!({"metadata": {"name": name}});
        bootstrap::create(&self.server, "/api/v1/namespaces", &object(namespace)).await?;
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
        bootstrap::create(&self.server, &path, &object(name)).await
    }

    /// Creates the roles and bindings of a new cluster, and adds what is missing of them. A server with
    /// [`AuthorizationMode::Rbac`] has them from the start.
    ///
    /// # Errors
    ///
    /// Returns the [`Status`] of the first read or write of the store that fails.
    pub async fn ensure_default_policy(&self) -> Result<(), Status> {
        rbac::bootstrap(&self.server, &self.store, &*self.clock).await
    }

    /// Returns the keys of service-account tokens. Another server with them accepts the tokens of this one.
    pub fn service_account_keys(&self) -> &ServiceAccountKeys {
        &self.service_account_keys
    }
}

impl KubeApiServerBuilder {
    /// Sets the store (default: a new [`MemoryStore`]).
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets the clock (default: the system clock).
    #[must_use]
    pub fn clock(mut self, clock: SharedClock) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the authorizers, which are asked in order (default: allow everything). Members of `system:masters` are allowed
    /// everything before any is asked. With [`AuthorizationMode::Rbac`] the roles and bindings of a new cluster exist from the
    /// start.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use http::Request;
    /// use kubewright_apiserver::Body;
    /// use kubewright_kube_apiserver::{AuthorizationMode, KubeApiServer};
    ///
    /// let api = KubeApiServer::builder().authorization([AuthorizationMode::Rbac]).build().await.unwrap();
    /// // Everybody is anonymous here, and may read the version and no pods.
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

    /// Sets one authorizer of one's own.
    #[must_use]
    pub fn authorizer(self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.authorization([AuthorizationMode::Custom(authorizer)])
    }

    /// Sets an observer of what requests were allowed and denied (default: none).
    #[must_use]
    pub fn access_observer(mut self, observer: Arc<dyn AccessObserver>) -> Self {
        self.access_observer = Some(observer);
        self
    }

    /// Adds an admission plugin. Plugins run in the order in which they are added, after the in-tree plugins and before
    /// webhooks and ResourceQuota. A custom object that a plugin has changed is pruned and defaulted by its schema again.
    #[must_use]
    pub fn plugin(mut self, plugin: Arc<dyn Plugin>) -> Self {
        self.plugins.push(plugin);
        self
    }

    /// Switches admission plugins on that are off by default. `ImagePolicyWebhook` and `EventRateLimit` need a configuration that
    /// this server does not take; with one of them, [`build`](Self::build) fails.
    #[must_use]
    pub fn enable_admission_plugins(mut self, names: impl IntoIterator<Item = PluginName>) -> Self {
        self.selection.enabled.extend(names);
        self
    }

    /// Switches admission plugins off, also those that were switched on.
    #[must_use]
    pub fn disable_admission_plugins(
        mut self,
        names: impl IntoIterator<Item = PluginName>,
    ) -> Self {
        self.selection.disabled.extend(names);
        self
    }

    /// Sets the Pod Security Standards of namespaces without labels, and who is exempt from them (default: everything is
    /// allowed there, and nobody is exempt).
    #[must_use]
    pub fn pod_security(mut self, configuration: PodSecurityConfiguration) -> Self {
        self.pod_security = configuration;
        self
    }

    /// Sets the range that services get their cluster IPs from (default: `10.96.0.0/12`).
    #[must_use]
    pub fn service_cluster_ip_range(mut self, range: ServiceRange) -> Self {
        self.service_range = range;
        self
    }

    /// Sets the host and port by which clients reach the server; discovery reports it.
    #[must_use]
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.address = address.into();
        self
    }

    /// Sets functions that convert custom objects between versions, in place of the conversion that their CRD names.
    #[must_use]
    pub fn conversions(mut self, conversions: Conversions) -> Self {
        self.conversions = conversions;
        self
    }

    /// Sets services that webhooks and aggregated servers are called at without a network: code in this process, or addresses of
    /// this machine. They go before the services that the cluster has. The table can be changed while the server runs.
    #[must_use]
    pub fn services(mut self, services: Services) -> Self {
        self.services = services;
        self
    }

    /// Sets the certificate and the key (PEM) by which aggregated servers recognise this server as a proxy that names users in
    /// headers. Its authority is that of a [`front_proxy`](Self::front_proxy).
    #[must_use]
    pub fn proxy_client_certificate(
        mut self,
        certificate: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        self.proxy_certificate = Some((certificate.into(), key.into()));
        self
    }

    /// Records audit events from the first request on: the policy selects them, and the sink takes them. The requests by which
    /// the server creates its own objects at the start are not recorded.
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

    /// Registers every kind, serves the CRDs that the store holds, and creates the namespaces and priority classes of a new
    /// cluster.
    ///
    /// # Errors
    ///
    /// Returns the [`Status`] of the first read or write of the store that fails, or a 400 if an option of authentication
    /// is invalid or an admission plugin is not supported.
    pub async fn build(self) -> Result<KubeApiServer, Status> {
        let store = self
            .store
            .unwrap_or_else(|| Arc::new(MemoryStore::starting_at(FIRST_REVISION)));
        let policy = Arc::new(Policy::new(store.clone()));
        let flows = Arc::new(Flows::new(store.clone()));
        let matcher = flow_control::Matcher::new(flows.clone(), store.clone(), self.clock.clone());
        let matcher = Arc::new(matcher);
        let accounts = self.service_accounts;
        let accounts = accounts.build(&store, &self.clock, &self.address);
        let accounts = accounts.map_err(status::bad_request)?;
        let client_authorities = self.authentication.authorities();
        let trust = self.authentication.trust();
        let authenticator = self.authentication.build(&accounts, &self.clock);
        let authenticator = authenticator.map_err(status::bad_request)?;
        let proxy_identity = match self.proxy_certificate {
            Some((certificate, key)) => Some(
                Identity::from_pem(&certificate, &key)
                    .map_err(|e| status::bad_request(format!("proxy-client-cert-file: {e}")))?,
            ),
            None => None,
        };
        let environment = Environment {
            store: store.clone(),
            clock: self.clock,
            authenticator: authenticator.clone(),
            service_accounts: accounts.clone(),
            policy: policy.clone(),
            flows,
            validating_policies: Arc::new(Following::new(store.clone())),
            mutating_policies: Arc::new(Following::new(store.clone())),
            params: Params::new(store.clone()),
            compiler: BlockingPool::new(COMPILER_THREADS),
            service_range: self.service_range,
            conversions: self.conversions,
            mutating_webhooks: Arc::new(Following::new(store.clone())),
            validating_webhooks: Arc::new(Following::new(store.clone())),
            api_services: Arc::new(Following::new(store.clone())),
            outgoing: Outgoing::new(self.services, Stored(store.clone()), proxy_identity),
        };
        let lifecycle = NamespaceLifecycle::new(Arc::new(namespaces::Stored::new(store.clone())));
        self.selection
            .check()
            .map_err(|e| status::bad_request(e.to_string()))?;
        let mut chain = Vec::<Arc<dyn Plugin>>::new();
        let provision = admission::provision(&environment, &self.selection);
        if let Some(plugin) = &provision {
            chain.push(plugin.clone());
        }
        if self.selection.has("NamespaceLifecycle") {
            chain.push(Arc::new(lifecycle));
        }
        let metrics = AdmissionMetrics::default();
        let plugins =
            admission::plugins(&environment, &self.selection, self.pod_security, &metrics);
        chain.extend(plugins);
        // No in-tree plugin changes custom objects, but webhooks do, which the chain notices.
        let spares = self.plugins.is_empty();
        chain.extend(self.plugins);
        chain.extend(admission::policies_and_webhooks(
            &environment,
            &self.selection,
            &metrics,
        ));
        chain.extend(admission::last_plugins(&environment, &self.selection));
        let chain = match spares {
            true => AdmissionChain::new(chain).sparing_custom_objects(),
            false => AdmissionChain::new(chain),
        };
        let registry = kinds::registry(&environment);
        let (registry, crds) = Crds::install(&environment, registry);
        let aggregation = Aggregation::new(&environment);
        let aggregator = aggregation.front();
        let server = ApiServer::builder(registry)
            .aggregator(aggregator.clone())
            .authenticator(authenticator)
            .audiences(accounts.issuer.audiences().to_vec())
            .authorizer(AuthorizationMode::authorizer(
                &self.authorization,
                &policy,
                &store,
            ))
            .admission(chain)
            .flow_control(matcher.clone())
            .clock(environment.clock.clone())
            .descriptions(Arc::new(BuiltInDescriptions))
            .health(health(&store))
            .address(self.address.as_str());
        let documents = accounts.documents.iter().flat_map(|d| d.served());
        let server = documents.fold(server, ApiServerBuilder::document);
        let server = match self.access_observer {
            Some(observer) => server.access_observer(observer),
            None => server,
        };
        let server = server.build();
        let collect = move |out: &mut TextWriter| metrics.collect(out);
        server.metrics().collect_with(collect);
        accounts.tokens.start(&server);
        matcher.start(&server);
        if let Some(plugin) = provision {
            plugin.start(&server);
        }
        environment.params.start(&server);
        crds.start(&server, aggregation).await?;
        aggregator.start(&server).await?;
        namespaces::bootstrap(&server).await?;
        let is_rbac = |mode: &AuthorizationMode| matches!(mode, AuthorizationMode::Rbac);
        if self.authorization.iter().any(is_rbac) {
            rbac::bootstrap(&server, &store, &*environment.clock).await?;
        }
        bootstrap::service_cidr(&server, &environment).await?;
        matcher.bootstrap(&server).await?;
        admission::priority::bootstrap(&server).await?;
        trust.publish(&server, &environment).await?;
        let endpoint = bootstrap::Endpoint::of(&self.address);
        bootstrap::kubernetes_service(&server, &environment, endpoint).await?;
        if let Some((policy, sink)) = self.audit {
            server.audit(policy, sink);
        }
        Ok(KubeApiServer {
            server,
            store,
            clock: environment.clock,
            service_account_keys: accounts.keys,
            client_authorities: client_authorities.into(),
        })
    }
}

/// The checks of `/livez`, `/readyz` and `/healthz`, by the names that kube-apiserver has for them. What is done once at the
/// start is done before the server answers, so those checks never fail.
fn health(store: &Arc<dyn Store>) -> HealthChecks {
    const STARTED: [&str; 6] = [
        "poststarthook/start-apiextensions-controllers",
        "poststarthook/crd-informer-synced",
        "poststarthook/start-system-namespaces-controller",
        "poststarthook/scheduling/bootstrap-system-priority-classes",
        "poststarthook/bootstrap-controller",
        "poststarthook/start-kubernetes-service-cidr-controller",
    ];
    let reads = |store: &Arc<dyn Store>| {
        let store = store.clone();
        move || {
            let store = store.clone();
            async move { store.current().await.map(drop).map_err(|e| e.to_string()) }
        }
    };
    let writes = {
        let store = store.clone();
        move || {
            let store = store.clone();
            async move { store.ready().await.map_err(|e| e.to_string()) }
        }
    };
    let checks = HealthChecks::new()
        .check("ping", || Ok(()))
        .check("log", || Ok(()))
        .check_async(&Probe::ALL, "etcd", reads(store))
        .check_async(&[Probe::Readyz], "etcd-readiness", writes)
        .check_for(&[Probe::Readyz], "informer-sync", || Ok(()));
    STARTED
        .into_iter()
        .fold(checks, |checks, name| checks.check(name, || Ok(())))
        .check_for(&[Probe::Readyz], "shutdown", || Ok(()))
}
