//! `kubewright dev`: runs the operator on a cluster and rebuilds it when files change.
//!
//! The cluster is a local one in this process, or with `--context` a real one. The operator is a child process. Saving
//! a file rebuilds it. If the build succeeds, changed CRDs are applied and the operator is restarted, while the cluster
//! keeps its state. If it fails, the errors are shown and the old operator keeps running.
//!
//! | module | contents |
//! |---|---|
//! | `files` | file changes |
//! | `cycle`, `building` | rebuilding and restarting the operator; the running cargo |
//! | `child`, `account` | the process of the operator; its ServiceAccount and roles |
//! | `link` | the console's way to the operator |
//! | `cause`, `log` | the cause of its end; its log |
//! | `samples` | sample objects |
//! | `webhooks`, `reviews` | the registration of its webhooks; the reviews that they answer |
//! | `observer` | the reconciles and Events of the operator |
//! | `pods`, `owners` | the pods of its workloads; the objects that they belong to |
//! | `event`, `recent`, `screen`, `frame` | the output |

mod account;
mod building;
mod cause;
mod child;
mod cycle;
mod event;
mod files;
mod frame;
mod link;
mod log;
mod observer;
mod owners;
mod pods;
mod recent;
mod reviews;
mod samples;
mod screen;
mod webhooks;

