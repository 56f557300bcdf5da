//! [`Manager`]: runs controllers and other parts of a program.
//!
//! Startup order: HTTP servers, webhooks, caches (until filled), others, warm-up (until ended), and leaders once this
//! process leads. Shutdown order: others, leaders (after which the Lease is released), caches, webhooks, HTTP servers,
//! all within the [shutdown timeout](ManagerBuilder::graceful_shutdown_timeout). The first error ends the manager and
//! is returned.
//!
//! | module | contents |
//! |---|---|
//! | `build` | [`ManagerBuilder`] |
//! | `run` | startup and shutdown |
//! | `groups` | [`Group`]: runnables that start and stop together |
//! | `namespaces` | changing namespaces at run time |
//! | `settled` | waiting until there is nothing to do |
//! | `verified` | the caches that are known to show what the server holds |
//! | `defaults` | [`ControllerDefaults`]: default settings of controllers |
//! | `checks` | health, metrics, `/debug/controllers` |
//! | `command` | [`ControllerCommand`]: enqueue, pause, resume |
//! | `error`, `stop` | [`ManagerError`], [`Stop`] |

mod build;
mod checks;
mod command;
mod defaults;
mod error;
mod groups;
mod namespaces;
mod run;
mod settled;
mod stop;
mod verified;

use std::{future::Future, sync::Arc, time::Duration};

use kubewright_client::BoxError;
use kubewright_informer::SharedInformer;
use kubewright_metrics::Registry;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, watch};

pub use build::ManagerBuilder;
pub use command::{CommandError, ControllerCommand};
pub use defaults::ControllerDefaults;
pub use error::ManagerError;
pub use groups::Group;
pub use namespaces::AllNamespaces;
pub use settled::Unsettled;
pub use stop::Stop;
pub use verified::ChangeCounter;

use crate::{
    builder::BuildError,
    client::{Client, caches::Caches},
    clock::{Clock, SharedClock},
    controller::Controller,
    events::{EventApi, Events, Recorder},
    health::Checks,
    leader_election::{LeaderElector, LeaderToken},
    metrics::{ControllerFamilies, ControllerMetrics},
    run::{Finished, Tracking},
};
pub(crate) use groups::Groups;
use verified::Verified;

/// Runs controllers. Clones share the manager.
///
/// The [crate documentation](crate) has a complete example.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use std::time::Duration;
/// use kubewright_controller::{Group, Manager};
///
/// let manager = Manager::builder(client)
///     .namespaces(["shop"])
///     .graceful_shutdown_timeout(Duration::from_secs(10))
///     .build()
///     .unwrap();
/// manager
///     .add(Group::Others, "clock", |stop| async move {
///         stop.stopping().await;
///         Ok(())
///     })
///     .unwrap();
/// manager.run(async {}).await.unwrap();
/// assert!(manager.has_ended());
/// # });
/// ```
#[derive(Clone)]
pub struct Manager(Arc<Shared>);

struct Shared {
    client: Client,
    /// Writes only while this process leads.
    leader_client: Client,
    caches: Caches,
    groups: Arc<Groups>,
    errors: Mutex<Option<mpsc::UnboundedReceiver<ManagerError>>>,
    elector: Mutex<Option<LeaderElector>>,
    has_election: bool,
    elected: watch::Sender<bool>,
    controllers: Mutex<Vec<Controller>>,
    /// Notified whenever a source or a worker has nothing to do.
    pulse: Arc<Notify>,
    registry: Registry,
    families: ControllerFamilies,
    healthz: Checks,
    readyz: Checks,
    shutdown_timeout: Option<Duration>,
    sync_timeout: Duration,
    defaults: ControllerDefaults,
    ended: watch::Sender<bool>,
    clock: SharedClock,
    events: Events,
    verified: Verified,
    finished: Finished,
    tracking: Tracking,
}

impl Manager {
    /// Creates a manager with default settings, for all namespaces.
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime.
    pub fn new(client: kube::Client) -> Self {
        Self::builder(client).without_election()
    }

    /// Returns a builder.
    pub fn builder(client: kube::Client) -> ManagerBuilder {
        ManagerBuilder::new(client)
    }

    /// Returns the client, which reads from the caches and writes to the server, whether or not this process leads.
    pub fn client(&self) -> &Client {
        &self.0.client
    }

    /// Returns a client that writes only while this process leads.
    pub fn leader_client(&self) -> &Client {
        &self.0.leader_client
    }

