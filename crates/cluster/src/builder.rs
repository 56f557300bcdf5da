//! [`ClusterBuilder`]: the options of a cluster.

use std::{net::SocketAddr, sync::Arc, time::SystemTime};

use kubewright_apiserver::{SharedClock, SystemClock, auth::Authenticator};
use kubewright_builtin_controllers::{Controllers, Name};
use kubewright_kube_apiserver::{
    AnonymousAccess, AuthorizationMode, Component, FIRST_REVISION, FrontProxy, KubeApiServer,
    KubeApiServerBuilder, PluginName, ServiceAccountKeys, Services,
};
use kubewright_ledger::Ledger;
use kubewright_store::MemoryStore;

#[cfg(feature = "workloads")]
use crate::simulation::Simulation;
use crate::{
    AccessLog, CertificateAuthority, Cluster, Credential, Endpoint, Error, FaultyServer, Lab,
    ServingCertificate, Storage, Tokens,
    cluster::{Background, RunningControllers},
    endpoint::{Serving, bind, local_address},
    identity,
    kept_keys::KeptKeys,
    lab::Subject,
    secret_tokens::SecretTokens,
};
#[cfg(feature = "durable")]
use crate::{DataDir, data_dir::OpenStore};

/// Builds a [`Cluster`].
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use kubewright_cluster::{Cluster, ClusterBuilder, Controllers};
///
/// fn minimal() -> ClusterBuilder {
///     Cluster::builder().controllers(Controllers::none())
/// }
///
/// let cluster = minimal().start().await?;
/// let version = cluster.client().apiserver_version().await?;
/// assert_eq!(version.major, "1");
/// cluster.stop().await?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[must_use]
pub struct ClusterBuilder {
    name: String,
    listen: Option<SocketAddr>,
    controllers: Controllers,
    /// The scheduler and the nodes.
    #[cfg(feature = "workloads")]
    pub(crate) simulation: Simulation,
    storage: Option<Storage>,
    #[cfg(feature = "durable")]
    pub(crate) data_dir: Option<DataDir>,
    #[cfg(feature = "etcd")]
    pub(crate) etcd: Option<crate::Etcd>,
    service_account_keys: Option<ServiceAccountKeys>,
    access: Access,
    certificate: ServingCertificate,
    authority: Option<CertificateAuthority>,
    proxies: Option<CertificateAuthority>,
    clock: SharedClock,
    pub(crate) lab: Option<Lab>,
    server: KubeApiServerBuilder,
}

/// The common name of the API server's certificate when it is a proxy for other servers.
const FRONT_PROXY: &str = "front-proxy-client";

/// The way in which a cluster authenticates its users.
enum Access {
    /// One token, generated or read from the data directory.
    Generated,
    Tokens(Tokens),
    Custom(Arc<dyn Authenticator>),
}

impl ClusterBuilder {
    pub(crate) fn new() -> Self {
        Self {
            name: "kubewright".to_owned(),
            listen: None,
            controllers: Controllers::none(),
            #[cfg(feature = "workloads")]
            simulation: Simulation::default(),
            storage: None,
            #[cfg(feature = "durable")]
            data_dir: None,
            #[cfg(feature = "etcd")]
            etcd: None,
            service_account_keys: None,
            access: Access::Generated,
            certificate: ServingCertificate::default(),
            authority: None,
            proxies: None,
            clock: Arc::new(SystemClock),
            lab: None,
            server: KubeApiServer::builder(),
        }
    }

