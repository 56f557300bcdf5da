//! [`ClusterBuilder`]: the options of a cluster.

use std::{net::SocketAddr, sync::Arc};

use kubewright_apiserver::{SharedClock, auth::Authenticator};
use kubewright_builtin_controllers::Controllers;
use kubewright_kube_apiserver::{FIRST_REVISION, KubeApiServer, KubeApiServerBuilder};
use kubewright_store::MemoryStore;

use crate::{
    Cluster, Endpoint, Error, Storage, Tokens,
    cluster::{Background, RunningControllers},
    endpoint::{bind, local_address},
    identity,
};

/// Builds a [`Cluster`]. See the [crate documentation](crate) for an example.
#[must_use]
pub struct ClusterBuilder {
    name: String,
    listen: Option<SocketAddr>,
    controllers: Controllers,
    storage: Option<Storage>,
    access: Access,
    server: KubeApiServerBuilder,
}

/// The way a cluster identifies its users.
enum Access {
    Tokens(Tokens),
    Custom(Arc<dyn Authenticator>),
}

impl ClusterBuilder {
    pub(crate) fn new() -> Self {
        Self {
            name: "kubewright".to_owned(),
            listen: None,
            controllers: Controllers::none(),
            storage: None,
            access: Access::Tokens(Tokens::generate()),
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

    /// Sets the built-in controllers to run. Defaults to none.
    pub fn controllers(mut self, controllers: Controllers) -> Self {
        self.controllers = controllers;
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

    /// Sets the clock that timestamps are taken from. Defaults to the system's.
    pub fn clock(mut self, clock: SharedClock) -> Self {
        self.server = self.server.clock(clock);
        self
    }

    /// Changes further settings of the API server: admission plugins, the authorizer, conversions.
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
        let listener = match self.listen {
            Some(address) => Some(bind(address).await?),
            None => None,
        };
        let storage = match self.storage {
            Some(storage) => storage,
            None => MemoryStore::starting_at(FIRST_REVISION).into(),
        };
        let (authenticator, token, controller_token): (Arc<dyn Authenticator>, _, _) =
            match self.access {
                Access::Custom(authenticator) => (authenticator, None, None),
                Access::Tokens(mut tokens) => {
                    let controller_token = tokens.add_controller_manager();
                    let token = tokens.first().to_owned();
                    let file = Arc::new(tokens.into_file());
                    (file, Some(token), Some(controller_token))
                }
            };
        let mut server = self
            .server
            .store(storage.store)
            .authenticator(authenticator);
        if let Some(listener) = &listener {
            server = server.address(local_address(listener)?.to_string());
        }
        let built = server.build().await;
        let server = built.map_err(|status| Error::Server(Box::new(status)))?;
        let maintenance = storage.maintenance.map(Background::spawn);
        let endpoint = match listener {
            Some(listener) => {
                let service = server.server().clone();
                let endpoint = Endpoint::start(listener, service, &self.name, token.clone())?;
                Some(endpoint)
            }
            None => None,
        };
        let mut controllers = self.controllers;
        if let Some(endpoint) = &endpoint {
            controllers = controllers.root_ca(endpoint.ca_pem());
        }
        let controllers = match controllers.is_empty() {
            true => None,
            false => {
                let token = controller_token.as_deref();
                let client = identity::client(server.server().clone(), token);
                Some(RunningControllers::start(controllers, client)?)
            }
        };
        Ok(Cluster {
            client: identity::client(server.server().clone(), token.as_deref()),
            name: self.name,
            server,
            token,
            endpoint,
            controllers,
            _maintenance: maintenance,
        })
    }
}
