//! `kubewright install` and `kubewright uninstall`: the CRDs of a project in a cluster.

use std::time::Duration;

use clap::Args;

use crate::{
    cluster::{
        Cluster,
        apply::{Applier, Report},
        refused,
    },
    operator::{
        OperatorFlags, definitions, duration,
        webhooks::{keep_deployed, not_yet_called, not_yet_served, remove_stale},
    },
    output::{Output, say, warn},
};

#[derive(Args)]
pub(crate) struct Install {
    #[command(flatten)]
    definitions: Definitions,
}

#[derive(Args)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    definitions: Definitions,
}

#[derive(Args)]
struct Definitions {
    #[command(flatten)]
    cluster: Cluster,

    #[command(flatten)]
    operator: OperatorFlags,

    /// Time limit for each CRD
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    timeout: Duration,

    #[command(flatten)]
    output: Output,
}

enum Doing {
    Install,
    Uninstall,
}

impl Install {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        self.definitions.run(Doing::Install).await
    }
}

impl Uninstall {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        self.definitions.run(Doing::Uninstall).await
    }
}

impl Definitions {
    async fn run(self, doing: Doing) -> anyhow::Result<()> {
        let json = self.output.is_json();
        // Building takes longer than checking the cluster, so check first.
        let client = self.cluster.client().await?;
        let mut described = self.operator.described(json)?;
        if described.serves_webhooks() {
            // A program on this machine that was killed may have left them.
            remove_stale(&client, &described.name).await?;
        }
        if let Doing::Install = doing {
            let kept = keep_deployed(&client, &mut described).await;
            kept.map_err(|e| refused("read the CRDs of the operator", &e))?;
            not_yet_called(&described).into_iter().for_each(warn);
            not_yet_served(&described).into_iter().for_each(warn);
        }
        let objects = definitions(&described)?;
        if objects.is_empty() && !json {
            return say("nothing to do: the operator has no CRDs\n");
        }
        let report = Report::new(json);
        let mut applier = Applier::new(client, &described.name, self.timeout, &report);
        let outcomes = match doing {
            Doing::Install => applier.apply(objects).await?,
            Doing::Uninstall => applier.delete(objects).await?,
        };
        match json {
            true => self.output.value(&Report::value(&outcomes)),
            false => Ok(()),
        }
    }
}
