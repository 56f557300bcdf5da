//! [`ControllerDefaults`]: default settings of controllers.

use std::{collections::HashMap, time::Duration};

use kube::{Resource, core::ApiResource};

/// The default settings of a manager's controllers. A controller's builder overrides them.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// use std::time::Duration;
/// use kubewright_controller::{ControllerDefaults, Manager};
///
/// let defaults = ControllerDefaults::new().max_concurrent_reconciles(4).timeout(Duration::from_secs(60));
/// let manager = Manager::builder(cluster.client()).controller_defaults(defaults).build().unwrap();
/// # let _ = manager;
/// # });
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ControllerDefaults {
    pub(crate) workers: usize,
    /// By kind and group: `ReplicaSet.apps`.
    pub(crate) workers_of: HashMap<String, usize>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) sync_timeout: Duration,
    pub(crate) recover_panic: bool,
    pub(crate) needs_leader_election: bool,
    pub(crate) warm_up: bool,
}

impl Default for ControllerDefaults {
    fn default() -> Self {
        Self {
            workers: 1,
            workers_of: HashMap::new(),
            timeout: None,
            sync_timeout: Duration::from_secs(120),
            recover_panic: true,
            needs_leader_election: true,
            warm_up: false,
        }
    }
}

impl ControllerDefaults {
    /// Creates the defaults: one reconcile at a time, no timeout, two minutes for the caches, panics recovered, leader
    /// election needed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of concurrent reconciles.
    pub fn max_concurrent_reconciles(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Sets the number of concurrent reconciles in controllers for that type.
    pub fn max_concurrent_reconciles_of<K: Resource<DynamicType = ()>>(
        self,
        workers: usize,
    ) -> Self {
        let resource = ApiResource::erase::<K>(&());
        self.max_concurrent_reconciles_of_kind(&group_kind(&resource), workers)
    }

    /// Sets the number of concurrent reconciles in controllers for that kind: `ReplicaSet.apps`, `ConfigMap`.
    pub fn max_concurrent_reconciles_of_kind(mut self, group_kind: &str, workers: usize) -> Self {
        self.workers_of.insert(group_kind.to_owned(), workers);
        self
    }

    /// Sets the timeout of a reconcile.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how long the sources of a controller may take to sync.
    pub fn cache_sync_timeout(mut self, timeout: Duration) -> Self {
        self.sync_timeout = timeout;
        self
    }

    /// Sets whether a panic of a reconciler counts as a failure and is retried. Otherwise it ends the manager.
    pub fn recover_panic(mut self, recover: bool) -> Self {
        self.recover_panic = recover;
        self
    }

    /// Sets whether controllers work only while this process leads.
    pub fn needs_leader_election(mut self, needed: bool) -> Self {
        self.needs_leader_election = needed;
        self
    }

    /// Sets whether controllers fill their queues before this process leads.
    pub fn warm_up(mut self, warm_up: bool) -> Self {
        self.warm_up = warm_up;
        self
    }

    /// Returns the number of concurrent reconciles of a controller for that kind.
    pub(crate) fn workers(&self, resource: Option<&ApiResource>) -> usize {
        let of_kind = resource.and_then(|resource| self.workers_of.get(&group_kind(resource)));
        of_kind.copied().unwrap_or(self.workers)
    }
}

fn group_kind(resource: &ApiResource) -> String {
    if resource.group.is_empty() {
        resource.kind.clone()
    } else {
        format!("{}.{}", resource.kind, resource.group)
    }
}
