//! `kubewright create api` and `kubewright add api`: a kind, and a controller for it.

use clap::Args;
use kubewright_scaffold::{Refusal, commands::api::AddApi, names::Gvk};

use super::planned::{Answer, Kubebuilder, project};

#[derive(Args)]
pub(crate) struct Api {
    /// The kind, as group/version/Kind. Otherwise --group, --version and --kind say it.
    #[arg(value_name = "GROUP/VERSION/KIND")]
    gvk: Option<String>,

    /// The group, without the domain: crew
    #[arg(long)]
    group: Option<String>,

    /// The version: v1
    #[arg(long)]
    version: Option<String>,

    /// The kind: Captain
    #[arg(long)]
    kind: Option<String>,

    /// Makes the type.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    resource: bool,

    /// Makes a controller.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    controller: bool,

    /// Objects live in namespaces.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    namespaced: bool,

    /// The plural, where it is not the usual one.
    #[arg(long)]
    plural: Option<String>,

    /// Replaces files that are there.
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    kubebuilder: Kubebuilder,

    #[command(flatten)]
    answer: Answer,
}

impl Api {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let gvk = match (&self.gvk, &self.group, &self.version, &self.kind) {
            (Some(text), None, None, None) => Gvk::parse(text)?,
            (None, group, Some(version), Some(kind)) => Gvk {
                group: group.clone().unwrap_or_default(),
                version: version.clone(),
                kind: kind.clone(),
            },
            _ => {
                return Err(Refusal::new(
                    "the kind is not named",
                    "give --group, --version and --kind, or all in one as crew/v1/Captain",
                )
                .into());
            }
        };
        let add = AddApi {
            gvk,
            plural: self.plural,
            namespaced: self.namespaced,
            resource: self.resource,
            controller: self.controller,
            force: self.force,
        };
        self.answer.give(&add.plan(&project()?)?, "cargo test")
    }
}
