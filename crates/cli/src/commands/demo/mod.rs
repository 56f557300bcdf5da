//! `kubewright demo`: a controller at work on a local cluster, driven by a script.
//!
//! On a terminal a live view is redrawn until Ctrl-C; elsewhere, and with `--once`, events are printed as lines. `--once`
//! plays the script without pauses, opens no socket, and fails if the controller does not react as expected.
//!
//! | module | contents |
//! |---|---|
//! | `controller`, `observer` | the controller, and the observation of its events and reconciles |
//! | `story`, `actor`, `workloads` | the script: changes to the cluster and expected reactions |
//! | `event`, `screen`, `frame` | the output |

mod actor;
mod controller;
mod event;
mod frame;
mod observer;
mod screen;
mod story;
mod workloads;

use std::{
    io::{IsTerminal, stdout},
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::ensure;
use clap::Args;
use kubewright_cluster::{Cluster, ClusterBuilder, Controllers, Lab, Profile};
use kubewright_controller::Manager;
use kubewright_ledger::Ledger;
use tokio::sync::oneshot;

use actor::Actor;
use screen::{Screen, View};
use story::Story;
use workloads::{NODE_GRACE, Workloads};

use crate::{
    cluster::{
        console::{ConsoleArgs, RunningConsole, Subject, Where, open_on_key},
        local::LocalCluster,
    },
    output::{Output, say_line},
    signal::interrupted,
    terminal::style::Style,
};

/// Returns a cluster with all controllers and two simulated nodes.
fn parts() -> ClusterBuilder {
    let controllers = Controllers::all()
        .node_monitor_grace(NODE_GRACE)
        .node_eviction_interval(NODE_GRACE);
    let builder = Cluster::builder().profile(Profile::Full);
    builder.controllers(controllers)
}

/// The pause before and after each step, for people to read.
const PAUSE: Duration = Duration::from_millis(1500);

#[derive(Args)]
pub(crate) struct Demo {
    /// Play the script once without pauses, and fail if the controller does not react as expected
    #[arg(long)]
    once: bool,

    /// Port to serve the cluster on; 0 lets the system choose
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        conflicts_with = "once"
    )]
    port: u16,

    /// Kubeconfig file to write; it is removed at the end
    #[arg(
        long,
        value_name = "FILE",
        default_value = "kubewright-demo.kubeconfig",
        conflicts_with = "once"
    )]
    kubeconfig: PathBuf,

    #[command(flatten)]
    console: ConsoleArgs,

    #[command(flatten)]
    output: Output,
}

