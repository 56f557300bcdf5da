//! [`Builder`]: what a controller watches, and how it works.

use std::{sync::Arc, time::Duration};

use kube::{Resource, core::ApiResource};
use kubewright_workqueue::{ItemExponentialFailureRateLimiter, RateLimiter, WorkQueue};
use serde::de::DeserializeOwned;

use crate::{
    controller::{Controller, Parts},
    handler::{Handler, OwnerScope, Owners},
    manager::{Manager, ManagerError},
    predicate::Predicate,
    reconcile::{Reconciler, Request},
    source::{Source, Watch},
};

/// Makes a [`Controller`].
#[must_use]
pub struct Builder {
    name: Option<String>,
    main: Option<(ApiResource, OwnerScope)>,
    owned: Vec<ApiResource>,
    watches: Vec<Watch>,
    raw: Vec<Source>,
    predicates: Vec<Predicate>,
    options: Options,
    owns_without_main: bool,
}

/// How a controller works, where it is not as its manager says.
#[derive(Default)]
struct Options {
    workers: Option<usize>,
    timeout: Option<Duration>,
    sync_timeout: Option<Duration>,
    limiter: Option<Arc<dyn RateLimiter<Request>>>,
    recover_panic: Option<bool>,
    needs_leader_election: Option<bool>,
    warm_up: Option<bool>,
}

/// Why a controller cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// It watches nothing.
    #[error("there are no watches configured, controller will never get triggered")]
    NoWatches,
    /// It has no name, and no kind to be named after.
    #[error("the controller has no name: use named()")]
    NoName,
    /// It owns things, but is for no kind that could be their owner.
    #[error("owns() needs for_()")]
    OwnsWithoutFor,
    /// Another controller of the manager has that name.
    #[error("controller with name {0} already exists")]
    NameTaken(String),
    /// Nobody would work.
    #[error("max_concurrent_reconciles must be at least 1")]
    NoWorkers,
}

impl Controller {
    /// A controller for a type: it is asked for every object of it that changes.
    pub fn for_<K>() -> Builder
    where
        K: Resource<DynamicType = ()>,
        K::Scope: 'static,
    {
        Builder::new().main(
            ApiResource::erase::<K>(&()),
            OwnerScope::of::<K>().unwrap_or(OwnerScope::Namespaced),
        )
    }

