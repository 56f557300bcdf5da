//! One run: starts, kills, deposes and waits for the program while the story is played.

use std::{sync::Arc, time::Duration};

use kubewright_cluster::WebhookFault;
use kubewright_controller::{Manager, ManagerError, leader_election::ElectionConfig};
use kubewright_ledger::ObjectRef;
use parking_lot::Mutex;
use tokio::{
    sync::watch,
    task::AbortHandle,
    time::{Instant, sleep},
};

use kubewright_apiserver::auth::LocalUser;

use super::{
    Perturbation, Script, State,
    link::{Link, Strike, Wire},
    moment::History,
    program::Parts,
    progress::Progress,
};
use crate::{
    access::{admin, local_user},
    cluster::{Snapshot, TestCluster},
    endless::{Runs, Writes},
    managers::RunningManager,
};

/// The virtual time limit for the program to become idle.
const REST: Duration = Duration::from_secs(3600);

/// The virtual time for which the final state is observed for late changes.
const AFTERMATH: Duration = Duration::from_secs(120);

/// The times of the election: the lease, the deadline for its renewal, and the wait between attempts. Attempts are rare,
/// since each costs real time. A reconcile must outlive the time between the deadline and the election of another program.
const LEASE: [Duration; 3] = [
    Duration::from_secs(30),
    Duration::from_secs(25),
    Duration::from_secs(8),
];

/// The duration of a slow webhook call. The shortest timeout of a webhook is a second.
const SLOW_WEBHOOK: Duration = Duration::from_millis(900);

/// The maximum number of saved timelines of a run.
const MOST_TIMELINES: usize = 50;

/// The virtual time after which all runnable tasks have run.
const MOMENT: Duration = Duration::from_millis(1);

/// The environment of a story. Cheap to clone.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::Api;
/// # use kubewright_controller::{
/// #     Action, Context, Controller, Manager, ManagerBuilder, ManagerError, Request, Result,
/// # };
/// use kubewright_testing::{Perturbation, World, perturb};
///
/// # fn program(manager: ManagerBuilder) -> Result<Manager, ManagerError> {
/// #     let manager = manager.build()?;
/// #     Controller::for_::<ConfigMap>().build(&manager, reconcile)?;
/// #     Ok(manager)
/// # }
/// # async fn reconcile(_: Context, _: Request) -> Result<Action> {
/// #     Ok(Action::done())
/// # }
/// async fn story(world: World) {
///     let maps: Api<ConfigMap> = Api::default_namespaced(world.client());
///     let mut map = ConfigMap::default();
///     map.metadata.name = Some("colours".into());
///     maps.create(&Default::default(), &map).await.unwrap();
///     world.pause().await;
///     maps.delete("colours", &Default::default()).await.unwrap();
/// }
///
/// let report = perturb(program, story).only(Perturbation::StaleCache { events: 1 }).run();
/// assert_eq!(report.steps, 2);
/// ```
#[derive(Clone)]
pub struct World(Arc<Stage>);

/// The outcome of a run.
pub(super) struct Played {
    pub(super) state: State,
    pub(super) writes: usize,
    pub(super) pauses: usize,
    pub(super) webhook_calls: usize,
    /// The paths of the webhook calls that can fail.
    pub(super) webhook_paths: Vec<String>,
    /// True if the perturbation took effect.
    pub(super) struck: bool,
    /// The timelines of the written objects, if they are to be saved.
    pub(super) timelines: Vec<(ObjectRef, String)>,
}

pub(super) struct Stage {
    cluster: TestCluster,
    /// The built-in controllers, which are not perturbed.
    _controllers: Option<RunningManager>,
    /// The user and the namespace of the program.
    user: LocalUser,
    home: String,
    progress: Arc<Progress>,
    script: Script,
    pub(super) perturbation: Option<Perturbation>,
    acts: Mutex<Acts>,
    /// The writes of the program.
    writes: Writes,
    /// Counts the starts and ends of the program.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Acts {
    writes: usize,
    pauses: usize,
    started: usize,
    struck: bool,
    running: Option<Process>,
    problem: Option<String>,
}

