//! `kubewright add version`: scaffold another version of a kind.

use clap::Args;
use kubewright_scaffold::AddVersion;

use crate::{output::PlanArgs, project::project};

#[derive(Args)]
pub(crate) struct Version {
    /// Version to create, e.g. v2
    version: String,

    /// Version to copy, e.g. v1
    #[arg(long)]
    from: String,

    /// Kind; required if the project has several
    #[arg(long, default_value = "")]
    kind: String,

    /// API group; required if several groups have the kind
    #[arg(long, default_value = "")]
    group: String,

    /// Store objects in the new version, and have the controllers of the kind use it
    #[arg(long)]
    storage: bool,

    #[command(flatten)]
    plan: PlanArgs,
}

impl Version {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let add = AddVersion {
            group: self.group,
            kind: self.kind,
            version: self.version,
            from: self.from,
            storage: self.storage,
        };
        self.plan.carry_out(&add.plan(&project()?)?, "cargo test")
    }
}
