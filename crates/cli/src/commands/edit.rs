//! `kubewright edit`: settings of a project.

use clap::Args;
use kubewright_scaffold::commands;

use super::planned::{Answer, Kubebuilder, project};

#[derive(Args)]
pub(crate) struct Edit {
    /// The domain of groups to come.
    #[arg(long)]
    domain: Option<String>,

    /// The operator works in namespaces of its own only.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    namespaced: Option<bool>,

    // Kinds are in directories by group always.
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
    answer: Answer,
}

impl Edit {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let edit = commands::edit::Edit {
            domain: self.domain,
            namespaced: self.namespaced,
        };
        self.answer.give(&edit.plan(&project()?)?, "")
    }
}
