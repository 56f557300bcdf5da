//! `kubewright install` and `kubewright uninstall`: the CRDs of a project in a cluster.

use std::time::Duration;

use clap::Args;

use crate::{
    cluster::{
        Cluster,
        apply::{Applier, Report},
    },
    operator::{OperatorFlags, conversion::note, definitions, duration},
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
        let described = self.operator.described(json)?;
        if let (Doing::Install, Some(note)) = (&doing, note(&described)) {
            warn(note);
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
