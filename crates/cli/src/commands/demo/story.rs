//! The script of the demo: changes to the cluster, and the expected reactions of the controller.

use std::time::Duration;

use anyhow::{Context, ensure};
use kubewright_controller::Manager;

use super::{actor::Actor, event::DemoEvent, screen::Screen, workloads::Workloads};

/// The default time limit of each wait.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// The number of failed reconciles after which the quota is removed.
const FAILURES: usize = 3;

/// A step of the script.
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
    RollOut,
    LosesPod,
    LosesNode,
}

const STEPS: [Step; 12] = [
    Step::Quiet,
    Step::Asks,
    Step::Moves,
    Step::Tampered,
    Step::Deleted,
    Step::AsksNoMore,
    Step::Leaves,
    Step::InTheWay,
    Step::NoQuota,
    Step::RollOut,
    Step::LosesPod,
    Step::LosesNode,
];

/// The script with everything it acts on.
pub(super) struct Story {
    pub(super) screen: Screen,
    pub(super) manager: Manager,
    pub(super) actor: Actor,
    pub(super) workloads: Workloads,
    /// The pause before and after each step, for people to read.
    pub(super) pause: Duration,
    /// The time limit of each wait.
    pub(super) timeout: Duration,
}

impl Story {
    /// Plays all steps, and returns their number and the number of failed ones.
    pub(super) async fn play(&self) -> (usize, usize) {
        self.actor.clean_up().await;
        self.workloads.clean_up().await;
        let mut failed = 0;
        for (number, step) in (1..).zip(STEPS) {
            self.screen.step(number, STEPS.len(), step.title());
            self.pause().await;
            match self.play_step(step).await {
                Ok(found) => self.screen.show(DemoEvent::Found(found)),
                Err(error) => {
                    failed += 1;
                    self.screen.show(DemoEvent::Missed(format!("{error:#}")));
                }
            }
            self.pause().await;
        }
        (STEPS.len(), failed)
    }

    async fn play_step(&self, step: Step) -> anyhow::Result<String> {
        let actor = &self.actor;
        match step {
            Step::Quiet => {
                actor.create_service("web", false).await?;
                self.settled().await?;
                ensure!(
                    actor.ingress("web").await?.is_none(),
                    "there is an unexpected Ingress"
                );
                Ok("no Ingress and no reconcile: the predicate filters the event".into())
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
                    "the old Ingress is still there"
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
            Step::RollOut => self.workloads.roll_out().await,
            Step::LosesPod => self.workloads.lose_a_pod().await,
            Step::LosesNode => self.workloads.lose_a_node().await,
        }
    }

    async fn in_the_way(&self) -> anyhow::Result<String> {
        let actor = &self.actor;
        let made = actor.create_foreign_ingress("shop").await?;
        actor.create_service("shop", true).await?;
        self.settled().await?;
        let found = actor.ingress("shop").await?;
        ensure!(
            found == Some(made),
            "an Ingress with another owner was changed"
        );
        self.pause().await;
        actor.delete_ingress("shop").await?;
        let found = self.leads_to("shop", 80).await?;
        actor.delete_service("shop").await?;
        self.gone("shop").await?;
        Ok(format!("not touched until it was deleted; then {found}"))
    }

    async fn no_quota(&self) -> anyhow::Result<String> {
        let actor = &self.actor;
        let mut failures = self.screen.failures();
        let before = *failures.borrow();
        actor.create_quota().await?;
        actor.create_service("api", true).await?;
        let failed = failures.wait_for(|now| *now >= before + FAILURES);
        tokio::time::timeout(self.timeout, failed)
            .await
            .context("the reconcile did not fail")??;
        self.pause().await;
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
            "the Ingress still exists"
        );
        Ok("the Ingress is deleted".into())
    }

    /// Waits until the controller has seen everything and has nothing to do.
    async fn settled(&self) -> anyhow::Result<()> {
        Ok(self.manager.settled(self.timeout).await?)
    }

    async fn pause(&self) {
        if !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
    }
}

impl Step {
    fn title(self) -> &'static str {
        match self {
            Self::Quiet => "A Service without the annotation gets no Ingress",
            Self::Asks => "The annotation creates an Ingress",
            Self::Moves => "The port of the Service changes: the Ingress is updated",
            Self::Tampered => "The Ingress is edited by hand: it is restored",
            Self::Deleted => "The Ingress is deleted by hand: it is recreated",
            Self::AsksNoMore => "The annotation is removed: the Ingress is deleted",
            Self::Leaves => "The Service is deleted: its Ingress is deleted too",
            Self::InTheWay => "An Ingress with another owner is never touched",
            Self::RollOut => "A Deployment of 8 pods rolls out on two nodes",
            Self::LosesPod => "A pod is deleted: it is replaced",
            Self::LosesNode => "A node dies: its pods start on the other node",
            Self::NoQuota => "A quota forbids Ingresses: errors and retries until it is gone",
        }
    }
}
