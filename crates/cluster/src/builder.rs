//! [`ClusterBuilder`]: the options of a cluster.

use std::{net::SocketAddr, sync::Arc, time::SystemTime};

use kubewright_apiserver::{SharedClock, SystemClock, auth::Authenticator};
use kubewright_builtin_controllers::{Controllers, Name};
use kubewright_kube_apiserver::{
    AnonymousAccess, AuthorizationMode, FIRST_REVISION, FrontProxy, KubeApiServer,
    KubeApiServerBuilder, PluginName, ServiceAccountKeys, Services,
};
use kubewright_nodes::Nodes;
use kubewright_scheduler::Scheduler;
use kubewright_store::MemoryStore;

use crate::{
    AccessLog, CertificateAuthority, Cluster, Credential, DataDir, Endpoint, Error, Profile,
    ServingCertificate, Storage, Tokens,
    cluster::{Background, RunningControllers},
    data_dir::OpenStore,
    endpoint::{Serving, bind, local_address},
    identity,
    kept_keys::KeptKeys,
    secret_tokens::SecretTokens,
};

/// Builds a [`Cluster`]. See the [crate documentation](crate) for an example.
#[must_use]
pub struct ClusterBuilder {
    name: String,
    listen: Option<SocketAddr>,
    controllers: Controllers,
    scheduler: SchedulerChoice,
    nodes: Option<Nodes>,
    storage: Option<Storage>,
    data_dir: Option<DataDir>,
    service_account_keys: Option<ServiceAccountKeys>,
    access: Access,
    certificate: ServingCertificate,
    authority: Option<CertificateAuthority>,
    proxies: Option<CertificateAuthority>,
    clock: SharedClock,
    server: KubeApiServerBuilder,
}

/// The common name of the proxy that the API server itself is for others.
const FRONT_PROXY: &str = "front-proxy-client";

/// The scheduler of a cluster.
enum SchedulerChoice {
    /// The default one if there are nodes.
    WithNodes,
    This(Box<Scheduler>),
    Off,
}