impl Demo {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let began = Instant::now();
        let stop = interrupted()?;
        let lab = Lab::new();
        let cluster = match self.once {
            true => LocalCluster::start(parts()).await?,
            false => {
                let builder = parts().name("kubewright-demo").ledger(Ledger::new());
                let builder = builder.lab(lab.clone());
                LocalCluster::listen(builder, self.port, &self.kubeconfig).await?
            }
        };
        let manager = Manager::builder(cluster.client())
            .name(controller::NAME)
            .build()?;
        let terminal =
            stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|t| t != "dumb");
        let style = Style::of(terminal);
        let server = cluster.url().to_owned();
        let join = match self.once {
            true => String::new(),
            false => format!(
                "kubectl --kubeconfig {} get services,ingresses --watch",
                self.kubeconfig.display()
            ),
        };
        let view = match (self.output.is_json(), terminal && !self.once) {
            (true, _) => View::Json,
            (false, true) => View::Live,
            (false, false) => View::Lines,
        };
        let console = match self.once {
            true => None,
            false => {
                let place = Where::Here(Some(lab));
                let subject = Subject::new("kubewright demo", place).operator(manager.clone());
                self.console.start(cluster.direct_client(), subject).await?
            }
        };
        let address = console.as_ref().map_or("", |console| console.url());
        let screen = Screen::new(view, style, server, join.clone()).console(address);
        let ready = began.elapsed().as_millis();
        screen.say(&format!(
            "kubewright demo: the cluster is ready in {ready} ms"
        ));
        if !self.once {
            screen.say(&format!("join in: {join}"));
        }
        if let Some(console) = &console {
            screen.say(&format!("console  {}", console.url()));
        }
        self.play(&cluster, manager, &screen, console.as_ref(), stop)
            .await
    }

    /// Runs the controller and plays the script.
    async fn play(
        &self,
        cluster: &LocalCluster,
        manager: Manager,
        screen: &Screen,
        console: Option<&RunningConsole>,
        stop: impl Future<Output = ()>,
    ) -> anyhow::Result<()> {
        let controller = observer::install(&manager, screen)?;
        manager.report_runs()?;
        let (end, ended) = oneshot::channel::<()>();
        let run = manager.clone();
        let mut running = tokio::spawn(async move {
            let shutdown = async {
                // A message and a dropped sender both mean shutdown.
                let _ = ended.await;
            };
            run.run(shutdown).await
        });
        let story = Story {
            screen: screen.clone(),
            manager: manager.clone(),
            actor: Actor::new(&cluster.direct_client(), screen),
            workloads: Workloads::new(
                &cluster.direct_client(),
                cluster.nodes()?,
                screen,
                story::TIMEOUT,
            ),
            pause: if self.once { Duration::ZERO } else { PAUSE },
            timeout: story::TIMEOUT,
        };
        let played = tokio::select! {
            played = self.play_rounds(&story) => Some(played),
            () = screen.draw(|| observer::gauges(&manager, &controller)) => None,
            () = open_on_key(console) => None,
            () = stop => None,
            ended = &mut running => {
                ended??;
                None
            }
        };
        drop(end);
        if !running.is_finished() {
            running.await??;
        }
        match played {
            Some(played) => played,
            None if self.output.is_json() => {
                screen.say("kubewright demo has stopped");
                Ok(())
            }
            None => say_line("kubewright demo has stopped"),
        }
    }

    /// Plays the script once, or repeatedly until Ctrl-C.
    async fn play_rounds(&self, story: &Story) -> anyhow::Result<()> {
        for round in 1.. {
            story.screen.round(round);
            let began = Instant::now();
            let (steps, failed) = story.play().await;
            let (events, reconciles, failures) = story.screen.counts();
            let took = began.elapsed().as_secs_f64();
            story.screen.say(&format!(
                "\n{} of {steps} steps succeeded: {events} events, {reconciles} reconciles, {failures} failed, \
                 {took:.2} s",
                steps - failed
            ));
            if self.once {
                ensure!(failed == 0, "{failed} of {steps} steps failed");
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use kubewright_ledger::Run;

    use super::*;

    /// Plays the script with or without the controller.
    async fn play_once(with_controller: bool, timeout: Duration) -> anyhow::Result<()> {
        let cluster = LocalCluster::start(parts()).await?;
        let screen = Screen::new(View::Lines, Style::of(false), String::new(), String::new());
        let manager = Manager::new(cluster.client());
        if with_controller {
            observer::install(&manager, &screen)?;
        }
        let story = Story {
            screen: screen.clone(),
            manager: manager.clone(),
            actor: Actor::new(&cluster.client(), &screen),
            workloads: Workloads::new(&cluster.client(), cluster.nodes()?, &screen, timeout),
            pause: Duration::ZERO,
            timeout,
        };
        let demo = Demo {
            once: true,
            port: 0,
            kubeconfig: PathBuf::new(),
            console: ConsoleArgs::default(),
            output: Output::default(),
        };
        tokio::select! {
            played = demo.play_rounds(&story) => played,
            ended = manager.run(std::future::pending()) => Ok(ended?),
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_script_that_succeeds_is_not_an_error() {
        play_once(true, Duration::from_secs(120)).await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_ledger_has_the_runs_and_their_writes() {
        let ledger = Ledger::new();
        let cluster = Cluster::builder().ledger(ledger.clone());
        let cluster = cluster.controllers(Controllers::default());
        let cluster = cluster.start().await.unwrap();
        let screen = Screen::new(View::Lines, Style::of(false), String::new(), String::new());
        let manager = Manager::new(cluster.client());
        observer::install(&manager, &screen).unwrap();
        manager.report_runs().unwrap();
        let actor = Actor::new(&cluster.client(), &screen);
        let reported = async {
            actor.create_service("web", true).await.unwrap();
            let wrote = |run: &Run| {
                run.key == "default/web" && run.writes().any(|it| it.object.resource == "ingresses")
            };
            while !ledger.runs().iter().any(|run| wrote(run)) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let most = Duration::from_secs(60);
        manager
            .run(async {
                tokio::time::timeout(most, reported)
                    .await
                    .expect("a report")
            })
            .await
            .unwrap();
    }

    /// Without the controller there are no Ingresses, and steps that expect failures do not see them.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_script_that_fails_is_an_error_with_the_number_of_failed_steps() {
        let error = play_once(false, Duration::from_millis(500))
            .await
            .unwrap_err();
        let message = error.to_string();
        assert!(message.ends_with(" of 12 steps failed"), "{message}");
    }
}
