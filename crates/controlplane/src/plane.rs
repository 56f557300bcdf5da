//! The control plane: an [`ApiServer`] with everything that a cluster's API has.

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

/// Where a new store begins, so that no list is ever of revision 0, which means something else to clients.
pub const FIRST: Revision = Revision(1);

/// A running control plane. Clones share it.
#[derive(Clone)]
pub struct ControlPlane {
    server: ApiServer,
    store: Arc<dyn Store>,
}

/// Puts a [`ControlPlane`] together.
pub struct ControlPlaneBuilder {
    store: Option<Arc<dyn Store>>,
    clock: SharedClock,
    authenticator: Arc<dyn Authenticator>,
    authorizer: Arc<dyn Authorizer>,
    plugins: Vec<Arc<dyn Plugin>>,
    address: String,
    conversions: Conversions,
}

impl ControlPlane {
    /// A control plane in memory, open to everybody, until said otherwise.
    pub fn builder() -> ControlPlaneBuilder {
        ControlPlaneBuilder {
            store: None,
            clock: Arc::new(SystemClock),
            authenticator: Arc::new(Anonymous),
            authorizer: Arc::new(AlwaysAllow),
            plugins: Vec::new(),
            address: String::new(),
            conversions: Conversions::default(),
        }
    }

    /// The server: a `tower::Service`, to be called or served.
    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    /// Where its objects live.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }
}

impl ControlPlaneBuilder {
    /// Where its objects live; in memory unless said otherwise.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// The time.
    #[must_use]
    pub fn clock(mut self, clock: SharedClock) -> Self {
        self.clock = clock;
        self
    }

    /// Who is who.
    #[must_use]
    pub fn authenticator(mut self, authenticator: Arc<dyn Authenticator>) -> Self {
        self.authenticator = authenticator;
        self
    }

    /// Who may what.
    #[must_use]
    pub fn authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.authorizer = authorizer;
        self
    }

    /// An admission plugin besides those of the control plane, asked after them and before the quota. What it makes of an
    /// object of a declared kind is brought in line with the schema: unknown fields go, defaults come.
    #[must_use]
    pub fn plugin(mut self, plugin: Arc<dyn Plugin>) -> Self {
        self.plugins.push(plugin);
        self
    }

    /// The host and port by which clients know the server.
    #[must_use]
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.address = address.into();
        self
    }

    /// Functions that convert between versions of declared kinds, in place of what definitions say.
    #[must_use]
    pub fn conversions(mut self, conversions: Conversions) -> Self {
        self.conversions = conversions;
        self
    }

    /// Starts it: registers every kind and makes the namespaces that a cluster begins with.
    pub async fn build(self) -> Result<ControlPlane, Status> {
        let store = self
            .store
            .unwrap_or_else(|| Arc::new(MemoryStore::starting_at(FIRST)));
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
        Ok(ControlPlane { server, store })
    }
}
