//! [`ControllerBuilder`]: the watches and settings of a controller.

mod references;

use std::{future::Future, sync::Arc, time::Duration};

use kube::{Resource, core::ApiResource};
use kubewright_workqueue::{ItemExponentialFailureRateLimiter, RateLimiter, WorkQueue};

use crate::{
    client::Client,
    context,
    controller::{Controller, Parts},
    events::RecorderSource,
    handler::{Handler, KindScope, Owners},
    manager::{Manager, ManagerError},
    object::Object,
    predicate::Predicate,
    reconcile::{IntoReconciler, Request, Result},
    source::{Source, Watch},
};
use references::Reference;

/// Builds a [`Controller`].
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kubewright_controller::{Action, Context, Controller, Manager, Predicate, Request};
///
/// let manager = Manager::new(cluster.client());
/// Controller::for_::<ConfigMap>()
///     .named("colours")
///     .owns::<Secret>()
///     .event_filter(Predicate::resource_version_changed())
///     .max_concurrent_reconciles(4)
///     .build(&manager, |_: Context, _: Request| async { Ok(Action::done()) })
///     .unwrap();
/// # });
/// ```
#[must_use]
pub struct ControllerBuilder<S = ()> {
    name: Option<String>,
    main: Option<(ApiResource, KindScope)>,
    owned: Vec<ApiResource>,
    watches: Vec<Watch>,
    references: Vec<Reference>,
    raw: Vec<Source>,
    predicates: Vec<Predicate>,
    options: Options,
    owns_without_main: bool,
    state: Arc<S>,
}

/// Settings that override those of the manager.
#[derive(Default)]
struct Options {
    workers: Option<usize>,
    timeout: Option<Duration>,
    sync_timeout: Option<Duration>,
    limiter: Option<Arc<dyn RateLimiter<Request>>>,
    recover_panic: Option<bool>,
    needs_leader_election: Option<bool>,
    warm_up: Option<bool>,
    field_manager: Option<String>,
}

/// A controller that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The controller watches nothing.
    #[error("there are no watches configured, controller will never get triggered")]
    NoWatches,
    /// The controller has no name, and no kind to be named after.
    #[error("the controller has no name: call named()")]
    NoName,
    /// The controller owns objects, but has no kind that could be their owner.
    #[error("owns() needs a kind: use Controller::for_()")]
    OwnsWithoutFor,
    /// Another controller of the manager has that name.
    #[error("controller with name {0} already exists")]
    NameTaken(String),
    /// The number of workers is zero.
    #[error("max_concurrent_reconciles must be at least 1")]
    NoWorkers,
}

impl Controller {
    /// Builds a controller for a type: every object that changes is reconciled.
    pub fn for_<K>() -> ControllerBuilder
    where
        K: Resource<DynamicType = ()>,
        K::Scope: 'static,
    {
        Self::for_with::<K>(|watch| watch)
    }

    /// Builds a controller for a type, with settings for the watch of its objects.
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
    /// use kubewright_controller::{Controller, Predicate};
    ///
    /// // Changes of a Deployment's status are ignored; those of its ReplicaSets are not.
    /// let builder = Controller::for_with::<Deployment>(|watch| watch.predicate(Predicate::generation_changed()))
    ///     .owns::<ReplicaSet>();
    /// # let _ = builder;
    /// ```
    pub fn for_with<K>(configure: impl FnOnce(Watch) -> Watch) -> ControllerBuilder
    where
        K: Resource<DynamicType = ()>,
        K::Scope: 'static,
    {
        let watch = Watch::of::<K>(Handler::for_object());
        let scope = KindScope::of::<K>().unwrap_or(KindScope::Namespaced);
        ControllerBuilder::new().main(configure(watch), scope)
    }

    /// Builds a controller for a kind that is known at run time.
    ///
    /// ```
    /// use kube::core::{ApiResource, GroupVersionKind};
    /// use kubewright_controller::{Controller, KindScope};
    ///
    /// let kind = GroupVersionKind::gvk("example.com", "v1", "Greeting");
    /// let builder = Controller::for_kind(&ApiResource::from_gvk(&kind), KindScope::Namespaced);
    /// # let _ = builder;
    /// ```
    pub fn for_kind(resource: &ApiResource, scope: KindScope) -> ControllerBuilder {
        ControllerBuilder::new().main(Watch::kind(resource, Handler::for_object()), scope)
    }
}

impl ControllerBuilder {
    pub(crate) fn new() -> Self {
        Self {
            name: None,
            main: None,
            owned: Vec::new(),
            watches: Vec::new(),
            references: Vec::new(),
            raw: Vec::new(),
            predicates: Vec::new(),
            options: Options::default(),
            owns_without_main: false,
            state: Arc::default(),
        }
    }

