//! [`KubeApiServer`]: an [`ApiServer`] that serves the API of a Kubernetes cluster.

use std::sync::Arc;

use kubewright_apiserver::{
    admission::{AdmissionChain, NamespaceLifecycle, Plugin},
    auth::{AlwaysAllow, Anonymous, Authenticator, Authorizer},
    clock::{SharedClock, SystemClock},
    server::ApiServer,
};
use kubewright_machinery::Status;
use kubewright_store::{MemoryStore, Revision, Store};

use crate::{
    admission,
    crds::{Definitions, in_process::Conversions},
    kinds::{self, Environment, namespaces},
    openapi::BuiltInDescriptions,
};

/// The revision at which a new store starts. It is not 0, because clients give resourceVersion 0 a special meaning.
pub const FIRST_REVISION: Revision = Revision(1);

/// An API server with the built-in kinds of Kubernetes. Clones share the server and its store.
#[derive(Clone)]
pub struct KubeApiServer {
    server: ApiServer,
    store: Arc<dyn Store>,
}

/// Configures and builds a [`KubeApiServer`].
pub struct KubeApiServerBuilder {
    store: Option<Arc<dyn Store>>,
    clock: SharedClock,
    authenticator: Arc<dyn Authenticator>,
    authorizer: Arc<dyn Authorizer>,
    plugins: Vec<Arc<dyn Plugin>>,
    address: String,
    conversions: Conversions,
}

impl KubeApiServer {
    /// Returns a builder whose defaults are an in-memory store, anonymous authentication and no authorization.
    pub fn builder() -> KubeApiServerBuilder {
        KubeApiServerBuilder {
            store: None,
            clock: Arc::new(SystemClock),
            authenticator: Arc::new(Anonymous),
            authorizer: Arc::new(AlwaysAllow),
            plugins: Vec::new(),
            address: String::new(),
            conversions: Conversions::default(),
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

    /// Sets the authenticator (default: everybody is anonymous).
    #[must_use]
    pub fn authenticator(mut self, authenticator: Arc<dyn Authenticator>) -> Self {
        self.authenticator = authenticator;
        self
    }

    /// Sets the authorizer (default: allow everything).
    #[must_use]
    pub fn authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.authorizer = authorizer;
        self
    }

    /// Adds an admission plugin. Plugins run in the order in which they are added, after the in-tree plugins and before
    /// ResourceQuota. A custom object that a plugin has changed is pruned and defaulted by its schema again.
    #[must_use]
    pub fn plugin(mut self, plugin: Arc<dyn Plugin>) -> Self {
        self.plugins.push(plugin);
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

    /// Registers every kind, serves the CRDs that the store holds, and creates the namespaces and priority classes of a new
    /// cluster.
    ///
    /// # Errors
    ///
    /// Returns the [`Status`] of the first read or write of the store that fails.
    pub async fn build(self) -> Result<KubeApiServer, Status> {
        let store = self
            .store
            .unwrap_or_else(|| Arc::new(MemoryStore::starting_at(FIRST_REVISION)));
        let environment = Environment {
            store: store.clone(),
            clock: self.clock,
            authenticator: self.authenticator.clone(),
            authorizer: self.authorizer.clone(),
            conversions: self.conversions,
        };
        let lifecycle = NamespaceLifecycle::new(Arc::new(namespaces::Stored::new(store.clone())));
        let mut chain = vec![Arc::new(lifecycle) as _];
        chain.extend(admission::plugins(&environment));
        // None of ours changes declared kinds.
        let spares = self.plugins.is_empty();
        chain.extend(self.plugins);
        chain.push(admission::quota(&environment));
        let chain = match spares {
            true => AdmissionChain::new(chain).sparing_declared_kinds(),
            false => AdmissionChain::new(chain),
        };
        let registry = kinds::registry(&environment);
        let (registry, definitions) = Definitions::install(&environment, registry);
        let server = ApiServer::builder(registry)
            .authenticator(self.authenticator)
            .authorizer(self.authorizer)
            .admission(chain)
            .descriptions(Arc::new(BuiltInDescriptions))
            .address(self.address)
            .build();
        definitions.start(&server).await?;
        namespaces::bootstrap(&server).await?;
        admission::priority::bootstrap(&server).await?;
        Ok(KubeApiServer { server, store })
    }
}
