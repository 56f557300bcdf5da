//! `kubewright remove`: removes scaffolded parts of a project.

use clap::{Args, Subcommand};
use kubewright_scaffold::{Edits, Remove as Removal};

use crate::{
    output::PlanArgs,
    project::{clean_tree, project},
};

#[derive(Args)]
pub(crate) struct Remove {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Remove a kind with all its versions and controllers
    Api {
        /// Kind, e.g. Captain
        #[arg(value_name = "KIND", required_unless_present = "named")]
        kind: Option<String>,

        /// Kind, as kubebuilder spells the flag
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
    /// Remove one version of a kind with several versions
    Version {
        /// Version, e.g. v1
        version: String,

        /// Kind; required if the project has several
        #[arg(long, default_value = "")]
        kind: String,

        #[command(flatten)]
        how: How,
    },
    /// Remove the webhooks that default and validate a kind
    Webhook {
        /// Kind, e.g. Captain
        kind: String,

        /// Version; required if several versions have webhooks
        #[arg(long, default_value = "")]
        version: String,

        #[command(flatten)]
        how: How,
    },
    /// Remove a controller
    Controller {
        /// Name of the controller, as shown by `kubewright list`
        name: String,

        #[command(flatten)]
        how: How,
    },
}

#[derive(Args)]
struct How {
    /// API group; required if several groups have the kind
    #[arg(long, default_value = "")]
    group: String,

    /// Remove edited files and uncommitted changes too
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    plan: PlanArgs,
}

impl Remove {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let (remove, how) = match self.what {
            What::Api { kind, named, how } => (
                Removal::Api {
                    group: how.group.clone(),
                    kind: kind.or(named).unwrap_or_default(),
                },
                how,
            ),
            What::Version { version, kind, how } => (
                Removal::Version {
                    group: how.group.clone(),
                    version,
                    kind,
                },
                how,
            ),
            What::Webhook { kind, version, how } => (
                Removal::Webhook {
                    group: how.group.clone(),
                    version,
                    kind,
                },
                how,
            ),
            What::Controller { name, how } => (Removal::Controller { name }, how),
        };
        let edits = match how.force {
            true => Edits::Discard,
            false => Edits::Keep,
        };
        let plan = remove.plan(&project()?, edits)?;
        if !how.force {
            clean_tree::check(&plan)?;
        }
        how.plan.carry_out(&plan, "")
    }
}
