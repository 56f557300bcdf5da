//! [`perturb`]: runs a program with controllers through a story repeatedly, each time under a different perturbation, and
//! compares the final state with that of an undisturbed run.
//!
//! The cluster is prepared once: built-in controllers create their objects and the program installs its definitions.
//! Every run begins with a fork of it, in its own runtime with its own virtual clock, and the program is rebuilt after
//! each crash. Several runs take place at once. The comparison covers everything in the cluster except events and leases,
//! without values that differ by nature (uids, resourceVersions, times, generated names, cluster IPs): see [`State`]. A
//! failure names the [`Perturbation`], which [`Perturb::only`] runs again alone.
//!
//! The webhooks of an operator and its conversions are called in the same process, and some of their calls fail.
//!
//! Limits: clients that the program creates itself are not perturbed, only one perturbation is active at a time, and
//! intermediate states are not compared; assert those in the story, or add a check of [every](Perturb::always) state or of the
//! [final](Perturb::invariant) one.
//!
//! | module | contents |
//! |---|---|
//! | `program` | [`Program`]: what can be perturbed, managers and operators |
//! | `plan` | [`Perturbation`]: the perturbations and their positions |
//! | `runs` | running the story, several times at once, each in its own thread |
//! | `stage` | one run: starting, killing, deposing and waiting for the program |
//! | `link` | the program's connection to the cluster, where perturbations are injected |
//! | `stream` | delayed or blind watches |
//! | `calls` | the webhook calls, one of which fails |
//! | `state` | [`State`]: the final state of a cluster, and differences |
//! | `moment` | [`Moment`]: the objects after a write, and checks of them |
//! | `saved` | results in a file, for the console |
//! | `report`, `progress` | [`Report`] and [`Failure`]; the progress of a run that hangs |

mod calls;
mod link;
mod moment;
mod plan;
mod program;
mod progress;
mod report;
mod runs;
mod saved;
mod stage;
mod state;
mod stream;

use std::{ops::RangeInclusive, panic::Location, path::PathBuf, sync::Arc, thread};

use futures_util::future::LocalBoxFuture;
use kubewright_builtin_controllers::Controllers;

pub(crate) use calls::{Calls, Patient};
pub use moment::Moment;
pub use plan::Perturbation;
pub use program::{Installable, Program};
pub use report::{Failure, Report};
pub use stage::World;
pub use state::State;

use moment::Always;
use plan::Measures;
use program::Parts;
use saved::{SideBySide, save};

/// A program and a story to perturb. Created by [`perturb`].
///
/// ```
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # use kubewright_controller::{
/// #     Action, Context, Controller, Error, Manager, ManagerBuilder, ManagerError, Request, Result,
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
/// // `program` builds a manager whose controller changes nothing.
/// let down = Perturbation::Down { step: 0 };
/// let report = perturb(program, |_: World| async {}).only(down).run();
/// assert_eq!(report.survived, [down]);
/// ```
#[must_use = "nothing runs before `run`"]
pub struct Perturb {
    script: Script,
    only: Vec<Perturbation>,
    stale_by: RangeInclusive<usize>,
    at_most: usize,
    jobs: usize,
    webhook_faults: bool,
    invariants: Vec<(String, Invariant)>,
    saved: Option<PathBuf>,
}

type Story = Arc<dyn Fn(World) -> LocalBoxFuture<'static, ()> + Send + Sync>;
type Invariant = Box<dyn Fn(&State) -> Result<(), String>>;

/// The settings that all runs share.
#[derive(Clone)]
struct Script {
    program: Parts,
    story: Story,
    election: bool,
    most_writes: usize,
    ignored: Arc<Vec<String>>,
    /// The checks that must hold after every write.
    always: Arc<Vec<Always>>,
    /// Whether the timelines of the written objects are needed.
    timelines: bool,
}

