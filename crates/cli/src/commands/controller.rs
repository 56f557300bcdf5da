//! `kubewright add controller`: a controller for a kind of the project, or for a built-in one.

use clap::Args;
use kubewright_scaffold::{commands::controller::AddController, names::Gvk};

use super::planned::{Answer, project};

#[derive(Args)]
pub(crate) struct Controller {
    /// The kind it is for, as group/version/Kind: of the project, or built in, such as apps/v1/Deployment.
    #[arg(long = "for", value_name = "GROUP/VERSION/KIND")]
    target: String,

    /// A kind whose objects it owns. May be given more than once.
    #[arg(long, value_name = "GROUP/VERSION/KIND", value_delimiter = ',')]
    owns: Vec<String>,

    /// Its name. By default that of the kind.
    #[arg(long, visible_alias = "controller-name")]
    name: Option<String>,

    /// Replaces files that are there.
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    answer: Answer,
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
        self.answer.give(&add.plan(&project()?)?, "cargo test")
    }
}