    /// Adds a runnable to a group. It should end soon after it is asked to stop; an error ends the manager.
    ///
    /// # Errors
    ///
    /// Fails if the group has stopped.
    pub fn add<F, R>(
        &self,
        group: Group,
        name: impl Into<String>,
        run: F,
    ) -> Result<(), ManagerError>
    where
        F: FnOnce(Stop) -> R + Send + 'static,
        R: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        let run = Box::new(|stop| Box::pin(run(stop)) as _);
        self.0.groups.add(group, name.into(), run)
    }

    /// Returns the controller of that name.
    pub fn controller(&self, name: &str) -> Option<Controller> {
        self.controllers()
            .into_iter()
            .find(|controller| controller.name() == name)
    }

    /// Returns the controllers.
    pub fn controllers(&self) -> Vec<Controller> {
        self.0.controllers.lock().clone()
    }

    /// Waits until this process leads, or, without an election, until the manager has started.
    pub async fn elected(&self) {
        let mut elected = self.0.elected.subscribe();
        // The sender lives as long as the manager.
        let _ = elected.wait_for(|elected| *elected).await;
    }

    /// Reports whether leader election is enabled.
    pub fn takes_part_in_election(&self) -> bool {
        self.0.has_election
    }

    /// Reports whether the runnables that need leader election have been started.
    pub fn is_leading(&self) -> bool {
        *self.0.elected.borrow()
    }

    /// Reports whether the manager has run and ended.
    pub fn has_ended(&self) -> bool {
        *self.0.ended.borrow()
    }

    /// Waits until the manager has run and ended.
    pub async fn ended(&self) {
        let mut ended = self.0.ended.subscribe();
        // The sender lives as long as the manager.
        let _ = ended.wait_for(|ended| *ended).await;
    }

    /// Returns the registry of metrics.
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// Returns the checks behind `/healthz`.
    pub fn healthz(&self) -> &Checks {
        &self.0.healthz
    }

    /// Returns the checks behind `/readyz`.
    pub fn readyz(&self) -> &Checks {
        &self.0.readyz
    }

    /// Returns the caches.
    pub fn caches(&self) -> &Caches {
        &self.0.caches
    }

    /// Returns a recorder of events in the name of that controller or component. The manager writes them, to the API that
    /// [`ManagerBuilder::event_api`] sets.
    pub fn recorder(&self, name: &str) -> Recorder {
        self.recorder_of(self.0.events.api(), name)
    }

    /// Returns a recorder like [`recorder`](Self::recorder), for events of that API.
    pub fn recorder_of(&self, api: EventApi, name: &str) -> Recorder {
        self.0.events.recorder(api, name)
    }

    /// Returns the clock of the manager: the machine's, or the test's.
    pub fn clock(&self) -> Clock {
        let clock = self.0.clock.clone();
        Arc::new(move || clock.now())
    }

    /// Replaces the clock that conditions and events take their times from. Test clusters do this for the managers that
    /// run on them.
    pub fn set_clock(&self, clock: Clock) {
        self.0.clock.replace(clock);
    }

    /// Sets a function that counts the changes of a resource on the server, so that [`settled`](Self::settled) lists only the
    /// kinds that have changed. Test clusters do this for the managers that run on them.
    pub fn set_change_counter(&self, counter: ChangeCounter) {
        self.0.verified.set_counter(counter);
    }

    pub(crate) fn finished(&self) -> &Finished {
        &self.0.finished
    }

    pub(crate) fn tracking(&self) -> &Tracking {
        &self.0.tracking
    }

    pub(crate) fn verified(&self) -> &Verified {
        &self.0.verified
    }

    pub(crate) fn shared_clock(&self) -> &SharedClock {
        &self.0.clock
    }

    pub(crate) fn events(&self) -> &Events {
        &self.0.events
    }

    pub(crate) fn pulse(&self) -> &Arc<Notify> {
        &self.0.pulse
    }

    pub(crate) fn defaults(&self) -> &ControllerDefaults {
        &self.0.defaults
    }

    pub(crate) fn client_for(&self, leader: bool) -> Client {
        if leader {
            self.0.leader_client.clone()
        } else {
            self.0.client.clone()
        }
    }

    pub(crate) fn controller_metrics(&self, name: &str) -> ControllerMetrics {
        self.0.families.controller(name)
    }

    pub(crate) fn add_controller(
        &self,
        controller: Controller,
        leader: bool,
        warm_up: bool,
    ) -> Result<(), ManagerError> {
        let name = controller.name().to_owned();
        {
            let mut controllers = self.0.controllers.lock();
            if controllers.iter().any(|other| other.name() == name) {
                return Err(BuildError::NameTaken(name).into());
            }
            controllers.push(controller.clone());
        }
        if warm_up {
            let controller = controller.clone();
            self.add(Group::WarmUp, &*name, |stop| async move {
                tokio::select! {
                    biased;
                    () = stop.stopping() => Ok(()),
                    warm = controller.warm_up() => Ok(warm?),
                }
            })?;
        }
        let group = if leader {
            Group::LeaderElection
        } else {
            Group::Others
        };
        self.add(
            group,
            name,
            |stop| async move { controller.run(stop).await },
        )
    }

    /// Returns the caches in use, each once.
    pub(crate) fn informers(&self) -> Vec<SharedInformer<()>> {
        let mut informers = self.0.caches.read();
        let of_controllers = self.controllers();
        informers.extend(of_controllers.iter().flat_map(Controller::informers));
        let mut distinct: Vec<SharedInformer<()>> = Vec::new();
        for informer in informers {
            if !distinct
                .iter()
                .any(|other| Arc::ptr_eq(other.indexer(), informer.indexer()))
            {
                distinct.push(informer);
            }
        }
        distinct
    }
}

impl Shared {
    /// Runs what needs leader election, until it is asked to stop.
    async fn lead(&self, token: Option<&LeaderToken>, stop: &Stop) {
        self.elected.send_replace(true);
        self.groups.start(Group::LeaderElection);
        match token {
            Some(token) => token.stopping().await,
            None => stop.stopping().await,
        }
        self.groups.stop(Group::LeaderElection).await;
    }
}
