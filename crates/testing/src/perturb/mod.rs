//! [`perturb`]: a program with controllers, run through the same story again and again, each time with something else going
//! wrong, and the end compared with the end of an undisturbed run.
//!
//! ```
//! use k8s_openapi::api::core::v1::{ConfigMap, Secret};
//! use kube::Api;
//! use kubewright_controller::{
//!     Action, Context, Controller, Error, Manager, ManagerError, Request, create_or::create_or_update,
//!     manager::ManagerBuilder, owner::set_controller_reference,
//! };
//! use kubewright_testing::{World, perturb};
//!
//! // The program: a Secret for every ConfigMap.
//! fn program(manager: ManagerBuilder) -> Result<Manager, ManagerError> {
//!     let manager = manager.build()?;
//!     Controller::for_::<ConfigMap>().owns::<Secret>().build(&manager, reconcile)?;
//!     Ok(manager)
//! }
//!
//! async fn reconcile(context: Context, request: Request) -> Result<Action, Error> {
//!     let Some(map) = context.get::<ConfigMap>(&request).await? else {
//!         return Ok(Action::done());
//!     };
//!     let mut secret = Secret::default();
//!     secret.metadata.name = map.metadata.name.clone();
//!     secret.metadata.namespace = map.metadata.namespace.clone();
//!     set_controller_reference(&*map, &mut secret)?;
//!     let secrets = context.client().api::<Secret>("default");
//!     create_or_update(&secrets, secret, |secret| secret.string_data = map.data.clone()).await?;
//!     Ok(Action::done())
//! }
//!
//! // The story: what happens in the cluster while the program runs.
//! async fn story(world: World) {
//!     let maps: Api<ConfigMap> = Api::default_namespaced(world.client());
//!     let mut map = ConfigMap::default();
//!     map.metadata.name = Some("colours".into());
//!     let map = maps.create(&Default::default(), &map).await.unwrap();
//!     world.pause().await;
//!     let changed = ConfigMap { data: Some([("sky".into(), "blue".into())].into()), ..map };
//!     maps.replace("colours", &Default::default(), &changed).await.unwrap();
//! }
//!
//! perturb(program, story).run();
//! ```
//!
//! Every run has a cluster, a runtime and a virtual clock of its own. A program is built anew after each crash. What is
//! compared at the end is everything in the cluster but events and leases; what differs by nature (uids, resourceVersions,
//! times, generated names, cluster IPs) is taken out: see [`State`]. A failure names the [`Perturbation`], which runs again
//! alone with [`Perturb::only`].
//!
//! What it does not do: it does not perturb clients that the program made itself, tries one perturbation at a time, and
//! does not look at states between; assert those in the story, or as an [invariant](Perturb::invariant) of the end.
//!
//! | module | what it holds |
//! |---|---|
//! | `plan` | [`Perturbation`]: what can go wrong, and where |
//! | `stage` | one run: the program started, killed, deposed and waited for |
//! | `link` | the program's connection to the cluster, where it goes wrong |
//! | `stream` | its watches: late, or blind |
//! | `state` | [`State`]: what the cluster holds in the end, and how two ends differ |
//! | `report`, `progress` | [`Report`] and [`Failure`]; how far a run has come that does not end |

mod link;
mod plan;
mod progress;
mod report;
mod stage;
mod state;
mod stream;

use std::{
    ops::RangeInclusive,
    panic::Location,
    sync::{Arc, mpsc},
    time::Duration,
};

use futures_util::future::LocalBoxFuture;
use kubewright_controller::{Manager, ManagerError, manager::ManagerBuilder};

pub use plan::Perturbation;
pub use report::{Failure, Report};
pub use stage::World;
pub use state::State;

use plan::Measures;
use progress::Progress;
use stage::Played;

/// The time by the machine's clock after which a run without progress counts as hanging.
const HANGS: Duration = Duration::from_secs(300);

/// The factor by which that time is extended if there is progress.
const PATIENCE: usize = 4;

/// A program and a story, to be perturbed. Made by [`perturb`].
#[must_use = "nothing runs before `run`"]
pub struct Perturb {
    script: Script,
    only: Vec<Perturbation>,
    stale_by: RangeInclusive<usize>,
    at_most: usize,
    invariants: Vec<(String, Invariant)>,
}

type Program = Arc<dyn Fn(ManagerBuilder) -> Result<Manager, ManagerError> + Send + Sync>;
type Story = Arc<dyn Fn(World) -> LocalBoxFuture<'static, ()> + Send + Sync>;
type Invariant = Box<dyn Fn(&State) -> Result<(), String>>;

/// The settings that all runs share.
#[derive(Clone)]
struct Script {
    program: Program,
    story: Story,
    election: bool,
    most_writes: usize,
    ignored: Arc<Vec<String>>,
}

/// A program and a story, to be perturbed.
///
/// `program` makes a manager with its controllers of the builder that it is given, whose client goes through the
/// perturbations and which takes part in an election. `story` is what the users of the cluster do; between its steps it
/// [pauses](World::pause).
pub fn perturb<S, F>(
    program: impl Fn(ManagerBuilder) -> Result<Manager, ManagerError> + Send + Sync + 'static,
    story: S,
) -> Perturb
where
    S: Fn(World) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + 'static,
{
    Perturb {
        script: Script {
            program: Arc::new(program),
            story: Arc::new(move |world| Box::pin(story(world))),
            election: true,
            most_writes: 2000,
            ignored: Arc::default(),
        },
        only: Vec::new(),
        stale_by: 1..=3,
        at_most: 64,
        invariants: Vec::new(),
    }
}