/// The running program.
#[derive(Clone)]
struct Process {
    wire: Arc<Wire>,
    manager: Manager,
    task: AbortHandle,
    end: Arc<Mutex<Option<Result<(), ManagerError>>>>,
}

impl World {
    /// Returns a client for the users of the cluster, which is not perturbed.
    pub fn client(&self) -> kube::Client {
        self.0.cluster.client()
    }

    /// Returns the cluster. Its clock is virtual.
    pub fn cluster(&self) -> &TestCluster {
        &self.0.cluster
    }

    /// Returns the perturbation of this run.
    pub fn perturbation(&self) -> Option<Perturbation> {
        self.0.perturbation
    }

    /// Ends a step: the program can react to the changes. A perturbation may prevent that, so that the story must not rely on the
    /// program's reaction.
    ///
    /// # Panics
    ///
    /// Panics if the program does not become idle.
    pub async fn pause(&self) {
        let stage = &self.0;
        let step = {
            let mut acts = stage.acts.lock();
            acts.pauses += 1;
            acts.pauses - 1
        };
        match stage.perturbation {
            Some(Perturbation::Skipped { step: skipped }) if skipped == step => {
                sleep(MOMENT).await;
                return;
            }
            Some(Perturbation::StaleCache { .. }) => stage.idle().await,
            _ => self.settled().await,
        }
        stage.step_begins(step + 1);
    }

    /// Waits until the program runs, is up to date, and is idle. The story can rely on its reaction.
    ///
    /// # Panics
    ///
    /// Panics if the program does not become idle.
    pub async fn settled(&self) {
        if let Err(problem) = self.0.rest().await {
            panic!("{problem}");
        }
    }
}

/// Prepares the cluster that every run starts with: runs the built-in controllers briefly, and installs the program.
pub(super) async fn prepare(program: &Parts, progress: &Progress) -> Result<Snapshot, String> {
    progress.is("preparing the cluster");
    let cluster = TestCluster::start().await;
    let controllers = run_controllers(&cluster, program);
    (program.install)(&cluster)
        .await
        .map_err(|error| format!("cannot install the program: {error}"))?;
    let settled = cluster.settled_within(REST).await;
    settled.map_err(|unsettled| format!("the built-in controllers are {unsettled}"))?;
    if let Some(controllers) = controllers {
        let stopped = controllers.stop().await;
        stopped.map_err(|error| format!("the built-in controllers ended: {error}"))?;
    }
    Ok(cluster.snapshot())
}

fn run_controllers(cluster: &TestCluster, program: &Parts) -> Option<RunningManager> {
    let controllers = &program.controllers;
    (!controllers.is_empty()).then(|| cluster.run_controllers(controllers))
}

/// Runs the story once.
pub(super) async fn play(
    script: Script,
    start: &Snapshot,
    perturbation: Option<Perturbation>,
    progress: Arc<Progress>,
) -> Result<Played, String> {
    progress.is("starting");
    let cluster = start.start().await;
    let fault = perturbation.and_then(Perturbation::webhook_fault);
    cluster.calls.record(fault);
    let history = History::begin(cluster.store(), &script.always).await?;
    let served = (script.program.serve)(&cluster);
    served.map_err(|error| format!("cannot serve the program: {error}"))?;
    let (user, home) = match (script.program.user)() {
        Some(user) => {
            cluster.fail_on_denied(&user);
            local_user(&user)
        }
        None => (admin(), None),
    };
    let stage = Arc::new(Stage {
        user,
        home: home.unwrap_or_else(|| "default".to_owned()),
        _controllers: run_controllers(&cluster, &script.program),
        cluster,
        progress,
        script,
        perturbation,
        acts: Mutex::default(),
        writes: Writes::default(),
        changes: watch::Sender::default(),
    });
    if perturbation == Some(Perturbation::SlowWebhooks) {
        let slow = WebhookFault::Slow(SLOW_WEBHOOK);
        let faults = stage.cluster.faults();
        faults.inject_webhook(slow, "", stage.script.most_writes);
        stage.strikes();
    }
    if perturbation != Some(Perturbation::Down { step: 0 }) {
        stage.start();
        stage.rest().await?;
    }
    stage.step_begins(0);
    stage.progress.is("playing the story");
    (stage.script.story)(World(stage.clone())).await;
    stage.rest().await?;
    // Late changes need time to appear.
    sleep(AFTERMATH).await;
    stage.rest().await?;
    history.check(&stage.script.always)?;
    let webhook_calls = stage.cluster.faults().webhook_calls();
    stage.progress.is("reading the cluster");
    let state = State::read(&stage.cluster, &stage.script.ignored)
        .await
        .map_err(|error| format!("cannot read the cluster: {error}"))?;
    let timelines = match stage.script.timelines {
        true => stage.cluster.ledger().all_timelines(MOST_TIMELINES).await,
        false => Vec::new(),
    };
    let acts = stage.acts.lock();
    Ok(Played {
        state,
        writes: acts.writes,
        pauses: acts.pauses,
        webhook_calls,
        webhook_paths: stage.cluster.calls.paths(),
        struck: acts.struck || stage.cluster.calls.struck(),
        timelines,
    })
}

