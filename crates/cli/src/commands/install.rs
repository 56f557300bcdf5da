//! `kubewright install` and `kubewright uninstall`: the definitions of a project's kinds, to a cluster and away from it.

use std::time::Duration;

use clap::Args;

use super::{
    apply::{Applier, Report},
    cluster::Cluster,
    conversion::note,
    operator::{OperatorFlags, definitions, duration},
    planned::{Output, say},
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

    /// How long each definition may take.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
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
        // Building takes longer than asking whether there is a cluster.
        let client = self.cluster.client().await?;
        let described = self.operator.described(json)?;
        if let (Doing::Install, Some(note)) = (&doing, note(&described)) {
            eprintln!("{note}");
        }
        let objects = definitions(&described)?;
        if objects.is_empty() && !json {
            return say("nothing to do: the operator defines no kinds\n");
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