use std::{
    ffi::OsString,
    io::{IsTerminal, stdout},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use kube::Client;
use kubewright_cluster::{AccessLog, Cluster as LocalBuilder, DataDir, Lab, SyncMode};
use kubewright_console::save_session;
use kubewright_ledger::Ledger;
use kubewright_scaffold::Project;
use tokio::sync::watch;

use account::Account;
use cycle::Cycle;
use event::DevEvent;
use link::{Input, OperatorLink};
use owners::Owners;
use screen::{Screen, View};
use webhooks::CalledWebhooks;

use crate::{
    cluster::{
        Cluster,
        authorization::Authorization,
        console::{ConsoleArgs, SESSIONS, Subject, Where, open_on_key},
        local::LocalCluster,
        parts::{Objects, Parts},
    },
    operator::webhooks::{LocalWebhooks, Whereabouts},
    output::{Output, warn},
    project::{
        here, project,
        session::{Session, SessionLock},
    },
    signal::interrupted,
    terminal::style::Style,
};

/// The time limit for saving a session at its end.
const SAVING: Duration = Duration::from_secs(10);

#[derive(Args)]
pub(crate) struct Dev {
    #[command(flatten)]
    cluster: Cluster,

    /// Port to serve the local cluster on; 0 lets the system choose
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,

    /// Kubeconfig file to write [default: target/kubewright/kubeconfig]; it is removed at the end
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,

    #[command(flatten)]
    parts: Parts,

    #[command(flatten)]
    authorization: Authorization,

    /// Do not record who wrote what and why
    #[arg(long)]
    no_ledger: bool,

    /// Keep the objects of the local cluster in target/kubewright/data, for the next `dev --keep`
    #[arg(long)]
    keep: bool,

    /// Apply the objects of config/samples [default: true, unless on a real cluster]
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL", require_equals = true)]
    samples: Option<bool>,

    /// Print lines instead of the live view
    #[arg(long)]
    plain: bool,

    #[command(flatten)]
    console: ConsoleArgs,

    #[command(flatten)]
    output: Output,

    /// Arguments for the operator
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

/// The cluster of the session.
struct Place {
    client: Client,
    /// Stops the cluster when it is dropped.
    local: Option<LocalCluster>,
    /// The experiments on the local cluster.
    lab: Lab,
    /// The permissions that requests to the local cluster needed.
    log: AccessLog,
    /// The flags by which the operator and other commands reach the cluster.
    cluster: Cluster,
    server: String,
}

impl Place {
    fn is_local(&self) -> bool {
        self.local.is_some()
    }
}

impl Dev {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let stop = interrupted()?;
        let project = project()?;
        let terminal = stdout().is_terminal();
        let view = match (self.output.is_json(), terminal && !self.plain) {
            (true, _) => View::Json,
            (false, true) => View::Live,
            (false, false) => View::Lines,
        };
        let _lock = SessionLock::acquire(project.root())?;
        let screen = Screen::new(view, Style::of(terminal), &project.name);
        let place = self.place(&project).await?;
        let whose = match place.is_local() {
            true => Where::Here(Some(place.lab.clone())),
            false => Where::Elsewhere,
        };
        let title = format!("kubewright dev: {}", project.name);
        let (address, of) = watch::channel(None);
        let input = Input::default();
        let operator = OperatorLink::new(of.clone(), input.clone());
        let subject = Subject::new(&title, whose)
            .project(project.root())
            .operator(operator);
        let console = self.console.start(place.client.clone(), subject).await?;
        let console_url = console.as_ref().map(|console| console.url().to_owned());
        screen.show(DevEvent::Cluster {
            server: place.server.clone(),
            flags: flags(&place.cluster),
            console: console_url.clone(),
        });
        let whereabouts = match (place.is_local(), place.cluster.is_here().await?) {
            (true, _) => Whereabouts::ThisProcess,
            (false, true) => Whereabouts::Here,
            (false, false) => Whereabouts::Elsewhere,
        };
        let directory = Session::directory(project.root()).join("dev");
        let webhooks =
            LocalWebhooks::prepare(place.client.clone(), whereabouts, &directory).await?;
        let reviewed = of.clone();
        let account = place
            .local
            .as_ref()
            .filter(|_| !self.authorization.is_open());
        let account = account.map(|local| Account::new(&project, local, place.log.clone()));
        let mut cycle = Cycle {
            project: &project,
            client: place.client.clone(),
            cluster: &place.cluster,
            console: console_url,
            screen: screen.clone(),
            arguments: self.arguments,
            account,
            samples: self.samples.unwrap_or(!self.cluster.is_named()),
            address,
            child: None,
            input,
            described: None,
            crates: None,
            building: building::Building::default(),
            expected: None,
            webhooks: CalledWebhooks::new(webhooks, screen.clone()),
        };
        let owners = Owners::new(place.client.clone(), project.own_groups());
        let ended = tokio::select! {
            ended = cycle.run() => ended,
            () = observer::reconciles(of, screen.clone()) => Ok(()),
            () = reviews::reviews(reviewed, screen.clone()) => Ok(()),
            () = observer::denials(place.log.clone(), screen.clone()) => Ok(()),
            () = observer::events(place.client.clone(), &owners, screen.clone()) => Ok(()),
            () = pods::pods(place.client.clone(), &owners, screen.clone()) => Ok(()),
            () = screen.draw() => Ok(()),
            () = open_on_key(console.as_ref()) => Ok(()),
            () = stop => Ok(()),
        };
        if place.is_local() && console.is_some() {
            save(&place.client, &title, project.root()).await;
        }
        cycle.end().await;
        screen.end(place.is_local());
        ended
    }

    /// Starts a local cluster, or connects to the one that the flags select.
    async fn place(&self, project: &Project) -> anyhow::Result<Place> {
        if self.cluster.is_named() {
            let context = self.cluster.context.clone();
            return Ok(Place {
                client: self.cluster.client().await?,
                local: None,
                lab: Lab::new(),
                log: AccessLog::new(),
                cluster: self.cluster.clone(),
                server: context.unwrap_or_else(|| "the cluster of the kubeconfig".to_owned()),
            });
        }
        let kubeconfig = match &self.write_kubeconfig {
            Some(path) => here()?.join(path),
            None => Session::directory(project.root()).join("kubeconfig"),
        };
        let (log, lab) = (AccessLog::new(), Lab::new());
        let mut builder = LocalBuilder::builder().lab(lab.clone());
        if self.keep {
            let directory = Session::directory(project.root()).join("data");
            // It must outlive this process, not a power cut, and every saved file writes objects.
            builder = builder.data_dir(DataDir::new(directory).sync(SyncMode::Process));
        }
        let builder = self
            .parts
            .add_to(builder, Objects::Own)
            .name("kubewright-dev")
            .authorization(self.authorization.modes()?)
            .access_log(log.clone())
            .ledger((!self.no_ledger).then(Ledger::new));
        let local = LocalCluster::listen(builder, self.port, &kubeconfig).await?;
        let server = local.url().to_owned();
        Ok(Place {
            client: local.direct_client(),
            local: Some(local),
            lab,
            log,
            cluster: Cluster {
                kubeconfig: Some(kubeconfig),
                context: None,
            },
            server,
        })
    }
}

/// Saves what the console shows, so that the next session can show it.
async fn save(client: &Client, title: &str, root: &Path) {
    let directory = root.join(SESSIONS);
    let saved = save_session(client.clone(), title, &directory);
    match tokio::time::timeout(SAVING, saved).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => warn(format_args!("cannot save the session: {error}")),
        Err(_) => warn("cannot save the session: it takes too long"),
    }
}

/// Formats the flags that select the cluster, with paths relative to the current directory.
fn flags(cluster: &Cluster) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let shown = |flag: &OsString| {
        let path = Path::new(flag);
        let path = path.strip_prefix(&here).unwrap_or(path);
        path.display().to_string()
    };
    let flags: Vec<String> = cluster.flags().iter().map(shown).collect();
    flags.join(" ")
}