impl Stage {
    /// Starts the program.
    fn start(self: &Arc<Self>) {
        let generation = {
            let mut acts = self.acts.lock();
            acts.started += 1;
            self.progress.starts();
            acts.started
        };
        let wire = Wire::new(Arc::downgrade(self), generation);
        let server = self.cluster.api_server().server().clone();
        let link = Link::new(server, wire.clone(), self.user.clone());
        let client = kube::Client::new(link, &self.home);
        let mut builder = Manager::builder(client);
        if self.script.election {
            let [lease, renew_deadline, retry] = LEASE;
            let config = ElectionConfig::new("perturbed", &self.home)
                .identity(format!("program-{generation}"))
                .times(lease, renew_deadline, retry);
            builder = builder.leader_election(config);
        }
        match (self.script.program.build)(builder, &self.cluster) {
            Ok(manager) => {
                self.cluster.adopt(&manager);
                let end = Arc::new(Mutex::new(None));
                let (running, ended) = (manager.clone(), end.clone());
                let task = tokio::spawn(async move {
                    let result = running.run(std::future::pending()).await;
                    *ended.lock() = Some(result);
                });
                self.acts.lock().running = Some(Process {
                    wire,
                    manager,
                    task: task.abort_handle(),
                    end,
                });
            }
            Err(error) => self.problem(format!("cannot build the program: {error}")),
        }
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Kills the program.
    fn kill(&self) {
        let process = self.acts.lock().running.take();
        if let Some(process) = process {
            process.wire.set(|condition| condition.dead = true);
            process.task.abort();
        }
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Restarts the program after it died at a write.
    pub(super) fn crash(self: &Arc<Self>, generation: usize) {
        let current = self.acts.lock().running.clone();
        if current.is_some_and(|process| process.wire.generation == generation) {
            self.kill();
            let stage = self.clone();
            tokio::spawn(async move { stage.start() });
        }
    }

    /// Cuts the program off from its lease, and starts another one that waits for it.
    pub(super) fn lose_lease(self: &Arc<Self>, wire: &Arc<Wire>) {
        wire.set(|condition| condition.cut_from_lease = true);
        let (stage, wire) = (self.clone(), wire.clone());
        tokio::spawn(async move {
            stage.start();
            let successor = stage.acts.lock().running.clone();
            if let Some(successor) = successor {
                successor.manager.elected().await;
                wire.set(|condition| condition.deposed = true);
            }
        });
    }

    /// Handles a write of the program.
    pub(super) fn write_begins(&self, wire: &Wire, what: &str) -> Strike {
        if wire.condition().deposed {
            self.problem(format!(
                "a program wrote after it had lost its lease: {what}"
            ));
        }
        let mut acts = self.acts.lock();
        acts.writes += 1;
        self.progress.writes();
        self.writes.count(what);
        if acts.writes > self.script.most_writes {
            let running = acts.running.as_ref().map(|process| process.manager.clone());
            let writes = acts.writes;
            drop(acts);
            // The clock stands still during a write, and nothing else happens until the write ends.
            wire.set(|condition| condition.dead = true);
            let endless = self.writes.describe(&Runs::of(&[]), running.as_slice());
            self.problem(format!("{endless} ({writes} writes in all)"));
            return Strike::Nothing;
        }
        let strike = match self.perturbation {
            Some(Perturbation::Crash { after_write: 0 }) if acts.writes == 1 => Strike::CrashBefore,
            Some(Perturbation::Crash { after_write }) if acts.writes == after_write => {
                Strike::CrashAfter
            }
            Some(Perturbation::LeaseLost { after_write }) if acts.writes == after_write => {
                Strike::LoseLease
            }
            _ => return Strike::Nothing,
        };
        acts.struck = true;
        strike
    }

    /// Applies the perturbation.
    pub(super) fn strikes(&self) {
        self.acts.lock().struck = true;
    }

    fn problem(&self, problem: String) {
        self.acts.lock().problem.get_or_insert(problem);
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Begins the perturbation of a step.
    fn step_begins(&self, step: usize) {
        match self.perturbation {
            Some(Perturbation::Down { step: down }) if down == step => {
                self.strikes();
                self.kill();
            }
            Some(Perturbation::Skipped { step: skipped }) if skipped == step => {
                self.strikes();
                let process = self.acts.lock().running.clone();
                if let Some(process) = process {
                    process.wire.set(|condition| condition.blind = true);
                }
            }
            _ => {}
        }
    }

    /// Waits until the program is idle in its view of the cluster.
    async fn idle(&self) {
        sleep(MOMENT * 10).await;
        let process = self.acts.lock().running.clone();
        if let Some(process) = process {
            let _ = tokio::time::timeout(REST, process.manager.idle()).await;
        }
    }

    /// Restores the program and its watches, and waits until it is idle.
    async fn rest(self: &Arc<Self>) -> Result<(), String> {
        self.progress.is("waiting for the program to become idle");
        let is_down = matches!(self.perturbation, Some(Perturbation::Down { .. }));
        let process = self.acts.lock().running.clone();
        match process {
            Some(process) => process.wire.set(|condition| condition.blind = false),
            None if is_down => self.start(),
            None => {}
        }
        let deadline = Instant::now() + REST;
        loop {
            sleep(MOMENT).await;
            let mut changes = self.changes.subscribe();
            changes.mark_unchanged();
            let process = {
                let acts = self.acts.lock();
                if let Some(problem) = &acts.problem {
                    return Err(problem.clone());
                }
                acts.running.clone()
            };
            let rested = async {
                let Some(process) = process else {
                    std::future::pending::<()>().await;
                    return Ok(());
                };
                let left = deadline.saturating_duration_since(Instant::now());
                tokio::select! {
                    biased;
                    () = process.manager.ended() => Err(process.how_it_ended()),
                    denied = self.cluster.watched.until_denied() => Err(denied.to_string()),
                    settled = self.settled(&process, left) => settled,
                }
            };
            tokio::select! {
                biased;
                _ = changes.changed() => continue,
                () = tokio::time::sleep_until(deadline + MOMENT) => {
                    return Err("the program was not restarted".to_owned());
                }
                rested = rested => rested?,
            }
            let problem = self.acts.lock().problem.clone();
            match problem {
                Some(problem) => return Err(problem),
                None if changes.has_changed().unwrap_or(false) => {}
                None => return Ok(()),
            }
        }
    }
}

impl Stage {
    /// Waits until the program and the built-in controllers are idle.
    async fn settled(&self, process: &Process, most: Duration) -> Result<(), String> {
        loop {
            process.settled(most).await?;
            let before = self.cluster.revision().await;
            let settled = self.cluster.settled_within(most).await;
            settled.map_err(|unsettled| unsettled.to_string())?;
            // The controllers may have triggered the program.
            if self.cluster.revision().await == before && process.manager.is_idle() {
                return Ok(());
            }
        }
    }
}

impl Process {
    async fn settled(&self, most: Duration) -> Result<(), String> {
        if tokio::time::timeout(most, self.manager.elected())
            .await
            .is_err()
        {
            return Err("the program did not become the leader".to_owned());
        }
        let settled = self.manager.settled(most).await;
        settled.map_err(|unsettled| unsettled.to_string())
    }

    fn how_it_ended(&self) -> String {
        match &*self.end.lock() {
            Some(Err(error)) => format!("the program ended: {error}"),
            _ => "the program ended".to_owned(),
        }
    }
}
