//! `kubewright edit`: changes the settings of a project.

use clap::Args;

use crate::{
    output::{Kubebuilder, PlanArgs},
    project::project,
};

#[derive(Args)]
pub(crate) struct Edit {
    /// Domain for new API groups
    #[arg(long)]
    domain: Option<String>,

    /// Restrict the operator to its own namespaces
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    namespaced: Option<bool>,

    // Kinds are always in directories by group.
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true)]
    multigroup: Option<Option<bool>>,
    #[arg(long, hide = true)]
    license: Option<String>,
    #[arg(long, hide = true)]
    license_file: Option<String>,
    #[arg(long, hide = true)]
    owner: Option<String>,
    #[arg(long, hide = true)]
    force: bool,

    #[command(flatten)]
    kubebuilder: Kubebuilder,

    #[command(flatten)]
    plan: PlanArgs,
}

impl Edit {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let edit = kubewright_scaffold::Edit {
            domain: self.domain,
            namespaced: self.namespaced,
        };
        self.plan.carry_out(&edit.plan(&project()?)?, "")
    }
}
