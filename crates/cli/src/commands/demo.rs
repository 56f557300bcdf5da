//! `kubewright demo`: a control plane, a controller, a story to keep it busy, and a look at what its loop does.
//!
//! The controller is that of `examples/ingress_manager`. On a terminal the view is drawn in its place until Ctrl-C;
//! elsewhere, and with `--once`, it is written line by line. `--once` tells the story without pauses, opens no socket, and
//! fails if the story does not end as it should.
//!
//! | module | what it holds |
//! |---|---|
//! | `observed` | the controller, and what can be seen of it |
//! | `story`, `actor` | what is done to the cluster, and what should come of it |
//! | `happening`, `screen`, `frame` | how it is shown |

mod actor;
mod frame;
mod happening;
mod observed;
mod screen;
mod story;

use std::{
    io::{IsTerminal, stdout},
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::ensure;
use clap::Args;
use kubewright_builtin_controllers::Controllers;
use kubewright_controller::Manager;
use tokio::sync::oneshot;

use actor::Actor;
use screen::{Screen, View};
use story::Story;

use super::{
    plane::Plane,
    planned::Output,
    style::Style,
    up::{interrupted, say},
};

/// How long people have to read, before and after each step.
const PAUSE: Duration = Duration::from_millis(1500);

#[derive(Args)]
pub(crate) struct Demo {
    /// Tell the story once, without pauses, and fail if it does not end as it should.
    #[arg(long)]
    once: bool,

    /// The port on this machine to serve the cluster on. 0 lets the system choose.
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        conflicts_with = "once"
    )]
    port: u16,

    /// Where to write the kubeconfig. It is removed at the end.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "kubewright-demo.kubeconfig",
        conflicts_with = "once"
    )]
    kubeconfig: PathBuf,

    #[command(flatten)]
    output: Output,
}

impl Demo {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let began = Instant::now();
        let stop = interrupted()?;
        let mut plane = Plane::start(Controllers::default()).await?;
        let terminal =
            stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|t| t != "dumb");
        let style = Style::of(terminal);
        let (mut server, mut join) = (String::new(), String::new());
        if !self.once {
            server = plane
                .listen("kubewright-demo", self.port, &self.kubeconfig)
                .await?;
            join = format!(
                "kubectl --kubeconfig {} get services,ingresses --watch",
                self.kubeconfig.display()
            );
        }
        let view = match (self.output.is_json(), terminal && !self.once) {
            (true, _) => View::Json,
            (false, true) => View::Picture,
            (false, false) => View::Lines,
        };
        let screen = Screen::new(view, style, server, join.clone());
        let ready = began.elapsed().as_millis();
        screen.say(&format!(
            "kubewright demo: the control plane is ready in {ready} ms"
        ));
        if !self.once {
            screen.say(&format!("join in: {join}"));
        }
        self.play(&plane, &screen, stop).await
    }

    /// Runs the controller, and tells the story to it.
    async fn play(
        &self,
        plane: &Plane,
        screen: &Screen,
        stop: impl Future<Output = ()>,
    ) -> anyhow::Result<()> {
        let manager = Manager::new(plane.client());
        let controller = observed::install(&manager, screen)?;
        let (end, ended) = oneshot::channel::<()>();
        let run = manager.clone();
        let mut running = tokio::spawn(async move {
            let shutdown = async {
                // Told to end, or left alone.
                let _ = ended.await;
            };
            run.run(shutdown).await
        });
        let story = Story {
            screen: screen.clone(),
            manager: manager.clone(),
            actor: Actor::new(&plane.client(), screen),
            pause: if self.once { Duration::ZERO } else { PAUSE },
            patience: story::PATIENCE,
        };
        let told = tokio::select! {
            told = self.tell(&story) => Some(told),
            () = screen.draw(|| observed::gauges(&manager, &controller)) => None,
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
        match told {
            Some(told) => told,
            None if self.output.is_json() => {
                screen.say("kubewright demo has stopped");
                Ok(())
            }
            None => Ok(say("kubewright demo has stopped")?),
        }
    }

    /// Tells the story: once, or again and again.
    async fn tell(&self, story: &Story) -> anyhow::Result<()> {
        for round in 1.. {
            story.screen.round(round);
            let began = Instant::now();
            let (steps, failed) = story.tell().await;
            let (events, reconciles, failures) = story.screen.counts();
            let took = began.elapsed().as_secs_f64();
            story.screen.say(&format!(
                "\n{} of {steps} steps went as they should: {events} events, {reconciles} reconciles, \
                 {failures} of them failed, {took:.2} s",
                steps - failed
            ));
            if self.once {
                ensure!(failed == 0, "{failed} of {steps} steps went wrong");
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The story, told to a manager with or without the controller.
    async fn told_once(with_controller: bool, patience: Duration) -> anyhow::Result<()> {
        let plane = Plane::start(Controllers::default()).await?;
        let screen = Screen::new(View::Lines, Style::of(false), String::new(), String::new());
        let manager = Manager::new(plane.client());
        if with_controller {
            observed::install(&manager, &screen)?;
        }
        let story = Story {
            screen: screen.clone(),
            manager: manager.clone(),
            actor: Actor::new(&plane.client(), &screen),
            pause: Duration::ZERO,
            patience,
        };
        let demo = Demo {
            once: true,
            port: 0,
            kubeconfig: PathBuf::new(),
            output: Output::default(),
        };
        tokio::select! {
            told = demo.tell(&story) => told,
            ended = manager.run(std::future::pending()) => Ok(ended?),
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_story_that_goes_well_is_no_error() {
        told_once(true, Duration::from_secs(120)).await.unwrap();
    }

    /// Nobody makes Ingresses: what should have one has none, and nothing fails that should.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_story_that_goes_wrong_is_an_error_that_says_how_much_of_it() {
        let error = told_once(false, Duration::from_millis(500))
            .await
            .unwrap_err();
        let said = error.to_string();
        assert!(said.ends_with(" of 9 steps went wrong"), "{said}");
    }
}