    /// A controller for a kind that is known at run time. `namespaced`: whether it has namespaces.
    pub fn for_kind(resource: &ApiResource, namespaced: bool) -> Builder {
        let scope = if namespaced {
            OwnerScope::Namespaced
        } else {
            OwnerScope::Cluster
        };
        Builder::new().main(resource.clone(), scope)
    }
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            name: None,
            main: None,
            owned: Vec::new(),
            watches: Vec::new(),
            raw: Vec::new(),
            predicates: Vec::new(),
            options: Options::default(),
            owns_without_main: false,
        }
    }

    fn main(mut self, resource: ApiResource, scope: OwnerScope) -> Self {
        self.watches
            .push(Watch::kind(&resource, Handler::for_object()));
        self.main = Some((resource, scope));
        self
    }

    /// Its name, in logs and metrics; otherwise the kind in lower case. Distinct within a manager.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Watches a type whose objects the main kind owns as their controller: their owner is asked for.
    pub fn owns<K: Resource<DynamicType = ()>>(self) -> Self {
        self.owns_kind(&ApiResource::erase::<K>(&()), Owners::Controller)
    }

    /// Watches a type whose objects the main kind owns, as their controller or not: all owners are asked for.
    pub fn owns_every<K: Resource<DynamicType = ()>>(self) -> Self {
        self.owns_kind(&ApiResource::erase::<K>(&()), Owners::Every)
    }

    /// The same for a kind that is known at run time.
    pub fn owns_kind(mut self, resource: &ApiResource, owners: Owners) -> Self {
        match &self.main {
            Some((main, scope)) => {
                let handler = Handler::owner(main, *scope, owners);
                self.owned.push(resource.clone());
                self.watches.push(Watch::kind(resource, handler));
            }
            None => self.owns_without_main = true,
        }
        self
    }

    /// Watches another type: a function says which requests its objects lead to.
    pub fn watches<K>(self, requests: impl Fn(&K) -> Vec<Request> + Send + Sync + 'static) -> Self
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        self.watch(Watch::of::<K>(Handler::map(requests)))
    }

    /// Watches the metadata of another type, and nothing else of it.
    pub fn watches_metadata<K: Resource<DynamicType = ()>>(self, handler: Handler) -> Self {
        self.watch(Watch::of::<K>(handler).metadata_only())
    }

    /// Watches by your own settings.
    pub fn watch(mut self, watch: Watch) -> Self {
        self.watches.push(watch);
        self
    }

    /// A source that is no watch. Predicates do not concern it.
    pub fn source(mut self, source: Source) -> Self {
        self.raw.push(source);
        self
    }

    /// Cares only for events that pass, of all watches. For one of them, use [`Watch::predicate`].
    pub fn predicate(mut self, predicate: Predicate) -> Self {
        self.predicates.push(predicate);
        self
    }

    /// How many requests run at once; 1 unless said otherwise. Never two for the same object.
    pub fn max_concurrent_reconciles(mut self, workers: usize) -> Self {
        self.options.workers = Some(workers);
        self
    }

    /// How long a reconcile may take. It is dropped then, and tried again.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// How long the sources may take to show everything there is; 2 minutes unless said otherwise.
    pub fn cache_sync_timeout(mut self, timeout: Duration) -> Self {
        self.options.sync_timeout = Some(timeout);
        self
    }

    /// When what failed is tried again; after 5 ms, doubled each time up to 1,000 s, unless said otherwise.
    pub fn rate_limiter(mut self, limiter: impl RateLimiter<Request> + 'static) -> Self {
        self.options.limiter = Some(Arc::new(limiter));
        self
    }

    /// Whether a panic of the reconciler is a failure that is tried again, as it is unless said otherwise. If not, it ends the
    /// manager.
    pub fn recover_panic(mut self, recover: bool) -> Self {
        self.options.recover_panic = Some(recover);
        self
    }

    /// Whether it works only while this process leads. It does unless said otherwise.
    pub fn needs_leader_election(mut self, needed: bool) -> Self {
        self.options.needs_leader_election = Some(needed);
        self
    }

    /// Fills its queue before this process leads, so that it can begin at once.
    pub fn warm_up(mut self, warm_up: bool) -> Self {
        self.options.warm_up = Some(warm_up);
        self
    }

    /// The name it will have, if it has one.
    pub fn name(&self) -> Option<String> {
        let kind = self.main.as_ref().map(|(main, _)| main.kind.to_lowercase());
        self.name.clone().or(kind)
    }

    /// The kind it is for.
    pub fn main_kind(&self) -> Option<&ApiResource> {
        self.main.as_ref().map(|(main, _)| main)
    }

    /// The kinds whose objects it owns.
    pub fn owned_kinds(&self) -> &[ApiResource] {
        &self.owned
    }

    /// All kinds that it watches, its own and those it owns included.
    pub fn watched_kinds(&self) -> impl Iterator<Item = &ApiResource> {
        self.watches.iter().map(Watch::resource)
    }

    /// Makes the controller and hands it to the manager, which runs it.
    pub fn build(
        self,
        manager: &Manager,
        reconciler: impl Reconciler,
    ) -> Result<Controller, ManagerError> {
        let name: Arc<str> = self.name().ok_or(BuildError::NoName)?.into();
        let options = self.options;
        if self.owns_without_main {
            return Err(BuildError::OwnsWithoutFor.into());
        }
        if self.watches.is_empty() && self.raw.is_empty() {
            return Err(BuildError::NoWatches.into());
        }
        let defaults = manager.defaults();
        let main = self.main.as_ref().map(|(main, _)| main);
        let workers = options.workers.unwrap_or_else(|| defaults.workers(main));
        let needs_leader_election = options
            .needs_leader_election
            .unwrap_or(defaults.needs_leader_election);
        if workers == 0 {
            return Err(BuildError::NoWorkers.into());
        }
        let limiter = options.limiter.unwrap_or_else(|| {
            Arc::new(ItemExponentialFailureRateLimiter::new(
                Duration::from_millis(5),
                Duration::from_secs(1000),
            ))
        });
        let queue = WorkQueue::builder()
            .name(&name)
            .rate_limiter(limiter)
            .merge_delayed()
            .build();
        let predicates = self.predicates;
        let watches = self.watches.into_iter().map(|watch| {
            let all = predicates.iter().cloned();
            Source::from(all.fold(watch, Watch::predicate))
        });
        let sources = watches.chain(self.raw).collect();
        let controller = Controller::new(
            Parts {
                metrics: manager.controller_metrics(&name),
                client: manager.client_for(needs_leader_election),
                caches: manager.caches().clone(),
                pulse: manager.pulse().clone(),
                reconciler: Arc::new(reconciler),
                workers,
                timeout: options.timeout.or(defaults.timeout),
                sync_timeout: options.sync_timeout.unwrap_or(defaults.sync_timeout),
                recover_panic: options.recover_panic.unwrap_or(defaults.recover_panic),
                needs_leader_election,
                name,
                queue,
            },
            sources,
        );
        manager.add_controller(
            controller.clone(),
            needs_leader_election,
            options.warm_up.unwrap_or(defaults.warm_up),
        )?;
        Ok(controller)
    }
}
