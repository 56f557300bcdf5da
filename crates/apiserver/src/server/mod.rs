//! The server: a `tower::Service` over a registry of resources.
//!
//! The way of a request: panic guard, `RequestInfo`, authentication, authorization, then discovery, a health check or a verb;
//! headers and warnings on the way out. [`ApiServer`] is cheap to clone and has no socket of its own: hand it to
//! [`crate::serve::serve`], or to an in-process client.

mod deadline;
mod dispatch;
mod service;

use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;

use crate::{
    admission::AdmissionChain,
    auth::{AlwaysAllow, Anonymous, Authenticator, Authorizer},
    discovery::Discovery,
    endpoints::{HealthChecks, Metrics, VersionInfo},
    openapi::{Descriptions, OpenApi, Undescribed},
    registry::Registry,
};

/// An API server. Clones share everything.
#[derive(Clone)]
pub struct ApiServer {
    shared: Arc<Shared>,
}

struct Shared {
    serving: ArcSwap<Serving>,
    authenticator: Arc<dyn Authenticator>,
    authorizer: Arc<dyn Authorizer>,
    admission: AdmissionChain,
    health: HealthChecks,
    metrics: Arc<Metrics>,
    version: VersionInfo,
    descriptions: Arc<dyn Descriptions>,
    address: String,
}

/// A server that may be gone: for what the server itself holds.
#[derive(Clone)]
pub struct WeakApiServer(Weak<Shared>);

/// A registry and the documents that belong to it: a request sees one or the other, never a mixture.
struct Serving {
    registry: Arc<Registry>,
    discovery: Discovery,
    openapi: OpenApi,
}

/// Puts an [`ApiServer`] together.
pub struct ApiServerBuilder {
    registry: Registry,
    authenticator: Arc<dyn Authenticator>,
    authorizer: Arc<dyn Authorizer>,
    admission: AdmissionChain,
    health: HealthChecks,
    metrics: Arc<Metrics>,
    version: VersionInfo,
    descriptions: Arc<dyn Descriptions>,
    address: String,
}

impl ApiServer {
    /// A server of these resources, open to everybody until said otherwise.
    pub fn builder(registry: Registry) -> ApiServerBuilder {
        ApiServerBuilder {
            registry,
            authenticator: Arc::new(Anonymous),
            authorizer: Arc::new(AlwaysAllow),
            admission: AdmissionChain::default(),
            health: HealthChecks::new(),
            metrics: Arc::new(Metrics::new(jiff::Timestamp::now())),
            version: VersionInfo::default(),
            descriptions: Arc::new(Undescribed),
            address: String::new(),
        }
    }

    /// Serves other resources from now on. Requests under way finish with the old ones.
    pub fn set_registry(&self, registry: Registry) {
        let shared = &self.shared;
        let serving = Serving::new(registry, &shared.descriptions, &shared.version);
        shared.serving.store(Arc::new(serving));
    }

    /// A handle that does not keep it alive.
    pub fn downgrade(&self) -> WeakApiServer {
        WeakApiServer(Arc::downgrade(&self.shared))
    }

    /// What is served now.
    pub fn registry(&self) -> Arc<Registry> {
        self.shared.serving.load().registry.clone()
    }

    /// The metrics it keeps.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.shared.metrics
    }
}

impl WeakApiServer {
    /// The server, if it is there still.
    pub fn upgrade(&self) -> Option<ApiServer> {
        self.0.upgrade().map(|shared| ApiServer { shared })
    }
}

impl Serving {
    fn new(
        registry: Registry,
        descriptions: &Arc<dyn Descriptions>,
        version: &VersionInfo,
    ) -> Self {
        let registry = Arc::new(registry);
        let version = format!("{}.{}", version.major, version.minor);
        Self {
            discovery: Discovery::new(registry.clone()),
            openapi: OpenApi::new(registry.clone(), descriptions.clone(), version),
            registry,
        }
    }
}

impl ApiServerBuilder {
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

    /// Who has the last word on writes.
    #[must_use]
    pub fn admission(mut self, admission: AdmissionChain) -> Self {
        self.admission = admission;
        self
    }

    /// What `/livez` and `/readyz` check.
    #[must_use]
    pub fn health(mut self, health: HealthChecks) -> Self {
        self.health = health;
        self
    }

    /// Where requests are counted.
    #[must_use]
    pub fn metrics(mut self, metrics: Arc<Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// What `/version` says.
    #[must_use]
    pub fn version(mut self, version: VersionInfo) -> Self {
        self.version = version;
        self
    }

    /// What schemas say to people; nothing unless given.
    #[must_use]
    pub fn descriptions(mut self, descriptions: Arc<dyn Descriptions>) -> Self {
        self.descriptions = descriptions;
        self
    }

    /// The host and port by which clients know the server.
    #[must_use]
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.address = address.into();
        self
    }

    /// Done.
    pub fn build(self) -> ApiServer {
        let serving = Serving::new(self.registry, &self.descriptions, &self.version);
        let shared = Shared {
            serving: ArcSwap::from_pointee(serving),
            authenticator: self.authenticator,
            authorizer: self.authorizer,
            admission: self.admission,
            health: self.health,
            metrics: self.metrics,
            version: self.version,
            descriptions: self.descriptions,
            address: self.address,
        };
        ApiServer {
            shared: Arc::new(shared),
        }
    }
}