/// Perturbs a program during a story.
///
/// `program` is a function that returns a new operator, or one that builds a manager with its controllers from the given builder:
/// see [`Program`]. Its client is subject to the perturbations, and it takes part in a leader election. `story` is what the users
/// of the cluster do; it [pauses](World::pause) between its steps.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kube::Api;
/// use kubewright_controller::{
///     Action, Context, Controller, Error, Manager, ManagerBuilder, ManagerError, Request, Result,
///     create_or_update, owner::set_controller_reference,
/// };
/// use kubewright_testing::{World, perturb};
///
/// // The program: a Secret for every ConfigMap.
/// fn program(manager: ManagerBuilder) -> Result<Manager, ManagerError> {
///     let manager = manager.build()?;
///     Controller::for_::<ConfigMap>().owns::<Secret>().build(&manager, reconcile)?;
///     Ok(manager)
/// }
///
/// async fn reconcile(context: Context, request: Request) -> Result<Action> {
///     let Some(map) = context.get::<ConfigMap>(&request).await? else {
///         return Ok(Action::done());
///     };
///     let mut secret = Secret::default();
///     secret.metadata.name = map.metadata.name.clone();
///     secret.metadata.namespace = map.metadata.namespace.clone();
///     set_controller_reference(&*map, &mut secret)?;
///     let secrets = context.client().api::<Secret>("default");
///     create_or_update(&secrets, secret, |secret| secret.string_data = map.data.clone()).await?;
///     Ok(Action::done())
/// }
///
/// // The story: what happens in the cluster while the program runs.
/// async fn story(world: World) {
///     let maps: Api<ConfigMap> = Api::default_namespaced(world.client());
///     let mut map = ConfigMap::default();
///     map.metadata.name = Some("colours".into());
///     let map = maps.create(&Default::default(), &map).await.unwrap();
///     world.pause().await;
///     let changed = ConfigMap { data: Some([("sky".into(), "blue".into())].into()), ..map };
///     maps.replace("colours", &Default::default(), &changed).await.unwrap();
/// }
///
/// perturb(program, story).run();
/// ```
pub fn perturb<Form, S, F>(program: impl Program<Form>, story: S) -> Perturb
where
    S: Fn(World) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + 'static,
{
    Perturb {
        script: Script {
            program: program.into_parts(),
            story: Arc::new(move |world| Box::pin(story(world))),
            election: true,
            most_writes: 2000,
            ignored: Arc::default(),
            always: Arc::default(),
            timelines: false,
        },
        only: Vec::new(),
        stale_by: 1..=3,
        at_most: 64,
        jobs: thread::available_parallelism().map_or(1, usize::from),
        webhook_faults: true,
        invariants: Vec::new(),
        saved: None,
    }
}

impl Perturb {
    /// Tries only this perturbation, to reproduce a failure. May be called several times.
    pub fn only(mut self, perturbation: Perturbation) -> Self {
        self.only.push(perturbation);
        self
    }

    /// Sets the numbers of events by which caches lag. Defaults to 1 to 3.
    pub fn stale_by(mut self, events: RangeInclusive<usize>) -> Self {
        self.stale_by = events;
        self
    }

    /// Limits the number of runs for each kind of perturbation; they are spread over the run. Defaults to 64.
    pub fn at_most(mut self, times: usize) -> Self {
        self.at_most = times.max(1);
        self
    }

    /// Sets the built-in controllers that run beside the program. Defaults to all of them for an operator, and to none for a
    /// manager.
    pub fn controllers(mut self, controllers: Controllers) -> Self {
        self.script.program.controllers = controllers;
        self
    }

    /// Sets the number of concurrent runs (default: the number of processors). A program with global state needs 1.
    pub fn jobs(mut self, runs: usize) -> Self {
        self.jobs = runs.max(1);
        self
    }

    /// Runs the program without leader election, and therefore without lost leases.
    pub fn without_leader_election(mut self) -> Self {
        self.script.election = false;
        self
    }

    /// Leaves out the runs in which a webhook is unavailable, wrong or negative: for stories and programs that rely on a webhook
    /// with the failure policy `Ignore`, which is skipped while it is down.
    pub fn without_webhook_faults(mut self) -> Self {
        self.webhook_faults = false;
        self
    }

    /// Sets the number of writes after which a run fails (default: 2,000), since a program may write forever without any time
    /// passing.
    pub fn most_writes(mut self, writes: usize) -> Self {
        self.script.most_writes = writes;
        self
    }

