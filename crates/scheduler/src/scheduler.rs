//! [`Scheduler`]: the settings of a scheduler, and its registration with a manager.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use k8s_openapi::api::{
    core::v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod},
    policy::v1::PodDisruptionBudget,
    storage::v1::StorageClass,
};
use kube::core::ApiResource;
use kubewright_controller::{
    Context, Controller, Handler, Manager, ManagerError, Request, Watch, events::EventApi,
};
use parking_lot::Mutex;

use crate::{
    cycle,
    node::NodeInfo,
    placement::{Placement, Placing},
    state::State,
    writes::Reporter,
};

/// The default `schedulerName` of pods.
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// The field manager of kube-scheduler.
pub(crate) const FIELD_MANAGER: &str = "kube-scheduler";

/// The name of the controller in logs and metrics.
const NAME: &str = "scheduler";

/// Assigns pods to nodes.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use kubewright_controller::Manager;
/// use kubewright_scheduler::Scheduler;
/// use kubewright_testing::TestCluster;
///
/// let cluster = TestCluster::start().await;
/// let manager = Manager::new(cluster.client());
/// Scheduler::new().seed(7).add_to(&manager).unwrap();
/// let _running = cluster.run(&manager);
/// cluster.settled().await.unwrap();
/// # });
/// ```
///
/// A custom function can replace filters and scores; bindings, conditions and events are the same:
///
/// ```
/// use kubewright_scheduler::{Placement, Scheduler};
///
/// let first = Scheduler::new().place_by(|_pod, nodes| match nodes.first() {
///     Some(node) => Placement::Node(node.name().to_owned()),
///     None => Placement::Unschedulable("there are no nodes".to_owned()),
/// });
/// # let _ = first;
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct Scheduler {
    names: BTreeSet<String>,
    seed: u64,
    placing: Option<Arc<Placing>>,
}

impl Scheduler {
    /// Creates a scheduler for pods of `default-scheduler`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Schedules pods with this `schedulerName`. The first call replaces `default-scheduler`, and further calls add names.
    /// Pods of other schedulers are ignored.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.names.insert(name.into());
        self
    }

    /// Sets the seed for the order of nodes with the same score (default: by name). With the same seed, the same events result in
    /// the same placement.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Selects nodes by a function, which replaces filters, scores and preemption.
    pub fn place_by(
        mut self,
        place: impl Fn(&Pod, &[NodeInfo]) -> Placement + Send + Sync + 'static,
    ) -> Self {
        self.placing = Some(Arc::new(place));
        self
    }

    /// Adds the scheduler to a manager.
    ///
    /// # Errors
    ///
    /// Fails if the manager already has a scheduler, or has stopped.
    pub fn add_to(&self, manager: &Manager) -> Result<(), ManagerError> {
        let mut names = self.names.clone();
        if names.is_empty() {
            names.insert(DEFAULT_SCHEDULER.to_owned());
        }
        let recorders = names.iter().map(|name| {
            let recorder = manager.recorder_of(EventApi::Events, name);
            (name.clone(), recorder)
        });
        let reporter = Reporter(Arc::new(recorders.collect::<BTreeMap<_, _>>()));
        let pods = manager.caches().reading(&ApiResource::erase::<Pod>(&()));
        let state = State::new(names, self.seed, self.placing.clone(), pods.cast());
        let state = Arc::new(Mutex::new(state));
        let watch = |state: &Arc<Mutex<State>>, note: Note| {
            let state = state.clone();
            // The handler is called once for each event, in order.
            Handler::events(move |event| match note(&mut state.lock(), event) {
                true => vec![Request::cluster_scoped("pods")],
                false => Vec::new(),
            })
        };
        Controller::builder()
            .named(NAME)
            .field_manager(FIELD_MANAGER)
            .watch(Watch::of::<Namespace>(watch(&state, State::namespace)).metadata_only())
            .watch(Watch::of::<Node>(watch(&state, State::node)))
            .watch(Watch::of::<PodDisruptionBudget>(watch(
                &state,
                State::budget,
            )))
            .watch(Watch::of::<StorageClass>(watch(&state, State::class)))
            .watch(Watch::of::<PersistentVolume>(watch(&state, State::volume)))
            .watch(Watch::of::<PersistentVolumeClaim>(watch(
                &state,
                State::claim,
            )))
            .watch(Watch::of::<Pod>(watch(&state, State::pod)))
            .build(manager, move |context: Context, _: Request| {
                cycle::run(context, state.clone(), reporter.clone())
            })?;
        Ok(())
    }
}

/// Handles an event. Returns whether a pod is ready to be scheduled.
type Note = fn(&mut State, &kubewright_informer::Event<()>) -> bool;

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler")
            .field("names", &self.names)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}