impl Perturb {
    /// Tries only this, to reproduce a failure. May be said several times.
    pub fn only(mut self, perturbation: Perturbation) -> Self {
        self.only.push(perturbation);
        self
    }

    /// By how many events the caches are behind; 1 to 3 unless said otherwise.
    pub fn stale_by(mut self, events: RangeInclusive<usize>) -> Self {
        self.stale_by = events;
        self
    }

    /// Tries each kind of perturbation at most so often, spread over the run; 64 times unless said otherwise.
    pub fn at_most(mut self, times: usize) -> Self {
        self.at_most = times.max(1);
        self
    }

    /// The program runs without an election, for programs whose controllers do not need one. It loses no lease then.
    pub fn without_leader_election(mut self) -> Self {
        self.script.election = false;
        self
    }

    /// A run in which the program writes more often has failed: it may go on for ever without any time passing. 2,000 unless
    /// said otherwise.
    pub fn most_writes(mut self, writes: usize) -> Self {
        self.script.most_writes = writes;
        self
    }

    /// Does not compare what is there in any object: `/status/observedAt`. A JSON pointer.
    pub fn ignore(mut self, pointer: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.script.ignored).push(pointer.into());
        self
    }

    /// Adds a condition that must hold at the end of every run, the undisturbed one included.
    pub fn invariant(
        mut self,
        name: impl Into<String>,
        holds: impl Fn(&State) -> Result<(), String> + 'static,
    ) -> Self {
        self.invariants.push((name.into(), Box::new(holds)));
        self
    }

    /// Runs the story under every perturbation.
    ///
    /// # Panics
    ///
    /// With the [`Report`], if a run ends differently from the undisturbed one, does not end, or breaks an invariant.
    #[track_caller]
    pub fn run(self) -> Report {
        let caller = Location::caller();
        let report = self.explore();
        assert!(report.is_success(), "{caller}: {report}");
        report
    }

    /// The same, and leaves it to you what to make of it.
    pub fn explore(&self) -> Report {
        let mut report = Report::default();
        let undisturbed = match self.play(None) {
            Ok(played) => played,
            Err(reason) => {
                report.failed(None, reason);
                return report;
            }
        };
        if let Err(reason) = self.check(&undisturbed.state) {
            report.failed(None, reason);
            return report;
        }
        // Whose end is left to chance has nothing to be compared with.
        let again = self.play(None).and_then(|again| {
            let differences = undisturbed.state.differences(&again.state);
            if differences.is_empty() {
                return Ok(());
            }
            Err(format!(
                "two undisturbed runs end differently: {}",
                differences.join("; ")
            ))
        });
        if let Err(reason) = again {
            report.failed(None, reason);
            return report;
        }
        report.measured(undisturbed.writes, undisturbed.pauses + 1);
        let measures = Measures {
            writes: undisturbed.writes,
            pauses: undisturbed.pauses,
            stale_by: self.stale_by.clone(),
            election: self.script.election,
            at_most: self.at_most,
        };
        let plan = if self.only.is_empty() {
            measures.plan()
        } else {
            self.only.clone()
        };
        for perturbation in plan {
            let outcome = self.play(Some(perturbation)).and_then(|played| {
                self.check(&played.state)?;
                let differences = undisturbed.state.differences(&played.state);
                if differences.is_empty() {
                    return Ok(played);
                }
                Err(differences.join("; "))
            });
            match outcome {
                Ok(played) => report.survived(perturbation, played.struck),
                Err(reason) => report.failed(Some(perturbation), reason),
            }
        }
        report
    }

    fn check(&self, state: &State) -> Result<(), String> {
        for (name, holds) in &self.invariants {
            holds(state).map_err(|reason| format!("{name}: {reason}"))?;
        }
        Ok(())
    }

    /// One run, in a thread and a runtime of its own.
    fn play(&self, perturbation: Option<Perturbation>) -> Result<Played, String> {
        let script = self.script.clone();
        let progress = Arc::new(Progress::default());
        let seen = progress.clone();
        let (tell, told) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .start_paused(true)
                .build();
            let (runtime, played) = match runtime {
                Ok(runtime) => {
                    let played = runtime.block_on(stage::play(script, perturbation, progress));
                    (Some(runtime), played)
                }
                Err(error) => (None, Err(format!("no runtime: {error}"))),
            };
            // Nobody listens if it took too long. What the program leaves behind is cleared away afterwards.
            let _ = tell.send(played);
            drop(runtime);
        });
        let mut before = seen.to_string();
        let mut patience = 0..PATIENCE;
        let told = loop {
            let told = told.recv_timeout(HANGS);
            let now = seen.to_string();
            // Who comes on is only slow, up to a point.
            let comes_on = now != std::mem::replace(&mut before, now.clone());
            let late = matches!(told, Err(mpsc::RecvTimeoutError::Timeout));
            if !late || !comes_on || patience.next().is_none() {
                break told;
            }
        };
        match told {
            Ok(played) => played,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                Err(format!("it hangs: no end after {HANGS:?}, {seen}"))
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(match thread.join() {
                Err(panic) => panic_message(&*panic),
                Ok(()) => "it ended without a word".to_owned(),
            }),
        }
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
