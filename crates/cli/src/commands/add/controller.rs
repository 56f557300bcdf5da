//! `kubewright add controller`: scaffold a controller for a kind of the project or a built-in kind.

use clap::Args;
use kubewright_scaffold::{AddController, Gvk};

use crate::{output::PlanArgs, project::project};

#[derive(Args)]
pub(crate) struct Controller {
    /// Kind to reconcile: one of the project, or a built-in one such as apps/v1/Deployment
    #[arg(long = "for", value_name = "GROUP/VERSION/KIND")]
    target: String,

    /// Kind that the controller owns; may be repeated
    #[arg(long, value_name = "GROUP/VERSION/KIND", value_delimiter = ',')]
    owns: Vec<String>,

    /// Name of the controller [default: the kind in lower case]
    #[arg(long, visible_alias = "controller-name")]
    name: Option<String>,

    /// Overwrite existing files
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    plan: PlanArgs,
}

impl Controller {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let owns = self.owns.iter().map(|gvk| Gvk::parse(gvk));
        let add = AddController {
            target: Gvk::parse(&self.target)?,
            name: self.name,
            owns: owns.collect::<Result<_, _>>()?,
            force: self.force,
        };
        self.plan.carry_out(&add.plan(&project()?)?, "cargo test")
    }
}
