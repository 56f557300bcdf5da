//! `kubewright audit`: compares the declarations of an operator with its requests.

mod compare;
mod rbac;

use clap::{Args, Subcommand};

#[derive(Args)]
pub(crate) struct Audit {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Compare the operator's permissions with those that its tests and `kubewright dev` needed
    Rbac(rbac::Rbac),
}

impl Audit {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self.what {
            What::Rbac(rbac) => rbac.run(),
        }
    }
}
