//! [`Cycle`]: rebuilds and restarts the operator when files change.

use std::{
    ffi::OsString,
    time::{Duration, SystemTime},
};

use kube::Client;
use kubewright_operator::Model;
use kubewright_scaffold::{Error, Project};
use serde_json::Value;
use tokio::{sync::watch, time::Instant};

use super::{
    account::Account,
    building::Building,
    child::{Child, Readiness},
    event::DevEvent,
    files::{Changes, Files},
    link::Input,
    samples,
    screen::Screen,
    webhooks::CalledWebhooks,
};
use crate::{
    cluster::{
        Cluster,
        apply::{Action, Applier, Report, title},
        migrate::migrate,
    },
    operator::{
        definitions,
        program::{BuildError, Program, Progress, build_apart, count_crates},
    },
    project::session::Session,
};

/// The time limit for a CRD to be established.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The delays before an operator that ended by itself is restarted: the first one, and the longest.
const PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(32);

/// The reasons why webhooks are not called.
const DOWN: &str = "and objects are stored without review, while the operator is down";
const NOT_READY: &str = "and objects are stored without review, until the operator is ready";

/// The state that is kept between two turns.
pub(super) struct Cycle<'a> {
    pub(super) project: &'a Project,
    pub(super) client: Client,
    pub(super) cluster: &'a Cluster,
    /// The URL of the console.
    pub(super) console: Option<String>,
    pub(super) screen: Screen,
    pub(super) arguments: Vec<OsString>,
    /// The operator's own account, if it does not run as the user of the kubeconfig.
    pub(super) account: Option<Account<'a>>,
    pub(super) samples: bool,
    pub(super) address: watch::Sender<Option<String>>,
    pub(super) child: Option<Child>,
    /// The standard input of the operator.
    pub(super) input: Input,
    /// The description of the operator whose CRDs were applied last.
    pub(super) described: Option<Model>,
    /// The number of crates that a whole build compiles.
    pub(super) crates: Option<usize>,
    pub(super) building: Building,
    /// The event to show when an operator that is not ready becomes so.
    pub(super) expected: Option<DevEvent>,
    pub(super) webhooks: CalledWebhooks,
}

/// Whether the CRDs differ from those of the operator before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Definitions {
    Changed,
    Unchanged,
}

/// The reason for the end of a turn.
enum Next {
    Changed(Changes),
    Ended(String),
    /// An operator that was not ready has become so.
    Ready,
    /// An operator that ended should be restarted.
    Restart,
}

