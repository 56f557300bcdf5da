//! [`Cycle`]: rebuilds and restarts the operator when files change.

use std::{
    ffi::OsString,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, SystemTime},
};

use kube::{Client, core::DynamicObject};
use kubewright_scaffold::{Error, Project};
use serde_json::Value;
use tokio::sync::watch;

use super::{
    child::Child,
    event::DevEvent,
    files::{Changes, Files},
    samples,
    screen::Screen,
};
use crate::{
    cluster::{
        Cluster,
        apply::{Action, Applier, Report, title},
        refused,
    },
    operator::{
        conversion::{Endpoint, reset_conversion},
        definitions,
        program::{BuildError, Program, build_apart},
    },
    project::session::Session,
};

/// The time limit for a CRD to be established.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The delay before an operator that ended by itself is restarted.
const PAUSE: Duration = Duration::from_secs(2);

/// The state that is kept between two turns.
pub(super) struct Cycle<'a> {
    pub(super) project: &'a Project,
    pub(super) client: Client,
    pub(super) cluster: &'a Cluster,
    pub(super) screen: Screen,
    pub(super) arguments: Vec<OsString>,
    pub(super) samples: bool,
    pub(super) address: watch::Sender<Option<String>>,
    pub(super) child: Option<Child>,
    /// The CRDs that were applied last.
    pub(super) definitions: Vec<Value>,
    pub(super) building: Building,
    /// The conversion endpoint, if the cluster can call this machine.
    pub(super) endpoint: Option<Endpoint>,
}

/// The process group of a running cargo.
#[derive(Clone, Default)]
pub(super) struct Building(Arc<AtomicU32>);

/// The reason for the end of a turn.
enum Next {
    Changed(Changes),
    Ended(String),
}

impl Cycle<'_> {
    /// Runs until it is dropped.
    pub(super) async fn run(&mut self) -> anyhow::Result<()> {
        let root = self.project.root().to_owned();
        let mut files = Files::of(&root);
        let mut program = self.built("first build, which takes longest").await;
        let (mut starts, mut sampled, mut saved) = (true, false, None);
        loop {
            if let Some(built) = program.as_ref().filter(|_| starts) {
                match self.replace(built, saved).await {
                    Ok(()) if !sampled => {
                        self.apply_samples().await;
                        sampled = true;
                    }
                    Ok(()) => {}
                    Err(refusal) => self.refused(&refusal),
                }
            }
            let next = tokio::select! {
                changes = files.changed(&root) => Next::Changed(changes),
                how = ended(&self.child) => Next::Ended(how),
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
                    program = built.or(program);
                }
                Next::Ended(how) => {
                    self.child = None;
                    self.address.send_replace(None);
                    self.screen.show(DevEvent::Ended { how });
                    (starts, saved) = (true, None);
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Stops the operator and the build.
    pub(super) async fn end(&mut self) {
        self.building.stop();
        if let Some(child) = self.child.take() {
            child.stop().await;
        }
        let converted = |definition: &&Value| !definition["spec"]["conversion"].is_null();
        for definition in self.definitions.iter().filter(converted) {
            let name = definition["metadata"]["name"].as_str().unwrap_or_default();
            if let Err(error) = reset_conversion(&self.client, name).await {
                self.refused(&refused(
                    format_args!("reset the conversion of {name}"),
                    &error,
                ));
            }
        }
    }

    /// Builds the operator. Returns nothing if it does not compile.
    async fn built(&self, why: &str) -> Option<Program> {
        self.screen.show(DevEvent::Building {
            why: why.to_owned(),
        });
        let (project, building) = (self.project.clone(), self.building.clone());
        let built = tokio::task::spawn_blocking(move || {
            let built = build_apart(&project, |group| building.started(group));
            building.started(0);
            built
        });
        match built.await {
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
    async fn replace(&mut self, program: &Program, saved: Option<SystemTime>) -> Result<(), Error> {
        let asked = program.clone();
        let mut described = tokio::task::spawn_blocking(move || asked.describe())
            .await
            .map_err(|e| Error::new(e, "save a file to try again"))??;
        let mut arguments = self.arguments.clone();
        if let Some(endpoint) = &self.endpoint
            && !described.conversions.is_empty()
        {
            endpoint.configure(&mut described);
            // Arguments of the user come last.
            arguments.splice(0..0, endpoint.flags());
        }
        if described.crds != self.definitions {
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
            self.definitions = described.crds;
        }
        if let Some(child) = self.child.take() {
            child.stop().await;
        }
        self.address.send_replace(None);
        let child = Child::start(&program.executable, &arguments, &self.screen).await?;
        let ready = child.ready().await;
        let (pid, address) = (child.pid, child.address.clone());
        self.child = Some(child);
        if ready.is_err() {
            // The task that waits for the operator notices its end.
            return Ok(());
        }
        self.screen.show(DevEvent::Running {
            pid,
            address: address.clone(),
            build_seconds: program.took.as_secs_f64(),
            since_saved_seconds: saved
                .and_then(|saved| saved.elapsed().ok())
                .map(|since| since.as_secs_f64()),
        });
        let session = Session {
            kubeconfig: self.cluster.kubeconfig.clone(),
            context: self.cluster.context.clone(),
            operator: address.clone(),
        };
        session.write(self.project.root())?;
        self.address.send_replace(Some(address));
        Ok(())
    }

    async fn apply_samples(&self) {
        if !self.samples {
            return;
        }
        let (objects, wrong) = samples::of(self.project.root(), &self.definitions);
        for refusal in wrong {
            self.refused(&refusal);
        }
        let report = Report::silent();
        // Samples are applied under another field manager than the operator's, as kubectl would.
        let mut applier = Applier::new(self.client.clone(), "kubewright-dev", TIMEOUT, &report);
        for object in &objects {
            self.apply_sample(&mut applier, object).await;
        }
    }

    async fn apply_sample(&self, applier: &mut Applier<'_>, object: &DynamicObject) {
        match applier.one(object).await {
            Ok((_, Action::Unchanged)) => {}
            Ok((_, action)) => self.applied(title(object), action),
            Err(refusal) => self.refused(&refusal),
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

impl Building {
    fn started(&self, group: u32) {
        self.0.store(group, Ordering::SeqCst);
    }

    /// Stops cargo and the compilers that it started.
    fn stop(&self) {
        let group = self.0.swap(0, Ordering::SeqCst);
        if group != 0 && cfg!(unix) {
            // It may have ended already.
            let _ = std::process::Command::new("kill")
                .args(["-TERM", "--", &format!("-{group}")])
                .stderr(std::process::Stdio::null())
                .status();
        }
    }
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
