//! `kubewright remove`: takes back what was scaffolded.

use clap::{Args, Subcommand};
use kubewright_scaffold::commands;

use super::{
    clean_tree,
    planned::{Answer, project},
};

#[derive(Args)]
pub(crate) struct Remove {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Removes a kind, with all its versions and controllers.
    Api {
        /// The kind: Captain
        #[arg(value_name = "KIND", required_unless_present = "named")]
        kind: Option<String>,

        /// The same, as kubebuilder says it.
        #[arg(
            long = "kind",
            id = "named",
            value_name = "KIND",
            conflicts_with = "kind"
        )]
        named: Option<String>,

        #[command(flatten)]
        how: How,
    },
    /// Removes one version of a kind that has others.
    Version {
        /// The version: v1
        version: String,

        /// The kind, if the project has several.
        #[arg(long, default_value = "")]
        kind: String,

        #[command(flatten)]
        how: How,
    },
    /// Removes a controller.
    Controller {
        /// Its name, as `kubewright list` shows it.
        name: String,

        #[command(flatten)]
        how: How,
    },
}

#[derive(Args)]
struct How {
    /// The group, if several have the kind.
    #[arg(long, default_value = "")]
    group: String,

    /// Removes files with work in them too, and what git has not kept.
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    answer: Answer,
}

impl Remove {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let (remove, how) = match self.what {
            What::Api { kind, named, how } => (
                commands::remove::Remove::Api {
                    group: how.group.clone(),
                    kind: kind.or(named).unwrap_or_default(),
                },
                how,
            ),
            What::Version { version, kind, how } => (
                commands::remove::Remove::Version {
                    group: how.group.clone(),
                    version,
                    kind,
                },
                how,
            ),
            What::Controller { name, how } => (commands::remove::Remove::Controller { name }, how),
        };
        let plan = remove.plan(&project()?, how.force)?;
        if !how.force {
            clean_tree::check(&plan)?;
        }
        how.answer.give(&plan, "")
    }
}
