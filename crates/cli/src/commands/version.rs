//! `kubewright add version`: another version of a kind.

use clap::Args;
use kubewright_scaffold::commands::version::AddVersion;

use super::planned::{Answer, project};

#[derive(Args)]
pub(crate) struct Version {
    /// The version to make: v2
    version: String,

    /// The version to copy: v1
    #[arg(long)]
    from: String,

    /// The kind, if the project has several.
    #[arg(long, default_value = "")]
    kind: String,

    /// The group, if several have the kind.
    #[arg(long, default_value = "")]
    group: String,

    #[command(flatten)]
    answer: Answer,
}

impl Version {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let add = AddVersion {
            group: self.group,
            kind: self.kind,
            version: self.version,
            from: self.from,
        };
        self.answer.give(&add.plan(&project()?)?, "cargo test")
    }
}