    /// Ignores the value at a JSON pointer in every object: `/status/observedAt`.
    pub fn ignore(mut self, pointer: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.script.ignored).push(pointer.into());
        self
    }

    /// Saves the results as JSON in a file, for the console: `kubewright dev` and `kubewright console` show the files in
    /// `target/kubewright/perturbations` of the project. They also contain the timelines of the objects that differ.
    pub fn save(mut self, path: impl Into<PathBuf>) -> Self {
        self.saved = Some(path.into());
        self.script.timelines = true;
        self
    }

    /// Adds a check of the final state of every run, including the undisturbed one.
    pub fn invariant(
        mut self,
        name: impl Into<String>,
        holds: impl Fn(&State) -> Result<(), String> + 'static,
    ) -> Self {
        self.invariants.push((name.into(), Box::new(holds)));
        self
    }

    /// Adds a check that must hold after every write, also those of the story, in every run. It sees the objects of some
    /// resources: `pods`, `deployments.apps`. See [`Moment`].
    pub fn always<R: Into<String>>(
        mut self,
        name: impl Into<String>,
        resources: impl IntoIterator<Item = R>,
        holds: impl Fn(&Moment) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        let check = Always {
            name: name.into(),
            resources: resources.into_iter().map(Into::into).collect(),
            holds: Arc::new(holds),
        };
        Arc::make_mut(&mut self.script.always).push(check);
        self
    }

    /// Runs the story under every perturbation.
    ///
    /// # Panics
    ///
    /// Panics with the [`Report`] if a run ends differently from the undisturbed one, does not end, or violates an
    /// invariant.
    #[track_caller]
    pub fn run(self) -> Report {
        let caller = Location::caller();
        let report = self.explore();
        assert!(report.is_success(), "{caller}: {report}");
        report
    }

    /// Runs the story under every perturbation and returns the report.
    ///
    /// # Panics
    ///
    /// Panics if the results cannot be [saved](Self::save).
    pub fn explore(&self) -> Report {
        let report = self.play();
        if let Some(path) = &self.saved
            && let Err(error) = save(path, &report)
        {
            panic!("cannot save the results in {}: {error}", path.display());
        }
        report
    }

    fn play(&self) -> Report {
        let mut report = Report::default();
        let undisturbed = runs::prepare(&self.script)
            .and_then(|start| Ok((runs::play(&self.script, &start, None)?, start)));
        let (undisturbed, start) = match undisturbed {
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
        // A run with a random outcome cannot be compared.
        let again = runs::play(&self.script, &start, None).and_then(|again| {
            let differences = undisturbed.state.differences(&again.state);
            if differences.is_empty() {
                return Ok(());
            }
            Err(format!(
                "two undisturbed runs have different outcomes: {}",
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
            webhook_calls: undisturbed.webhook_calls,
            webhook_paths: match self.webhook_faults {
                true => undisturbed.webhook_paths,
                false => Vec::new(),
            },
            stale_by: self.stale_by.clone(),
            election: self.script.election,
            at_most: self.at_most,
        };
        let plan = if self.only.is_empty() {
            measures.plan()
        } else {
            self.only.clone()
        };
        let outcomes = runs::play_all(&self.script, &start, &plan, self.jobs);
        for (perturbation, outcome) in plan.into_iter().zip(outcomes) {
            let played = match outcome {
                Ok(played) => played,
                Err(reason) => {
                    report.failed(Some(perturbation), reason);
                    continue;
                }
            };
            let checked = self.check(&played.state).and_then(|()| {
                let differences = undisturbed.state.differences(&played.state);
                match differences.is_empty() {
                    true => Ok(()),
                    false => Err(differences.join("; ")),
                }
            });
            match checked {
                Ok(()) => report.survived(perturbation, played.struck),
                Err(reason) => {
                    let both = SideBySide::of(&reason, &undisturbed.timelines, &played.timelines);
                    report.timelines.push((perturbation, both));
                    report.failed(Some(perturbation), reason);
                }
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
}
