//! The story: what is done to the cluster, step by step, and what the controller should make of it.

use std::time::Duration;

use anyhow::{Context, ensure};
use kubewright_controller::Manager;

use super::{actor::Actor, happening::Happening, screen::Screen};

/// How long anything may take that a step waits for.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// How often a reconcile has to fail before the story takes the obstacle away.
const FAILURES: usize = 3;

/// What is told.
#[derive(Clone, Copy, Debug)]
enum Step {
    Quiet,
    Asks,
    Moves,
    Tampered,
    Deleted,
    AsksNoMore,
    Leaves,
    InTheWay,
    NoQuota,
}

const STEPS: [Step; 9] = [
    Step::Quiet,
    Step::Asks,
    Step::Moves,
    Step::Tampered,
    Step::Deleted,
    Step::AsksNoMore,
    Step::Leaves,
    Step::InTheWay,
    Step::NoQuota,
];

/// Who tells it.
pub(super) struct Story {
    pub(super) screen: Screen,
    pub(super) manager: Manager,
    pub(super) actor: Actor,
    /// How long people have to read.
    pub(super) pause: Duration,
    /// How long anything may take that a step waits for.
    pub(super) patience: Duration,
}

impl Story {
    /// Tells it once. How many steps there were, and how many went wrong.
    pub(super) async fn tell(&self) -> (usize, usize) {
        self.actor.clean_up().await;
        let mut failed = 0;
        for (number, step) in (1..).zip(STEPS) {
            self.screen.step(number, STEPS.len(), step.title());
            self.read().await;
            match self.play(step).await {
                Ok(found) => self.screen.tell(Happening::Found(found)),
                Err(error) => {
                    failed += 1;
                    self.screen.tell(Happening::Missed(format!("{error:#}")));
                }
            }
            self.read().await;
        }
        (STEPS.len(), failed)
    }

    async fn play(&self, step: Step) -> anyhow::Result<String> {
        let actor = &self.actor;
        match step {
            Step::Quiet => {
                actor.create_service("web", false).await?;
                self.settled().await?;
                ensure!(actor.ingress("web").await?.is_none(), "there is an Ingress");
                Ok("no Ingress, and no reconcile: the predicate keeps it out of the queue".into())
            }
            Step::Asks => {
                actor.annotate("web", true).await?;
                self.leads_to("web", 80).await
            }
            Step::Moves => {
                actor.set_port("web", 8080).await?;
                self.leads_to("web", 8080).await
            }
            Step::Tampered => {
                actor.set_host("web", "elsewhere.example.com").await?;
                self.leads_to("web", 8080).await
            }
            Step::Deleted => {
                let before = actor.ingress("web").await?.context("there is no Ingress")?;
                actor.delete_ingress("web").await?;
                let found = self.leads_to("web", 8080).await?;
                let after = actor.ingress("web").await?.context("there is no Ingress")?;
                ensure!(
                    before.metadata.uid != after.metadata.uid,
                    "it is the old one"
                );
                Ok(found)
            }
            Step::AsksNoMore => {
                actor.annotate("web", false).await?;
                self.gone("web").await
            }
            Step::Leaves => {
                actor.annotate("web", true).await?;
                self.leads_to("web", 8080).await?;
                actor.delete_service("web").await?;
                self.gone("web").await
            }
            Step::InTheWay => self.in_the_way().await,
            Step::NoQuota => self.no_quota().await,
        }
    }

    async fn in_the_way(&self) -> anyhow::Result<String> {
        let actor = &self.actor;
        let made = actor.create_foreign_ingress("shop").await?;
        actor.create_service("shop", true).await?;
        self.settled().await?;
        let found = actor.ingress("shop").await?;
        ensure!(found == Some(made), "somebody else's Ingress was touched");
        self.read().await;
        actor.delete_ingress("shop").await?;
        let found = self.leads_to("shop", 80).await?;
        actor.delete_service("shop").await?;
        self.gone("shop").await?;
        Ok(format!("left alone while it was there; then {found}"))
    }

    async fn no_quota(&self) -> anyhow::Result<String> {
        let actor = &self.actor;
        let mut failures = self.screen.failures();
        let before = *failures.borrow();
        actor.create_quota().await?;
        actor.create_service("api", true).await?;
        let failed = failures.wait_for(|now| *now >= before + FAILURES);
        tokio::time::timeout(self.patience, failed)
            .await
            .context("the reconcile does not fail")??;
        self.read().await;
        actor.delete_quota().await?;
        let found = self.leads_to("api", 80).await?;
        let failed = self.screen.counts().2 - before;
        actor.delete_service("api").await?;
        self.gone("api").await?;
        Ok(format!("{failed} failures, then {found}"))
    }

    async fn leads_to(&self, name: &str, port: i32) -> anyhow::Result<String> {
        self.settled().await?;
        self.actor.leads_to(name, port).await
    }

    async fn gone(&self, name: &str) -> anyhow::Result<String> {
        self.settled().await?;
        ensure!(
            self.actor.ingress(name).await?.is_none(),
            "there still is an Ingress"
        );
        Ok("the Ingress is gone".into())
    }

    /// Waits until the controller has seen everything and has nothing to do.
    async fn settled(&self) -> anyhow::Result<()> {
        Ok(self.manager.settled(self.patience).await?)
    }

    async fn read(&self) {
        if !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
    }
}

impl Step {
    fn title(self) -> &'static str {
        match self {
            Self::Quiet => "A Service that asks for nothing gets nothing",
            Self::Asks => "The annotation asks for an Ingress",
            Self::Moves => "The Service's port changes: the Ingress follows",
            Self::Tampered => "Somebody changes the Ingress: it is put right",
            Self::Deleted => "Somebody deletes the Ingress: there is another",
            Self::AsksNoMore => "Without the annotation there is no Ingress",
            Self::Leaves => "A Service that goes takes its Ingress along",
            Self::InTheWay => "Somebody else's Ingress is in the way: it is left alone",
            Self::NoQuota => "A quota forbids Ingresses: errors, until it is lifted",
        }
    }
}
