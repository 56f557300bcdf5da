//! `kubewright run`: builds the operator of the project and runs it here, against a cluster.
//!
//! The operator takes the place of this process where the system can do that: signals and the exit code are its own.

use std::{ffi::OsString, process::Command, time::Duration};

use clap::Args;
use kubewright_scaffold::Refusal;

use super::{
    apply::{Applier, Report},
    cluster::Cluster,
    operator::{OperatorFlags, definitions},
};

/// How long a definition may take.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Args)]
pub(crate) struct Run {
    #[command(flatten)]
    cluster: Cluster,

    #[command(flatten)]
    operator: OperatorFlags,

    /// Installs the definitions first, as `kubewright install` does.
    #[arg(long)]
    install: bool,

    /// Arguments for the operator.
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

impl Run {
    /// Prepares, and gives the command that is to run.
    pub(crate) async fn prepare(self) -> anyhow::Result<Command> {
        let client = self.cluster.client().await?;
        let program = self.operator.program(false)?;
        if self.install {
            let described = program.describe()?;
            let report = Report::new(false);
            Applier::new(client, &described.name, PATIENCE, &report)
                .apply(definitions(&described)?)
                .await?;
        }
        let mut command = Command::new(&program.executable);
        command.args(self.cluster.flags()).args(self.arguments);
        Ok(command)
    }
}

/// Runs a command in the place of this process. The refusal is for a command that cannot be run.
#[cfg(unix)]
pub(crate) fn become_(
    mut command: Command,
    refusal: impl FnOnce(&std::io::Error) -> Refusal,
) -> anyhow::Result<()> {
    // It only comes back if it could not be done.
    let error = std::os::unix::process::CommandExt::exec(&mut command);
    Err(refusal(&error).into())
}

/// Runs a command, and ends as it ends. The refusal is for a command that cannot be run.
#[cfg(not(unix))]
pub(crate) fn become_(
    mut command: Command,
    refusal: impl FnOnce(&std::io::Error) -> Refusal,
) -> anyhow::Result<()> {
    let status = command.status().map_err(|e| refusal(&e))?;
    match status.code() {
        Some(0) => Ok(()),
        code => {
            let code = code.and_then(|code| u8::try_from(code).ok());
            Err(super::exit::Exit(code.unwrap_or(1)).into())
        }
    }
}

/// An operator that cannot be run.
pub(crate) fn not_run(error: &std::io::Error) -> Refusal {
    Refusal::new(
        format_args!("the operator cannot be run: {error}"),
        "check that it is there and that you may run it",
    )
}