    /// Sets the name of the cluster in kubeconfigs. Defaults to `kubewright`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Listens on an address with TLS. The system chooses the port if it is 0. By default, there is no socket.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = Some(address);
        self
    }

    /// Sets the built-in controllers to run (default: none). They sign certificates with the authority of the cluster, and tokens
    /// with its keys. The admission plugin `ServiceAccount`, which gives pods an account and a token, is enabled only if the
    /// controller that creates service accounts runs, since it rejects pods without an account.
    pub fn controllers(mut self, controllers: Controllers) -> Self {
        self.controllers = controllers;
        self
    }

    /// Gives services of the type `LoadBalancer` addresses, which pods on simulated nodes reach. Call it after
    /// [`controllers`](Self::controllers) and [`profile`](Self::profile).
    #[cfg(feature = "workloads")]
    pub fn load_balancers(mut self) -> Self {
        self.controllers = self.controllers.with(Name::LoadBalancer);
        self
    }

    /// Sets the store. Defaults to a new [`MemoryStore`].
    pub fn store(mut self, storage: impl Into<Storage>) -> Self {
        self.storage = Some(storage.into());
        self
    }

    /// Sets the users and their tokens. Defaults to [`Tokens::generate`].
    pub fn tokens(mut self, tokens: Tokens) -> Self {
        self.access = Access::Tokens(tokens);
        self
    }

    /// Sets an authenticator that replaces tokens. Clients in this process and the kubeconfig then have no token.
    pub fn authenticator(mut self, authenticator: Arc<dyn Authenticator>) -> Self {
        self.access = Access::Custom(authenticator);
        self
    }

    /// Sets the authorizers, which are consulted in order. By default, every request is allowed.
    ///
    /// As in kube-apiserver, requests without credentials are attributed to `system:anonymous`, unless everything is allowed: with
    /// [`AuthorizationMode::Rbac`] they may read the health and the version of the server. You can combine roles with your own
    /// authorizer:
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    ///
    /// use kubewright_apiserver::{
    ///     auth::{Attributes, Authorizer, Decision},
    ///     boxed_async,
    /// };
    /// use kubewright_cluster::{AuthorizationMode, Cluster};
    ///
    /// /// Denies every deletion, regardless of roles.
    /// struct DenyDeletions;
    ///
    /// #[boxed_async]
    /// impl Authorizer for DenyDeletions {
    ///     async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
    ///         match attributes.verb {
    ///             "delete" | "deletecollection" => Decision::deny("deletions are disabled"),
    ///             _ => Decision::no_opinion(""),
    ///         }
    ///     }
    /// }
    ///
    /// let modes = [AuthorizationMode::Custom(Arc::new(DenyDeletions)), AuthorizationMode::Rbac];
    /// let cluster = Cluster::builder().authorization(modes).start().await?;
    /// # cluster.stop().await?;
    /// # Ok::<_, kubewright_cluster::Error>(()) }).unwrap();
    /// ```
    pub fn authorization(mut self, modes: impl IntoIterator<Item = AuthorizationMode>) -> Self {
        let modes: Vec<AuthorizationMode> = modes.into_iter().collect();
        let is_open = |mode: &AuthorizationMode| matches!(mode, AuthorizationMode::AlwaysAllow);
        let anonymous = match modes.iter().any(is_open) {
            true => AnonymousAccess::Disabled,
            false => AnonymousAccess::Enabled,
        };
        self.server = self.server.authorization(modes).anonymous(anonymous);
        self
    }

    /// Records which permissions the requests of users needed. See [`AccessLog`].
    pub fn access_log(mut self, log: AccessLog) -> Self {
        self.server = self.server.access_observer(Arc::new(log));
        self
    }

    /// Records who wrote each revision in a ledger, which is served at `/kubewright/v1/` (default: none).
    pub fn ledger(mut self, ledger: impl Into<Option<Ledger>>) -> Self {
        self.server = self.server.ledger(ledger);
        self
    }

    /// Sets the clock for timestamps (default: that of the system).
    pub fn clock(mut self, clock: SharedClock) -> Self {
        self.server = self.server.clock(clock.clone());
        self.clock = clock;
        self
    }

    /// Sets the serving certificate (default: one that is generated for the address).
    pub fn serving_certificate(mut self, certificate: ServingCertificate) -> Self {
        self.certificate = certificate;
        self
    }

    /// Sets the authority that signs the certificates of the cluster and its users (default: a new one, so that certificates are
    /// invalid after a restart).
    pub fn certificate_authority(mut self, authority: CertificateAuthority) -> Self {
        self.authority = Some(authority);
        self
    }

    /// Sets the authority of proxies that pass users in headers (default: a new one).
    ///
    /// The authorities are published in the ConfigMap `kube-system/extension-apiserver-authentication` if one of them is set, or if
    /// the cluster listens from the start.
    pub fn front_proxy_authority(mut self, authority: CertificateAuthority) -> Self {
        self.proxies = Some(authority);
        self
    }

    /// Accepts client certificates that these authorities (PEM) have signed, in addition to those of the cluster's authority.
    pub fn client_ca(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.server = self.server.client_ca(pem);
        self
    }

    /// Sets the keys of service-account tokens (default: new ones, so that tokens are invalid after a restart).
    pub fn service_account_keys(mut self, keys: ServiceAccountKeys) -> Self {
        self.service_account_keys = Some(keys);
        self
    }

    /// Maps services that webhooks refer to, to code in this process or to addresses of this machine.
    pub fn services(mut self, services: Services) -> Self {
        self.server = self.server.services(services);
        self
    }

    /// Changes other settings of the API server: admission plugins, the authorizer, conversions, audit, and authentication.
    pub fn api_server(
        mut self,
        configure: impl FnOnce(KubeApiServerBuilder) -> KubeApiServerBuilder,
    ) -> Self {
        self.server = configure(self.server);
        self
    }

    /// Starts the cluster, and returns when it is ready.
    ///
    /// # Errors
    ///
    /// Fails if the address cannot be listened on, or the store rejects the initial objects.
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime.
    pub async fn start(mut self) -> Result<Cluster, Error> {
        // A data directory is locked before the address is bound.
        let new = MemoryStore::starting_at(FIRST_REVISION);
        let memory = (self.lab.is_some() && self.is_in_memory()).then(|| new.clone());
        let storage = self.storage.take();
        let opened = Opened::new(storage.unwrap_or_else(|| new.into()));
        #[cfg(feature = "durable")]
        let opened = match self.data_dir.take() {
            Some(directory) => {
                let holder = self.listen.map(|address| address.to_string());
                let holder = holder.unwrap_or_default();
                directory.open(self.clock.clone(), holder).await?
            }
            None => opened,
        };
        #[cfg(feature = "etcd")]
        let opened = match self.etcd.take() {
            Some(etcd) => etcd.open().await?,
            None => opened,
        };
        #[cfg(feature = "durable")]
        let durable = opened.durable;
        let Opened { storage, kept, .. } = opened;
        let listener = match self.listen {
            Some(address) => Some(bind(address).await?),
            None => None,
        };
        let now = SystemTime::now();
        // Without a socket, no other process can use authorities that are generated here.
        let is_known = listener.is_some() || self.authority.is_some() || self.proxies.is_some();
        let authority = match self.authority {
            Some(authority) => authority,
            None => match &kept {
                Some(kept) => kept.authority("ca", "kubewright-ca")?,
                None => CertificateAuthority::generate("kubewright-ca", now)?,
            },
        };
        let proxies = match self.proxies {
            Some(proxies) => proxies,
            None => match &kept {
                Some(kept) => kept.authority("front-proxy-ca", "front-proxy-ca")?,
                None => CertificateAuthority::generate("front-proxy-ca", now)?,
            },
        };
        let proxy = FrontProxy {
            allowed_names: vec![FRONT_PROXY.to_owned()],
            ..FrontProxy::new(proxies.certificate_pem())
        };
        let service_account_keys = match (self.service_account_keys, &kept) {
            (Some(keys), _) => Some(keys),
            (None, Some(kept)) => Some(kept.service_accounts()?),
            (None, None) => None,
        };
        let server = self.server.store(storage.store);
        let server = match storage.is_shared {
            true => server.shared_store(),
            false => server,
        };
        let server = match service_account_keys {
            Some(keys) => server.service_account_keys(keys),
            None => server,
        };
        let server = server.client_ca(authority.certificate_pem());
        let server = server.front_proxy(proxy).publish_authorities(is_known);
        let own = proxies.sign_user(FRONT_PROXY, Vec::<String>::new(), now)?;
        let server = server.proxy_client_certificate(own.certificate_pem, own.key_pem);
        let access = match (self.access, &kept) {
            (Access::Generated, Some(kept)) => Access::Tokens(kept.tokens()?),
            (Access::Generated, None) => Access::Tokens(Tokens::generate()),
            (access, _) => access,
        };
        let (mut server, token, controller_token) = match access {
            Access::Generated => unreachable!("tokens were generated above"),
            Access::Custom(authenticator) => (server.authenticator(authenticator), None, None),
            Access::Tokens(mut tokens) => {
                let controller_token = tokens.add_controller_manager();
                let token = tokens.first().to_owned();
                let server = server.token_file(tokens.into_file());
                (server, Some(token), Some(controller_token))
            }
        };
        if let Some(listener) = &listener {
            server = server.address(local_address(listener)?.to_string());
        }
        #[cfg(feature = "workloads")]
        if let Some(nodes) = self.simulation.nodes() {
            server = crate::metrics::answer(server, nodes).kubelets(Arc::new(nodes.clone()));
        }
        #[cfg(feature = "workloads")]
        if self.simulation.schedules() {
            server = server.component(Component::Scheduler);
        }
        if !self.controllers.is_empty() {
            server = server.component(Component::ControllerManager);
        }
        if self.controllers.has(Name::ServiceAccount) {
            server = server.enable_admission_plugins(service_account_plugin());
        }
        // Boxed, to save stack space in tests that start a cluster.
        let built = Box::pin(server.build()).await;
        let server = built.map_err(|status| Error::Server(Box::new(status)))?;
        #[cfg(feature = "durable")]
        if let Some(open) = &durable {
            open.report_to(server.server());
        }
        let maintenance = storage.maintenance.map(Background::spawn);
        if let (Some(lab), Some(store)) = (&self.lab, memory) {
            let keys = server.service_account_keys().clone();
            lab.examine(Subject { store, keys });
        }
        let faulty = self.lab.as_ref().map(|lab| {
            let server = server.server().clone();
            FaultyServer::new(server, lab.faults().clone())
        });
        let endpoint = match listener {
            Some(listener) => {
                let serving = Serving {
                    name: &self.name,
                    credential: token.clone().map(Credential::Token),
                    certificate: &self.certificate,
                    authority: &authority,
                    client_authorities: server.client_authorities(),
                    peer_addresses: server.server().is_audited(),
                };
                Some(match &faulty {
                    Some(faulty) => Endpoint::start(listener, faulty.clone(), serving)?,
                    None => Endpoint::start(listener, server.server().clone(), serving)?,
                })
            }
            None => None,
        };
        let secret_tokens = SecretTokens(server.service_account_keys().clone());
        let root_ca = match &endpoint {
            Some(endpoint) => endpoint.ca_pem(),
            None => authority.certificate_pem(),
        };
        let controllers = self
            .controllers
            .authority(authority.authority().clone())
            .token_generator(Arc::new(secret_tokens))
            .root_ca(root_ca);
        #[cfg(feature = "workloads")]
        let is_idle = controllers.is_empty() && self.simulation.is_empty();
        #[cfg(not(feature = "workloads"))]
        let is_idle = controllers.is_empty();
        let controllers = match is_idle {
            true => None,
            false => {
                let token = controller_token.as_deref();
                let client = identity::client(server.server().clone(), token);
                let manager = controllers.manager(client)?;
                #[cfg(feature = "workloads")]
                self.simulation.add_to(&manager)?;
                if server.server().ledger().is_some() {
                    manager.report_runs()?;
                }
                Some(RunningControllers::start(manager, self.clock))
            }
        };
        #[cfg(feature = "workloads")]
        if self.simulation.nodes().is_some() {
            let registered = crate::metrics::register(&server).await;
            registered.map_err(|status| Error::Server(Box::new(status)))?;
            self.simulation.ready().await;
        }
        let direct_client = identity::client(server.server().clone(), token.as_deref());
        Ok(Cluster {
            client: match faulty {
                Some(faulty) => identity::client(faulty, token.as_deref()),
                None => direct_client.clone(),
            },
            direct_client,
            name: self.name,
            server,
            token,
            certificate: self.certificate,
            authority,
            front_proxy_authority: proxies,
            endpoint,
            controllers,
            #[cfg(feature = "workloads")]
            nodes: self.simulation.into_nodes(),
            _maintenance: maintenance,
            #[cfg(feature = "durable")]
            durable,
        })
    }
}

impl ClusterBuilder {
    /// Reports whether the objects are in a new store in memory.
    fn is_in_memory(&self) -> bool {
        #[cfg(feature = "durable")]
        let is_kept = self.data_dir.is_some();
        #[cfg(not(feature = "durable"))]
        let is_kept = false;
        #[cfg(feature = "etcd")]
        let is_kept = is_kept || self.etcd.is_some();
        self.storage.is_none() && !is_kept
    }
}

/// A store that is ready for use.
pub(crate) struct Opened {
    pub(crate) storage: Storage,
    /// The keys of the data directory.
    pub(crate) kept: Option<KeptKeys>,
    /// Closes the store of the data directory when dropped.
    #[cfg(feature = "durable")]
    pub(crate) durable: Option<OpenStore>,
}

impl Opened {
    /// Returns a store that keeps no keys and need not be closed.
    pub(crate) fn new(storage: Storage) -> Self {
        Self {
            storage,
            kept: None,
            #[cfg(feature = "durable")]
            durable: None,
        }
    }
}

/// Returns the plugin that sets the service accounts of pods.
fn service_account_plugin() -> Option<PluginName> {
    "ServiceAccount".parse().ok()
}