/// The way a cluster identifies its users.
enum Access {
    /// One token, generated or kept in the data directory.
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
            scheduler: SchedulerChoice::WithNodes,
            nodes: None,
            storage: None,
            data_dir: None,
            service_account_keys: None,
            access: Access::Generated,
            certificate: ServingCertificate::default(),
            authority: None,
            proxies: None,
            clock: Arc::new(SystemClock),
            server: KubeApiServer::builder(),
        }
    }

    /// Sets the name of the cluster in kubeconfigs. Defaults to `kubewright`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Listens on an address, over TLS. Port 0 lets the system choose. By default there is no socket.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = Some(address);
        self
    }

    /// Sets the built-in controllers to run. Defaults to none. They sign certificates with the authority of the cluster, and
    /// tokens with its keys. With the controller that creates service accounts, the admission plugin `ServiceAccount` runs
    /// too: pods get an account and a token. Without it no pod could be created, so the plugin is off.
    pub fn controllers(mut self, controllers: Controllers) -> Self {
        self.controllers = controllers;
        self
    }

    /// Keeps the cluster in a directory: its objects, and what is not set otherwise of its certificate authorities, the
    /// key of service account tokens and the token of the administrator. See [`DataDir`]. It takes the place of
    /// [`store`](Self::store).
    pub fn data_dir(mut self, directory: impl Into<DataDir>) -> Self {
        self.data_dir = Some(directory.into());
        self
    }

    /// Sets the built-in controllers to those of a profile, and adds two nodes if it has nodes.
    pub fn profile(self, profile: Profile) -> Self {
        let with_controllers = self.controllers(profile.controllers());
        match profile {
            Profile::Full => with_controllers.nodes(2),
            Profile::Bare | Profile::Controllers => with_controllers,
        }
    }

    /// Adds simulated nodes, and a scheduler unless [`scheduler`](Self::scheduler) says otherwise: pods run and become ready.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// use std::time::Duration;
    ///
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube::Api;
    /// use kubewright_cluster::Cluster;
    /// use serde_json::{from_value, json};
    ///
    /// let cluster = Cluster::builder().nodes(2).start().await?;
    /// let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    /// let pod = json!({"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}});
    /// pods.create(&Default::default(), &from_value(pod).unwrap()).await.unwrap();
    /// cluster.settled(Duration::from_secs(60)).await.unwrap();
    /// let status = pods.get("web").await.unwrap().status.unwrap();
    /// assert_eq!(status.phase.as_deref(), Some("Running"));
    /// # Ok::<_, kubewright_cluster::Error>(()) }).unwrap();
    /// ```
    pub fn nodes(mut self, nodes: impl Into<Nodes>) -> Self {
        self.nodes = Some(nodes.into());
        self
    }

    /// Sets the scheduler, or `None` for a cluster whose pods are scheduled by somebody else.
    pub fn scheduler(mut self, scheduler: impl Into<Option<Scheduler>>) -> Self {
        self.scheduler = match scheduler.into() {
            Some(scheduler) => SchedulerChoice::This(Box::new(scheduler)),
            None => SchedulerChoice::Off,
        };
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

    /// Sets an authenticator instead of tokens. Clients in this process and the kubeconfig then carry no token.
    pub fn authenticator(mut self, authenticator: Arc<dyn Authenticator>) -> Self {
        self.access = Access::Custom(authenticator);
        self
    }

    /// Sets the authorizers, which are asked in order. By default everything is allowed to every user.
    ///
    /// As in kube-apiserver, requests without credentials then come from `system:anonymous`, unless everything is allowed:
    /// with [`AuthorizationMode::Rbac`] they may read the health and the version of the server. An authorizer of one's own can
    /// stand beside the roles:
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    ///
    /// use async_trait::async_trait;
    /// use kubewright_apiserver::auth::{Attributes, Authorizer, Decision};
    /// use kubewright_cluster::{AuthorizationMode, Cluster};
    ///
    /// /// Denies every deletion, whatever roles grant.
    /// struct NothingIsLost;
    ///
    /// #[async_trait]
    /// impl Authorizer for NothingIsLost {
    ///     async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
    ///         match attributes.verb {
    ///             "delete" | "deletecollection" => Decision::deny("nothing is deleted here"),
    ///             _ => Decision::no_opinion(""),
    ///         }
    ///     }
    /// }
    ///
    /// let modes = [AuthorizationMode::Custom(Arc::new(NothingIsLost)), AuthorizationMode::Rbac];
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

    /// Notes which permissions the requests of users needed. See [`AccessLog`].
    pub fn access_log(mut self, log: AccessLog) -> Self {
        self.server = self.server.access_observer(Arc::new(log));
        self
    }

    /// Sets the clock that timestamps are taken from. Defaults to the system's.
    pub fn clock(mut self, clock: SharedClock) -> Self {
        self.server = self.server.clock(clock.clone());
        self.clock = clock;
        self
    }

    /// Sets the certificate to serve with (default: one that is generated for the address).
    pub fn serving_certificate(mut self, certificate: ServingCertificate) -> Self {
        self.certificate = certificate;
        self
    }

    /// Sets the authority that signs the certificates of the cluster and of its users (default: a new one, so certificates
    /// end with the cluster).
    pub fn certificate_authority(mut self, authority: CertificateAuthority) -> Self {
        self.authority = Some(authority);
        self
    }

    /// Sets the authority of proxies that name users in headers (default: a new one).
    ///
    /// The authorities are published in the ConfigMap `kube-system/extension-apiserver-authentication` if one of them is set, or if the
    /// cluster listens from the start.
    pub fn front_proxy_authority(mut self, authority: CertificateAuthority) -> Self {
        self.proxies = Some(authority);
        self
    }

    /// Accepts certificates of users that these authorities (PEM) have signed, besides those of the cluster's own.
    pub fn client_ca(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.server = self.server.client_ca(pem);
        self
    }

    /// Sets the keys of service-account tokens (default: new ones, so tokens end with the cluster).
    pub fn service_account_keys(mut self, keys: ServiceAccountKeys) -> Self {
        self.service_account_keys = Some(keys);
        self
    }

    /// Sets services that webhooks are called at without a network: code in this process, or addresses of this machine.
    pub fn services(mut self, services: Services) -> Self {
        self.server = self.server.services(services);
        self
    }

    /// Changes further settings of the API server: admission plugins, the authorizer, conversions, audit, and everything
    /// about authentication.
    pub fn api_server(
        mut self,
        configure: impl FnOnce(KubeApiServerBuilder) -> KubeApiServerBuilder,
    ) -> Self {
        self.server = configure(self.server);
        self
    }

    /// Starts the cluster. It is ready when this returns.
    ///
    /// # Errors
    ///
    /// Fails if the address cannot be listened on, or the store rejects the initial objects.
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime.
    pub async fn start(self) -> Result<Cluster, Error> {
        // The directory is locked before the address is bound.
        let mut kept = None;
        let mut durable = None;
        let storage = match (self.data_dir, self.storage) {
            (Some(directory), _) => {
                let path = directory.path().to_owned();
                let holder = self.listen.map(|address| address.to_string());
                let store = directory
                    .open(self.clock.clone(), holder.unwrap_or_default())
                    .await?;
                kept = Some(KeptKeys::of(&path)?);
                durable = Some(OpenStore(store.clone()));
                store.into()
            }
            (None, Some(storage)) => storage,
            (None, None) => MemoryStore::starting_at(FIRST_REVISION).into(),
        };
        let listener = match self.listen {
            Some(address) => Some(bind(address).await?),
            None => None,
        };
        let now = SystemTime::now();
        // Without a socket, nobody outside can use authorities that are generated here.
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
        if self.controllers.has(Name::ServiceAccount) {
            server = server.enable_admission_plugins(service_account_plugin());
        }
        let built = server.build().await;
        let server = built.map_err(|status| Error::Server(Box::new(status)))?;
        let maintenance = storage.maintenance.map(Background::spawn);
        let endpoint = match listener {
            Some(listener) => {
                let service = server.server().clone();
                let serving = Serving {
                    name: &self.name,
                    credential: token.clone().map(Credential::Token),
                    certificate: &self.certificate,
                    authority: &authority,
                    client_authorities: server.client_authorities(),
                    peer_addresses: server.server().is_audited(),
                };
                Some(Endpoint::start(listener, service, serving)?)
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
        let scheduler = match self.scheduler {
            SchedulerChoice::This(scheduler) => Some(*scheduler),
            SchedulerChoice::WithNodes => self.nodes.as_ref().map(|_| Scheduler::new()),
            SchedulerChoice::Off => None,
        };
        let is_idle = controllers.is_empty() && scheduler.is_none() && self.nodes.is_none();
        let controllers = match is_idle {
            true => None,
            false => {
                let token = controller_token.as_deref();
                let client = identity::client(server.server().clone(), token);
                let manager = controllers.manager(client)?;
                if let Some(scheduler) = &scheduler {
                    scheduler.add_to(&manager)?;
                }
                if let Some(nodes) = &self.nodes {
                    nodes.add_to(&manager)?;
                }
                Some(RunningControllers::start(manager, self.clock))
            }
        };
        if let Some(nodes) = &self.nodes {
            nodes.ready().await;
        }
        Ok(Cluster {
            client: identity::client(server.server().clone(), token.as_deref()),
            name: self.name,
            server,
            token,
            certificate: self.certificate,
            authority,
            front_proxy_authority: proxies,
            endpoint,
            controllers,
            nodes: self.nodes,
            _maintenance: maintenance,
            durable,
        })
    }
}

/// Returns the plugin that gives pods their accounts.
fn service_account_plugin() -> Option<PluginName> {
    "ServiceAccount".parse().ok()
}