impl Cycle<'_> {
    /// Runs until it is dropped.
    pub(super) async fn run(&mut self) -> anyhow::Result<()> {
        let root = self.project.root().to_owned();
        let mut files = Files::of(&root);
        let mut program = self.built("first build, which takes longest").await;
        let (mut starts, mut sampled, mut saved) = (true, false, None);
        let (mut pause, mut restart) = (PAUSE, None);
        loop {
            if let Some(built) = program.as_ref().filter(|_| starts) {
                match self.replace(built, saved).await {
                    // Samples that the old schema pruned or rejected may be accepted now.
                    Ok(Definitions::Changed) => {
                        self.apply_samples().await;
                        sampled = true;
                    }
                    Ok(Definitions::Unchanged) => {}
                    Err(refusal) => self.refused(&refusal),
                }
            }
            let next = tokio::select! {
                changes = files.changed(&root) => Next::Changed(changes),
                how = ended(&self.child) => Next::Ended(how),
                () = becomes_ready(&self.child), if self.expected.is_some() => Next::Ready,
                () = at(restart) => Next::Restart,
            };
            match next {
                Next::Changed(changes) => {
                    if changes.samples() && sampled {
                        self.apply_samples().await;
                    }
                    saved = Some(changes.saved);
                    let built = match changes.code() {
                        true => self.built(&changes.words()).await,
                        false => None,
                    };
                    starts = built.is_some();
                    if starts {
                        (pause, restart) = (PAUSE, None);
                    }
                    program = built.or(program);
                }
                Next::Ended(how) => {
                    (self.child, self.expected) = (None, None);
                    self.address.send_replace(None);
                    self.screen.show(DevEvent::Ended { how });
                    if let Err(refusal) = self.webhooks.down(DOWN).await {
                        self.refused(&refusal);
                    }
                    starts = false;
                    restart = Some(Instant::now() + pause);
                    pause = LONGEST_PAUSE.min(pause * 2);
                }
                Next::Ready => {
                    starts = false;
                    if let Some(running) = self.expected.take() {
                        self.screen.show(running);
                    }
                    if let Err(refusal) = self.register().await {
                        self.refused(&refusal);
                    }
                }
                Next::Restart => (starts, saved, restart) = (true, None, None),
            }
        }
    }

    /// Stops the operator and the build.
    pub(super) async fn end(&mut self) {
        self.building.stop();
        // The operator still answers while its webhooks are removed.
        for error in self.webhooks.end().await {
            self.refused(&error);
        }
        if let Some(child) = self.child.take() {
            child.stop().await;
        }
        if let Some(Err(error)) = self.account.take().map(|account| account.record()) {
            self.refused(&error);
        }
    }

    /// Builds the operator. Returns nothing if it does not compile.
    async fn built(&mut self, why: &str) -> Option<Program> {
        self.screen.show(DevEvent::Building {
            why: why.to_owned(),
        });
        let (project, building) = (self.project.clone(), self.building.clone());
        let (screen, known) = (self.screen.clone(), self.crates);
        let built = tokio::task::spawn_blocking(move || {
            let show = |done, total, now: &str| {
                screen.show(DevEvent::Progress {
                    done,
                    total,
                    now: now.to_owned(),
                });
            };
            let total = known.or_else(|| {
                show(0, None, "resolving dependencies");
                count_crates(&project)
            });
            let progress = move |step: Progress<'_>| show(step.done, total, step.now);
            let built = build_apart(&project, |group| building.started(group), &progress);
            building.ended();
            (built, total)
        });
        let built = built.await.map(|(built, total)| {
            self.crates = total;
            built
        });
        match built {
            Ok(Ok(program)) => Some(program),
            Ok(Err(BuildError::Compile(said))) => {
                self.screen.show(DevEvent::Broken {
                    said: errors(&said),
                });
                None
            }
            Ok(Err(BuildError::Refused(refusal))) => {
                self.refused(&refusal);
                None
            }
            Err(error) => {
                self.refused(&Error::new(error, "save a file to try again"));
                None
            }
        }
    }

    /// Applies the CRDs and replaces the running operator with this one.
    async fn replace(
        &mut self,
        program: &Program,
        saved: Option<SystemTime>,
    ) -> Result<Definitions, Error> {
        let asked = program.clone();
        let mut described = tokio::task::spawn_blocking(move || asked.describe())
            .await
            .map_err(|e| Error::new(e, "save a file to try again"))??;
        let mut arguments = self.give_permissions(&described).await?;
        arguments.extend(self.arguments.iter().cloned());
        // Arguments of the user come last.
        arguments.splice(0..0, self.webhooks.configure(&mut described).await?);
        let before = self.described.as_ref().map(|model| &model.crds);
        let definitions_are = match before == Some(&described.crds) {
            true => Definitions::Unchanged,
            false => Definitions::Changed,
        };
        if definitions_are == Definitions::Changed {
            self.migrate(&described).await?;
            let objects = definitions(&described)
                .map_err(|e| Error::new(e, "check the types of the operator's kinds"))?;
            let report = Report::silent();
            let mut applier = Applier::new(self.client.clone(), &described.name, TIMEOUT, &report);
            for outcome in applier.apply(objects).await? {
                if outcome.action != Action::Unchanged {
                    let kind = outcome.kind.to_lowercase();
                    self.applied(format!("{kind}/{}", outcome.name), outcome.action);
                }
            }
        }
        self.described = Some(described);
        self.webhooks.pause().await?;
        if let Some(child) = self.child.take() {
            child.stop().await;
        }
        self.address.send_replace(None);
        let child =
            Child::start(&program.executable, &arguments, &self.input, &self.screen).await?;
        if let Some(described) = &self.described {
            self.webhooks.serving(described, &child).await?;
        }
        let ready = child.ready().await;
        let (pid, address) = (child.pid, child.address.clone());
        self.child = Some(child);
        let since_saved = saved.and_then(|saved| saved.elapsed().ok());
        let running = DevEvent::Running {
            pid,
            address: address.clone(),
            build_seconds: program.took.as_secs_f64(),
            since_saved_seconds: since_saved.map(|since| since.as_secs_f64()),
        };
        match ready {
            // The task that waits for the operator notices its end.
            Readiness::Ended => return Ok(definitions_are),
            Readiness::NotReady(why) => {
                self.screen.show(DevEvent::NotReady { pid, why });
                self.webhooks.down(NOT_READY).await?;
                self.expected = Some(running);
            }
            Readiness::Ready => {
                self.screen.show(running);
                self.expected = None;
                self.register().await?;
            }
        }
        let session = Session {
            kubeconfig: self.cluster.kubeconfig.clone(),
            context: self.cluster.context.clone(),
            operator: address.clone(),
            console: self.console.clone(),
        };
        session.write(self.project.root())?;
        self.address.send_replace(Some(address));
        Ok(definitions_are)
    }

    /// Has the cluster call the webhooks of an operator that is ready.
    async fn register(&mut self) -> Result<(), Error> {
        match &self.described {
            Some(described) => self.webhooks.ready(described).await,
            None => Ok(()),
        }
    }

    /// Gives the operator its roles, and returns the flags by which it reaches the cluster.
    async fn give_permissions(&mut self, described: &Model) -> Result<Vec<OsString>, Error> {
        let Some(account) = &mut self.account else {
            return Ok(self.cluster.flags());
        };
        account.record()?;
        let outcomes = account
            .apply(described, self.client.clone(), TIMEOUT)
            .await?;
        let flags = account.flags();
        for outcome in outcomes {
            let is_role = outcome.kind.ends_with("Role");
            if is_role && outcome.action != Action::Unchanged {
                let kind = outcome.kind.to_lowercase();
                self.applied(format!("{kind}/{}", outcome.name), outcome.action);
            }
        }
        Ok(flags)
    }

    /// Rewrites objects that are stored in versions which the new CRDs do not have, while the old operator still converts.
    async fn migrate(&self, described: &Model) -> Result<(), Error> {
        let before = self.described.iter().flat_map(|model| &model.crds);
        for old in before {
            let name = old["metadata"]["name"].as_str().unwrap_or_default();
            let new = described
                .crds
                .iter()
                .find(|it| it["metadata"]["name"] == name);
            let versions = |crd: &Value| {
                let versions = crd["spec"]["versions"].as_array().cloned();
                let names = versions.into_iter().flatten().map(|it| it["name"].clone());
                names.collect::<Vec<Value>>()
            };
            let left = new.map(versions).unwrap_or_default();
            if new.is_some() && versions(old).iter().any(|it| !left.contains(it)) {
                migrate(&self.client, name).await?;
            }
        }
        Ok(())
    }

    async fn apply_samples(&self) {
        let Some(described) = self.described.as_ref().filter(|_| self.samples) else {
            return;
        };
        let (samples, wrong) = samples::of(self.project, described);
        for refusal in wrong {
            self.refused(&refusal);
        }
        let report = Report::silent();
        // Samples are applied under another field manager than the operator's, as kubectl would.
        let mut applier = Applier::new(self.client.clone(), "kubewright-dev", TIMEOUT, &report);
        for sample in &samples {
            match applier.one(&sample.object).await {
                Ok((_, Action::Unchanged)) => {}
                Ok((_, action)) => self.applied(title(&sample.object), action),
                Err(refusal) => self.screen.show(DevEvent::Refused {
                    why: sample.refused(&refusal),
                }),
            }
        }
    }

    fn applied(&self, object: String, action: Action) {
        let action = match action {
            Action::Created => "created",
            _ => "configured",
        };
        self.screen.show(DevEvent::Applied {
            object,
            action: action.to_owned(),
        });
    }

    fn refused(&self, refusal: &Error) {
        self.screen.show(DevEvent::Refused {
            why: refusal.to_string(),
        });
    }
}

/// Waits until a time; never completes if there is none.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Waits until the operator is ready; never completes if there is none, or if it ends.
async fn becomes_ready(child: &Option<Child>) {
    if let Some(child) = child {
        loop {
            match child.ready().await {
                Readiness::Ready => return,
                Readiness::NotReady(_) => {}
                Readiness::Ended => break,
            }
        }
    }
    std::future::pending().await
}

/// Waits until the operator has ended; never completes if there is none.
async fn ended(child: &Option<Child>) -> String {
    match child {
        Some(child) => child.ended().await,
        None => std::future::pending().await,
    }
}

/// Removes cargo's progress messages from the output of the compiler.
fn errors(said: &str) -> String {
    let progress = |line: &&str| {
        let word = line.trim_start().split(' ').next().unwrap_or_default();
        !matches!(
            word,
            "Compiling" | "Blocking" | "Finished" | "Locking" | "Updating" | "Fresh"
        )
    };
    let lines: Vec<&str> = said.lines().filter(progress).collect();
    lines.join("\n").trim().to_owned()
}
