//! [`ManagerBuilder`]: a manager with settings that differ from the default.

use std::{collections::HashMap, sync::Arc, time::Duration};

use kube::{Resource, core::ApiResource};
use kubewright_informer::{
    Namespaces, Scope, SharedInformerFactory, SharedInformerFactoryBuilder, Transform,
};
use kubewright_metrics::Registry;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use super::{
    ControllerDefaults, Manager, ManagerError, Shared, groups::Groups, verified::Verified,
};
use crate::{
    client::{
        Client, READ_TIMEOUT,
        caches::{self, Caches},
        writes::Writes,
    },
    clock::SharedClock,
    events::{EventApi, Events},
    health::{Checks, Ping},
    leader_election::{ElectionConfig, LeaderElector},
    metrics::{ControllerFamilies, ElectionMetrics},
    run::{Finished, Tracking},
};

/// The tolerance for the age of a leader's last renewal, beyond the lease duration.
const LEADER_TOLERANCE: Duration = Duration::from_secs(20);

/// Builds a [`Manager`].
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// use std::time::Duration;
/// use kubewright_controller::{Manager, leader_election::ElectionConfig};
///
/// let manager = Manager::builder(cluster.client())
///     .namespaces(["shop"])
///     .leader_election(ElectionConfig::new("shop-operator", "shop"))
///     .graceful_shutdown_timeout(Duration::from_secs(10))
///     .build()
///     .unwrap();
/// assert!(manager.takes_part_in_election());
/// # });
/// ```
#[must_use]
pub struct ManagerBuilder {
    client: kube::Client,
    factory: SharedInformerFactoryBuilder,
    scopes: HashMap<String, Scope>,
    namespaces: Option<Namespaces>,
    election: Option<ElectionConfig>,
    registry: Registry,
    shutdown_timeout: Option<Duration>,
    sync_timeout: Duration,
    read_timeout: Duration,
    read_own_writes: bool,
    field_manager: Option<String>,
    event_api: EventApi,
    defaults: ControllerDefaults,
    tracking: Tracking,
    name: Option<String>,
}

impl ManagerBuilder {
    pub(super) fn new(client: kube::Client) -> Self {
        let tracking = Tracking::default();
        Self {
            factory: SharedInformerFactory::builder(tracking.observe(client.clone())),
            tracking,
            name: None,
            client,
            scopes: HashMap::new(),
            namespaces: None,
            election: None,
            registry: Registry::new(),
            shutdown_timeout: Some(Duration::from_secs(30)),
            sync_timeout: Duration::from_secs(120),
            read_timeout: READ_TIMEOUT,
            read_own_writes: true,
            field_manager: None,
            event_api: EventApi::default(),
            defaults: ControllerDefaults::default(),
        }
    }

    /// Configures all caches: namespaces, labels, fields, compression, transforms.
    pub fn caches(
        mut self,
        configure: impl FnOnce(SharedInformerFactoryBuilder) -> SharedInformerFactoryBuilder,
    ) -> Self {
        self.factory = configure(self.factory);
        self
    }