    fn main(mut self, watch: Watch, scope: KindScope) -> Self {
        self.main = Some((watch.resource().clone(), scope));
        self.watches.push(watch);
        self
    }
}

impl<S: Send + Sync + 'static> ControllerBuilder<S> {
    /// Sets the state that the reconciler finds in its context: settings, connections, anything that reconciles share.
    /// [`IntoReconciler`] has an example.
    pub fn state<T: Send + Sync + 'static>(self, state: impl Into<Arc<T>>) -> ControllerBuilder<T> {
        ControllerBuilder {
            name: self.name,
            main: self.main,
            owned: self.owned,
            watches: self.watches,
            references: self.references,
            raw: self.raw,
            predicates: self.predicates,
            options: self.options,
            owns_without_main: self.owns_without_main,
            state: state.into(),
        }
    }

    /// Sets the name for logs and metrics, unique within a manager. Defaults to the kind in lower case.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Watches a type whose objects the main kind owns as their controller, and reconciles the owner.
    pub fn owns<K: Resource<DynamicType = ()>>(self) -> Self {
        self.owns_kind(&ApiResource::erase::<K>(&()), Owners::Controller)
    }

    /// Watches a type like [`owns`](Self::owns), with settings for the watch.
    pub fn owns_with<K: Resource<DynamicType = ()>>(
        self,
        configure: impl FnOnce(Watch) -> Watch,
    ) -> Self {
        let resource = ApiResource::erase::<K>(&());
        self.add_owned(&resource, Owners::Controller, configure)
    }

    /// Watches a type whose objects the main kind owns, as their controller or not, and reconciles all owners.
    pub fn owns_every<K: Resource<DynamicType = ()>>(self) -> Self {
        self.owns_kind(&ApiResource::erase::<K>(&()), Owners::Every)
    }

    /// Watches an owned kind that is known at run time.
    pub fn owns_kind(self, resource: &ApiResource, owners: Owners) -> Self {
        self.add_owned(resource, owners, |watch| watch)
    }

    fn add_owned(
        mut self,
        resource: &ApiResource,
        owners: Owners,
        configure: impl FnOnce(Watch) -> Watch,
    ) -> Self {
        match &self.main {
            Some((main, scope)) => {
                let handler = Handler::for_owner_of_kind(main, *scope, owners);
                self.owned.push(resource.clone());
                self.watches.push(configure(Watch::kind(resource, handler)));
            }
            None => self.owns_without_main = true,
        }
        self
    }

    /// Watches another type, and reconciles the requests that an async function returns for its objects. The function gets
    /// a client, so that it can look up who is concerned: see [`Handler::map_async`]. For a function that needs no client, use
    /// [`watch`](Self::watch).
    pub fn watches<K, F, R>(self, requests: F) -> Self
    where
        K: Object,
        F: Fn(Client, Arc<K>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Vec<Request>>> + Send + 'static,
    {
        self.watches_with(|watch| watch, requests)
    }

    /// Watches a type like [`watches`](Self::watches), with settings for the watch, such as predicates.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use k8s_openapi::api::core::v1::{ConfigMap, Node};
    /// use kubewright_controller::{Client, Controller, Predicate, Request};
    ///
    /// let builder = Controller::for_::<ConfigMap>().watches_with(
    ///     |watch| watch.predicate(Predicate::labels_changed()),
    ///     |_: Client, _: Arc<Node>| async { Ok(vec![Request::new("default", "zones")]) },
    /// );
    /// assert_eq!(builder.watched_kinds().count(), 2);
    /// ```
    pub fn watches_with<K, F, R>(self, configure: impl FnOnce(Watch) -> Watch, requests: F) -> Self
    where
        K: Object,
        F: Fn(Client, Arc<K>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Vec<Request>>> + Send + 'static,
    {
        self.watch(configure(Watch::of::<K>(Handler::map_async(requests))))
    }

    /// Watches the metadata of another type only.
    pub fn watches_metadata<K: Resource<DynamicType = ()>>(self, handler: Handler) -> Self {
        self.watch(Watch::of::<K>(handler).metadata_only())
    }

    /// Adds a watch with its own settings.
    pub fn watch(mut self, watch: Watch) -> Self {
        self.watches.push(watch);
        self
    }

    /// Adds a source that is not a watch. Predicates do not apply to it.
    pub fn source(mut self, source: Source) -> Self {
        self.raw.push(source);
        self
    }

    /// Filters the events of *all* watches, those of owned objects included. For a single one, use
    /// [`for_with`](Controller::for_with), [`owns_with`](Self::owns_with) or [`Watch::predicate`].
    pub fn event_filter(mut self, predicate: Predicate) -> Self {
        self.predicates.push(predicate);
        self
    }

    /// Sets the number of concurrent reconciles, never two for the same object. Defaults to 1.
    pub fn max_concurrent_reconciles(mut self, workers: usize) -> Self {
        self.options.workers = Some(workers);
        self
    }

    /// Sets the timeout of a reconcile, after which it is cancelled and retried.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Sets how long the sources may take to sync. Defaults to 2 minutes.
    pub fn cache_sync_timeout(mut self, timeout: Duration) -> Self {
        self.options.sync_timeout = Some(timeout);
        self
    }

    /// Sets the delays of retries. Defaults to 5 ms, doubled with each failure up to 1000 s.
    pub fn rate_limiter(mut self, limiter: impl RateLimiter<Request> + 'static) -> Self {
        self.options.limiter = Some(Arc::new(limiter));
        self
    }

    /// Sets whether a panic of the reconciler counts as a failure and is retried, which is the default. Otherwise it
    /// ends the manager.
    pub fn recover_panic(mut self, recover: bool) -> Self {
        self.options.recover_panic = Some(recover);
        self
    }

    /// Sets whether the controller works only while this process leads, which is the default.
    pub fn needs_leader_election(mut self, needed: bool) -> Self {
        self.options.needs_leader_election = Some(needed);
        self
    }

    /// Sets whether the queue is filled before this process leads, so that work can start at once.
    pub fn warm_up(mut self, warm_up: bool) -> Self {
        self.options.warm_up = Some(warm_up);
        self
    }

    /// Sets the field manager of its writes. Defaults to that of the manager, and otherwise to the controller's name.
    pub fn field_manager(mut self, name: impl Into<String>) -> Self {
        self.options.field_manager = Some(name.into());
        self
    }

    /// Sets the field manager of its writes, unless one has been set.
    pub fn default_field_manager(mut self, name: &str) -> Self {
        self.options
            .field_manager
            .get_or_insert_with(|| name.to_owned());
        self
    }

    /// Returns the name of the controller, if it has one.
    pub fn name(&self) -> Option<String> {
        let kind = self.main.as_ref().map(|(main, _)| main.kind.to_lowercase());
        self.name.clone().or(kind)
    }

    /// Returns the main kind.
    pub fn main_kind(&self) -> Option<&ApiResource> {
        self.main.as_ref().map(|(main, _)| main)
    }

    /// Returns the kinds whose objects it owns.
    pub fn owned_kinds(&self) -> &[ApiResource] {
        &self.owned
    }

    /// Iterates over all watched kinds, including the main and the owned ones.
    pub fn watched_kinds(&self) -> impl Iterator<Item = &ApiResource> {
        let references = self.references.iter().map(|reference| &reference.resource);
        self.watches.iter().map(Watch::resource).chain(references)
    }

    /// Builds the controller and adds it to the manager, which runs it.
    ///
    /// # Errors
    ///
    /// Fails if the settings are invalid, or if the manager has stopped.
    pub fn build<Form>(
        self,
        manager: &Manager,
        reconciler: impl IntoReconciler<S, Form>,
    ) -> Result<Controller, ManagerError> {
        let name: Arc<str> = self.name().ok_or(BuildError::NoName)?.into();
        let options = self.options;
        if self.owns_without_main {
            return Err(BuildError::OwnsWithoutFor.into());
        }
        if self.watches.is_empty() && self.references.is_empty() && self.raw.is_empty() {
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
        let mut watches = self.watches;
        for (i, reference) in self.references.into_iter().enumerate() {
            let index = format!("{name}/{i}/{}", reference.resource.plural);
            watches.push((reference.watch)(index, manager.client())?);
        }
        let watches = watches.into_iter().map(|watch| {
            let all = predicates.iter().cloned();
            Source::from(all.fold(watch, Watch::predicate))
        });
        let sources = watches.chain(self.raw).collect();
        let controller = Controller::new(
            Parts {
                metrics: manager.controller_metrics(&name),
                finished: manager.finished().clone(),
                context: Arc::new(context::Shared {
                    client: manager
                        .client_for(needs_leader_election)
                        .or_field_manager(options.field_manager.as_deref(), &name),
                    clock: manager.shared_clock().clone(),
                    recorder: RecorderSource::new(manager.events().clone(), name.clone()),
                }),
                caches: manager.caches().clone(),
                pulse: manager.pulse().clone(),
                reconciler: Box::new(reconciler.into_reconciler(self.state)),
                workers,
                timeout: options.timeout.or(defaults.timeout),
                sync_timeout: options.sync_timeout.unwrap_or(defaults.sync_timeout),
                recover_panic: options.recover_panic.unwrap_or(defaults.recover_panic),
                needs_leader_election,
                main: self.main.map(|(main, _)| main),
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
