//! [`ManagerBuilder`]: how a manager is made that differs from the usual one.

use std::{collections::HashMap, sync::Arc, time::Duration};

use kube::{Resource, core::ApiResource};
use kubewright_informer::{
    Namespaces, Scope, SharedInformerFactory, Transform, factory::FactoryBuilder,
};
use kubewright_metrics::Registry;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use super::{ControllerDefaults, Manager, ManagerError, Shared, groups::Groups};
use crate::{
    client::{
        Client, READ_TIMEOUT,
        caches::{self, Caches},
        writes::Writes,
    },
    health::{Checks, Ping},
    leader_election::{ElectionConfig, LeaderElector},
    metrics::{ControllerFamilies, ElectionMetrics},
};

/// How long a leader may go without a renewal beyond its lease before it is unhealthy.
const LEADER_TOLERANCE: Duration = Duration::from_secs(20);

/// Makes a [`Manager`].
#[must_use]
pub struct ManagerBuilder {
    client: kube::Client,
    factory: FactoryBuilder,
    scopes: HashMap<String, Scope>,
    namespaces: Option<Namespaces>,
    election: Option<ElectionConfig>,
    registry: Registry,
    shutdown_timeout: Option<Duration>,
    sync_timeout: Duration,
    read_timeout: Duration,
    read_own_writes: bool,
    defaults: ControllerDefaults,
}

impl ManagerBuilder {
    pub(super) fn new(client: kube::Client) -> Self {
        Self {
            factory: SharedInformerFactory::builder(client.clone()),
            client,
            scopes: HashMap::new(),
            namespaces: None,
            election: None,
            registry: Registry::new(),
            shutdown_timeout: Some(Duration::from_secs(30)),
            sync_timeout: Duration::from_secs(120),
            read_timeout: READ_TIMEOUT,
            read_own_writes: true,
            defaults: ControllerDefaults::default(),
        }
    }

    /// What all caches hold, and how: namespaces, labels, fields, compression, transforms.
    pub fn caches(mut self, configure: impl FnOnce(FactoryBuilder) -> FactoryBuilder) -> Self {
        self.factory = configure(self.factory);
        self
    }

    /// Caches objects in these namespaces only. They can be changed while the manager runs:
    /// [`Manager::set_namespaces`].
    pub fn namespaces<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.namespaces = Some(Namespaces::these(names));
        self
    }

    /// What the cache of a type holds.
    pub fn scope_of<K: Resource<DynamicType = ()>>(self, scope: Scope) -> Self {
        self.scope_of_kind(&ApiResource::erase::<K>(&()), scope)
    }

    /// What the cache of a kind holds that is known at run time.
    pub fn scope_of_kind(mut self, resource: &ApiResource, scope: Scope) -> Self {
        self.scopes.insert(caches::name(resource), scope);
        self
    }

    /// What is done to the objects of a type before they are cached.
    pub fn transform_of<K: Resource<DynamicType = ()>>(mut self, transform: Transform) -> Self {
        let name = caches::name(&ApiResource::erase::<K>(&()));
        self.factory = self.factory.transform_of(name, transform);
        self
    }

    /// Only one of several processes leads.
    pub fn leader_election(mut self, config: ElectionConfig) -> Self {
        self.election = Some(config);
        self
    }

    /// Where metrics are counted.
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// How long the end may take; 30 s unless said otherwise. What has not ended then is dropped.
    pub fn graceful_shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.shutdown_timeout = Some(timeout);
        self
    }

    /// The end may take as long as it likes.
    pub fn wait_for_shutdown(mut self) -> Self {
        self.shutdown_timeout = None;
        self
    }

    /// How long the caches may take to be filled at the start; 2 minutes unless said otherwise.
    pub fn cache_sync_timeout(mut self, timeout: Duration) -> Self {
        self.sync_timeout = timeout;
        self
    }

    /// How long a read waits for a cache; 10 s unless said otherwise.
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.read_timeout = timeout;
        self
    }

    /// Whether reads wait until the cache shows what the manager's clients have written. They do unless said otherwise.
    pub fn read_your_writes(mut self, on: bool) -> Self {
        self.read_own_writes = on;
        self
    }

    /// How controllers work that do not say otherwise.
    pub fn controller_defaults(mut self, defaults: ControllerDefaults) -> Self {
        self.defaults = defaults;
        self
    }

    /// The manager.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn build(mut self) -> Result<Manager, ManagerError> {
        let Some(config) = self.election.take() else {
            return Ok(self.finish(None));
        };
        let metrics = ElectionMetrics::register(&self.registry);
        let elector = LeaderElector::new(self.client.clone(), config)?.metrics(metrics);
        Ok(self.finish(Some(elector)))
    }

    /// The manager, without an election.
    pub(super) fn without_election(self) -> Manager {
        self.finish(None)
    }

    fn finish(self, elector: Option<LeaderElector>) -> Manager {
        let caches = Caches::new(self.factory.build(), self.scopes, self.namespaces);
        let writes = self.read_own_writes.then(Writes::default);
        let client = Client::new(
            self.client.clone(),
            caches.clone(),
            writes,
            self.read_timeout,
        );
        let healthz = Checks::new();
        healthz.add("ping", Ping);
        let leader_client = match &elector {
            Some(elector) => {
                healthz.add("leader", elector.health(LEADER_TOLERANCE));
                client.writing_through(elector.fence().guard(self.client))
            }
            None => client.clone(),
        };
        let (sender, errors) = mpsc::unbounded_channel();
        let manager = Manager(Arc::new(Shared {
            client,
            leader_client,
            caches,
            groups: Arc::new(Groups::new(sender)),
            errors: Mutex::new(Some(errors)),
            has_election: elector.is_some(),
            elector: Mutex::new(elector),
            elected: watch::Sender::new(false),
            controllers: Mutex::default(),
            pulse: Arc::default(),
            families: ControllerFamilies::register(&self.registry),
            registry: self.registry,
            healthz,
            readyz: Checks::new(),
            shutdown_timeout: self.shutdown_timeout,
            sync_timeout: self.sync_timeout,
            defaults: self.defaults,
            ended: watch::Sender::new(false),
        }));
        manager.add_checks();
        manager
    }
}
