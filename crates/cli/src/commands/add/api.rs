//! `kubewright create api` and `kubewright add api`: scaffold a kind and its controller.

use clap::Args;
use kubewright_scaffold::{AddAggregatedApi, AddApi, ObjectData};

use super::target::target;
use crate::{
    output::PlanArgs,
    project::{kubebuilder::Kubebuilder, project},
};

#[derive(Args)]
pub(crate) struct Api {
    /// Group, version and kind of the API; or use --group, --version and --kind
    #[arg(value_name = "GROUP/VERSION/KIND")]
    gvk: Option<String>,

    /// API group without the domain, e.g. crew
    #[arg(long)]
    group: Option<String>,

    /// API version, e.g. v1
    #[arg(long)]
    version: Option<String>,

    /// Kind, e.g. Captain
    #[arg(long)]
    kind: Option<String>,

    /// Scaffold the resource type
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    resource: bool,

    /// Scaffold a kind that the program serves itself, behind the API server of the cluster, instead of a custom resource: with a
    /// `storage` of your own, or in the `store` that its flags choose. It gets no controller; see `kubewright add controller`
    #[arg(long, num_args = 0..=1, default_missing_value = "storage", require_equals = true, value_name = "storage|store", value_parser = ObjectData::parse)]
    aggregated: Option<ObjectData>,

    /// Scaffold the controller
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    controller: bool,

    /// Make the resource namespaced
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    namespaced: bool,

    /// Plural name of the resource [default: derived from the kind]
    #[arg(long)]
    plural: Option<String>,

    /// Overwrite existing files
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    kubebuilder: Kubebuilder,

    #[command(flatten)]
    plan: PlanArgs,
}

impl Api {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        self.kubebuilder.check()?;
        let gvk = target(self.gvk, self.group, self.version, self.kind)?;
        if let Some(data) = self.aggregated {
            let add = AddAggregatedApi {
                gvk,
                plural: self.plural,
                namespaced: self.namespaced,
                data,
                force: self.force,
            };
            return self.plan.carry_out(&add.plan(&project()?)?, "cargo test");
        }
        let add = AddApi {
            gvk,
            plural: self.plural,
            namespaced: self.namespaced,
            resource: self.resource,
            controller: self.controller,
            force: self.force,
        };
        self.plan.carry_out(&add.plan(&project()?)?, "cargo test")
    }
}