    /// Restricts the caches to these namespaces, which can be changed while the manager runs:
    /// [`Manager::set_namespaces`].
    pub fn namespaces<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.namespaces = Some(Namespaces::these(names));
        self
    }

    /// Restricts the cache of a type.
    pub fn scope_of<K: Resource<DynamicType = ()>>(self, scope: Scope) -> Self {
        self.scope_of_kind(&ApiResource::erase::<K>(&()), scope)
    }

    /// Restricts the cache of a dynamically named kind.
    pub fn scope_of_kind(mut self, resource: &ApiResource, scope: Scope) -> Self {
        self.scopes.insert(caches::name(resource), scope);
        self
    }

    /// Transforms the objects of a type before they are cached.
    pub fn transform_of<K: Resource<DynamicType = ()>>(mut self, transform: Transform) -> Self {
        let name = caches::name(&ApiResource::erase::<K>(&()));
        self.factory = self.factory.transform_of(name, transform);
        self
    }

    /// Enables leader election.
    pub fn leader_election(mut self, config: ElectionConfig) -> Self {
        self.election = Some(config);
        self
    }

    /// Sets the registry of metrics.
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Sets how long a shutdown may take. Defaults to 30 s; runnables that have not ended then are dropped.
    pub fn graceful_shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.shutdown_timeout = Some(timeout);
        self
    }

    /// Lets a shutdown take as long as necessary.
    pub fn wait_for_shutdown(mut self) -> Self {
        self.shutdown_timeout = None;
        self
    }

    /// Sets how long the caches may take to sync at startup. Defaults to 2 minutes.
    pub fn cache_sync_timeout(mut self, timeout: Duration) -> Self {
        self.sync_timeout = timeout;
        self
    }

    /// Sets how long a read waits for a cache. Defaults to 10 s.
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.read_timeout = timeout;
        self
    }

    /// Sets whether reads wait until the cache shows what the manager's clients have written, which is the default.
    pub fn read_your_writes(mut self, on: bool) -> Self {
        self.read_own_writes = on;
        self
    }

    /// Sets the field manager of writes through the manager's clients. Defaults to the name of the controller that
    /// writes.
    pub fn field_manager(mut self, name: impl Into<String>) -> Self {
        self.field_manager = Some(name.into());
        self
    }

    /// Sets the name of the manager in ledgers, which begins the ids of its runs. Defaults to the field manager, or `manager`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the API that the events of the controllers are written to. Defaults to `events.k8s.io/v1`.
    pub fn event_api(mut self, api: EventApi) -> Self {
        self.event_api = api;
        self
    }

    /// Sets the defaults of controllers.
    pub fn controller_defaults(mut self, defaults: ControllerDefaults) -> Self {
        self.defaults = defaults;
        self
    }

    /// Builds the manager.
    ///
    /// # Errors
    ///
    /// Fails if the election's settings are invalid.
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime.
    pub fn build(mut self) -> Result<Manager, ManagerError> {
        let Some(config) = self.election.take() else {
            return Ok(self.finish(None));
        };
        let metrics = ElectionMetrics::register(&self.registry);
        let elector = LeaderElector::new(self.client.clone(), config)?.metrics(metrics);
        Ok(self.finish(Some(elector)))
    }

    /// Builds a manager without an election.
    pub(super) fn without_election(self) -> Manager {
        self.finish(None)
    }

    fn finish(self, elector: Option<LeaderElector>) -> Manager {
        let caches = Caches::new(self.factory.build(), self.scopes, self.namespaces);
        let writes = self
            .read_own_writes
            .then(|| Writes::new(self.tracking.clone()));
        let mut client = Client::new(
            self.client.clone(),
            caches.clone(),
            writes,
            self.tracking.clone(),
            self.read_timeout,
        );
        if let Some(name) = &self.field_manager {
            client = client.with_field_manager(name);
        }
        let healthz = Checks::new();
        healthz.add("ping", Ping);
        let leader_client = match &elector {
            Some(elector) => {
                healthz.add("leader", elector.health(LEADER_TOLERANCE));
                client.writing_through(elector.fence().guard(self.client.clone()))
            }
            None => client.clone(),
        };
        let (sender, errors) = mpsc::unbounded_channel();
        let groups = Arc::new(Groups::new(sender));
        let pulse = Arc::default();
        let clock = SharedClock::default();
        let name = self.name.as_deref().or(self.field_manager.as_deref());
        let name = name.unwrap_or("manager");
        let finished = Finished::new(name, clock.clone());
        let events = Events::new(
            self.client,
            self.event_api,
            clock.clone(),
            Arc::clone(&groups),
            Arc::clone(&pulse),
        );
        self.registry.register(events.stats());
        let manager = Manager(Arc::new(Shared {
            client,
            leader_client,
            caches,
            groups,
            errors: Mutex::new(Some(errors)),
            has_election: elector.is_some(),
            elector: Mutex::new(elector),
            elected: watch::Sender::new(false),
            controllers: Mutex::default(),
            pulse,
            families: ControllerFamilies::register(&self.registry),
            registry: self.registry,
            healthz,
            readyz: Checks::of("readyz"),
            shutdown_timeout: self.shutdown_timeout,
            sync_timeout: self.sync_timeout,
            defaults: self.defaults,
            ended: watch::Sender::new(false),
            clock,
            events,
            verified: Verified::default(),
            finished,
            tracking: self.tracking,
        }));
        manager.add_checks();
        manager
    }
}
