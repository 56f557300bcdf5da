//! `kubewright create subresource` and `kubewright add subresource`: scaffold a subresource of a kind that the program serves itself.

use clap::Args;
use kubewright_scaffold::{AddSubresource, Gvk, SubresourceType};

use crate::{output::PlanArgs, project::project};

#[derive(Args)]
pub(crate) struct Subresource {
    /// Name of the subresource, e.g. orbit
    name: String,

    /// Kind: one of `kubewright create api --aggregated`
    #[arg(long = "for", value_name = "GROUP/VERSION/KIND")]
    target: String,

    #[command(flatten)]
    type_: Type,

    /// Overwrite existing files
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    plan: PlanArgs,
}

/// The type of the subresource. Without any of these, it is an object that can be read.
#[derive(Args)]
#[group(multiple = false)]
struct Type {
    /// Scaffold an object that can be read and replaced, such as that of deployments/scale
    #[arg(long)]
    update: bool,

    /// Scaffold an action, such as that of pods/binding
    #[arg(long)]
    create: bool,

    /// Scaffold a stream of bytes, such as that of pods/log
    #[arg(long)]
    log: bool,

    /// Scaffold standard streams, such as those of pods/exec
    #[arg(long)]
    exec: bool,

    /// Scaffold connections to ports, such as those of pods/portforward
    #[arg(long)]
    port_forward: bool,
}

impl Subresource {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let add = AddSubresource {
            target: Gvk::parse(&self.target)?,
            name: self.name,
            type_: match self.type_ {
                Type { update: true, .. } => SubresourceType::Update,
                Type { create: true, .. } => SubresourceType::Create,
                Type { log: true, .. } => SubresourceType::Log,
                Type { exec: true, .. } => SubresourceType::Exec,
                Type {
                    port_forward: true, ..
                } => SubresourceType::PortForward,
                _ => SubresourceType::Object,
            },
            force: self.force,
        };
        self.plan.carry_out(&add.plan(&project()?)?, "cargo test")
    }
}
