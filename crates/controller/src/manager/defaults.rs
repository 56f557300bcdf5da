//! [`ControllerDefaults`]: how controllers work unless they say otherwise.

use std::{collections::HashMap, time::Duration};

use kube::{Resource, core::ApiResource};

/// How the controllers of a manager work unless they say otherwise. What a controller's builder says goes before.
#[derive(Clone, Debug)]
#[must_use]
pub struct ControllerDefaults {
    pub(crate) workers: usize,
    /// By `ReplicaSet.apps`.
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
    /// One request at a time, no timeout, two minutes for the caches, panics contained, only while this process leads.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many requests run at once.
    pub fn max_concurrent_reconciles(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// How many requests run at once in controllers for that type.
    pub fn max_concurrent_reconciles_of<K: Resource<DynamicType = ()>>(
        self,
        workers: usize,
    ) -> Self {
        let resource = ApiResource::erase::<K>(&());
        self.max_concurrent_reconciles_of_kind(&group_kind(&resource), workers)
    }

    /// How many requests run at once in controllers for that kind: `ReplicaSet.apps`, `ConfigMap`.
    pub fn max_concurrent_reconciles_of_kind(mut self, group_kind: &str, workers: usize) -> Self {
        self.workers_of.insert(group_kind.to_owned(), workers);
        self
    }

    /// How long a reconcile may take.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How long the sources of a controller may take to show everything there is.
    pub fn cache_sync_timeout(mut self, timeout: Duration) -> Self {
        self.sync_timeout = timeout;
        self
    }

    /// Whether a panic of a reconciler is a failure that is tried again. Otherwise it ends the manager.
    pub fn recover_panic(mut self, recover: bool) -> Self {
        self.recover_panic = recover;
        self
    }

    /// Whether controllers work only while this process leads.
    pub fn needs_leader_election(mut self, needed: bool) -> Self {
        self.needs_leader_election = needed;
        self
    }

    /// Whether controllers fill their queues before this process leads.
    pub fn warm_up(mut self, warm_up: bool) -> Self {
        self.warm_up = warm_up;
        self
    }

    /// How many requests run at once in a controller for that kind.
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
