//! `kubewright edit`: changes the settings of a project.

use clap::Args;
use kubewright_scaffold::MoveStorage;

use crate::{
    output::PlanArgs,
    project::{
        kubebuilder::{Kubebuilder, LayoutFlags, PackageFlags},
        project,
    },
};

#[derive(Args)]
pub(crate) struct Edit {
    /// Domain for new API groups
    #[arg(long)]
    domain: Option<String>,

    /// Restrict the operator to its own namespaces
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    namespaced: Option<bool>,

    /// Version in which objects are stored; controllers of the kind use it too
    #[arg(long, value_name = "VERSION", conflicts_with_all = ["domain", "namespaced", "repo", "license", "owner"])]
    storage_version: Option<String>,

    /// Kind of the storage version; required if the project has several
    #[arg(long, default_value = "", requires = "storage_version")]
    kind: String,

    /// API group of the kind; required if several groups have it
    #[arg(long, default_value = "", requires = "storage_version")]
    group: String,

    #[command(flatten)]
    package: PackageFlags,

    #[command(flatten)]
    layout: LayoutFlags,

    #[command(flatten)]
    kubebuilder: Kubebuilder,

    #[command(flatten)]
    plan: PlanArgs,
}

impl Edit {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        self.kubebuilder.check()?;
        self.layout.check()?;
        let project = project()?;
        let plan = match self.storage_version {
            Some(version) => MoveStorage {
                group: self.group,
                kind: self.kind,
                version,
            }
            .plan(&project)?,
            None => kubewright_scaffold::Edit {
                domain: self.domain,
                namespaced: self.namespaced,
                package: self.package.package()?,
            }
            .plan(&project)?,
        };
        self.plan.carry_out(&plan, "")
    }
}
