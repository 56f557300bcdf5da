//! `kubewright run`: builds the operator of the project and runs it here, against a cluster.
//!
//! Kinds whose versions it converts have their definitions applied, since those tell the cluster where it converts.
//!
//! The operator takes the place of this process where the system can do that: signals and the exit code are its own.

use std::{ffi::OsString, path::PathBuf, process::Command, time::Duration};

use clap::Args;
use kubewright_scaffold::Refusal;
use serde_json::Value;

use super::{
    apply::{Applier, Report},
    cluster::Cluster,
    conversion::{Endpoint, note},
    operator::{OperatorFlags, definitions},
    planned::{Output, project},
    session::Session,
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

    /// How to tell of the definitions. What the operator writes is its own.
    #[command(flatten)]
    output: Output,

    /// Arguments for the operator.
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

impl Run {
    /// Prepares, and gives the command that is to run.
    pub(crate) async fn prepare(self) -> anyhow::Result<Command> {
        let client = self.cluster.client().await?;
        let json = self.output.is_json();
        let program = self.operator.program(json)?;
        let mut described = program.describe()?;
        let mut command = Command::new(&program.executable);
        command.args(self.cluster.flags());
        if !described.conversions.is_empty() {
            if self.cluster.is_here().await? {
                let endpoint = Endpoint::prepare(&directory()).await?;
                endpoint.tell(&mut described);
                command.args(endpoint.flags());
            } else if let Some(note) = note(&described) {
                eprintln!("{note}");
            }
        }
        if !self.install {
            // Only what says where the operator converts.
            let told = |definition: &Value| !definition["spec"]["conversion"].is_null();
            described.crds.retain(told);
        }
        let report = Report::new(json);
        let outcomes = Applier::new(client, &described.name, PATIENCE, &report)
            .apply(definitions(&described)?)
            .await?;
        if json {
            self.output.value(&Report::value(&outcomes))?;
        }
        command.args(self.arguments);
        Ok(command)
    }
}

/// Where the certificate of the operator is kept: with the project, or for an operator without one, where nothing is kept for
/// long.
fn directory() -> PathBuf {
    match project() {
        Ok(project) => Session::directory(project.root()).join("run"),
        Err(_) => std::env::temp_dir().join(format!("kubewright-run-{}", std::process::id())),
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
