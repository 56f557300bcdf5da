//! `kubewright run`: builds the operator and runs it on this machine against a cluster.
//!
//! CRDs with conversion are applied, since they hold the address of the operator's conversion endpoint.
//!
//! On Unix the operator replaces this process, so signals and the exit code are its own.

use std::{ffi::OsString, path::PathBuf, process::Command, time::Duration};

use clap::Args;
use serde_json::Value;

use crate::{
    cluster::{
        Cluster,
        apply::{Applier, Report},
    },
    operator::{
        OperatorFlags,
        conversion::{Endpoint, note},
        definitions,
    },
    output::{Output, warn},
    project::{project, session::Session},
};

/// The time limit for a CRD to be established.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Args)]
pub(crate) struct Run {
    #[command(flatten)]
    cluster: Cluster,

    #[command(flatten)]
    operator: OperatorFlags,

    /// Install the CRDs first, like `kubewright install`
    #[arg(long)]
    install: bool,

    /// The output about CRDs. The output of the operator is not affected.
    #[command(flatten)]
    output: Output,

    /// Arguments for the operator
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

impl Run {
    /// Prepares the cluster and returns the command to run.
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
                endpoint.configure(&mut described);
                command.args(endpoint.flags());
            } else if let Some(note) = note(&described) {
                warn(note);
            }
        }
        if !self.install {
            // Only CRDs with a conversion endpoint are applied.
            let converted = |definition: &Value| !definition["spec"]["conversion"].is_null();
            described.crds.retain(converted);
        }
        let report = Report::new(json);
        let outcomes = Applier::new(client, &described.name, TIMEOUT, &report)
            .apply(definitions(&described)?)
            .await?;
        if json {
            self.output.value(&Report::value(&outcomes))?;
        }
        command.args(self.arguments);
        Ok(command)
    }
}

/// Returns the directory for the certificate of the operator: in the project, or a temporary one outside a project.
fn directory() -> PathBuf {
    match project() {
        Ok(project) => Session::directory(project.root()).join("run"),
        Err(_) => std::env::temp_dir().join(format!("kubewright-run-{}", std::process::id())),
    }
}
