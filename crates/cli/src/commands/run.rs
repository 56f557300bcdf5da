//! `kubewright run`: builds the operator and runs it on this machine against a cluster.
//!
//! CRDs with conversion are applied, since they hold the address of the operator's conversion endpoint. Admission webhooks are
//! registered as long as the operator runs.
//!
//! Kinds that the operator serves itself are led to it.
//!
//! On Unix an operator that the cluster does not call replaces this process, so signals and the exit code are its own. Otherwise this
//! process stays, to remove their registration at the end.

use std::{
    ffi::OsString,
    path::PathBuf,
    pin::pin,
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use clap::Args;
use kube::Client;
use kubewright_operator::Model;
use serde_json::Value;

use crate::{
    cluster::{
        Cluster,
        apply::{Applier, Report},
    },
    exit::Exit,
    operator::{
        OperatorFlags, definitions,
        webhooks::{
            Endpoint, LocalWebhooks, Whereabouts, api_names, names, not_called, not_served,
        },
    },
    output::{Output, warn},
    process::not_run,
    project::{project, session::Session},
    signal::interrupted,
};

/// The time limit for a CRD to be established.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The interval at which the operator is checked.
const EVERY: Duration = Duration::from_millis(20);

/// The time limit for the operator to stop by itself.
const GRACE: Duration = Duration::from_secs(45);

/// The exit code of a command that was interrupted before the operator ran, as of a shell.
const INTERRUPTED: u8 = 130;

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
    /// Prepares the cluster and runs the operator. Returns the command if nothing is left to do but to run it, in the place of
    /// this process.
    pub(crate) async fn run(self) -> anyhow::Result<Option<Command>> {
        let client = self.cluster.client().await?;
        let program = self.operator.program(self.output.is_json())?;
        let model = program.describe()?;
        let mut command = Command::new(&program.executable);
        command.args(self.cluster.flags());
        if !model.is_called() {
            let flags = self.prepare(&client, model, None).await?.flags;
            command.args(flags).args(self.arguments);
            return Ok(Some(command));
        }
        let mut stop = pin!(interrupted()?);
        let whereabouts = match self.cluster.is_here().await? {
            true => Whereabouts::Here,
            false => Whereabouts::Elsewhere,
        };
        let mut webhooks =
            LocalWebhooks::prepare(client.clone(), whereabouts, &directory()).await?;
        let prepared = tokio::select! {
            prepared = self.prepare(&client, model, Some(&mut webhooks)) => prepared,
            () = &mut stop => Err(Exit(INTERRUPTED).into()),
        };
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                end(&mut webhooks).await;
                return Err(error);
            }
        };
        command.args(prepared.flags).args(&self.arguments);
        if let Some(why) = webhooks.why_not() {
            let why = format!("it cannot call this machine: {why}");
            not_called(&prepared.model, &why).into_iter().for_each(warn);
            not_served(&prepared.model, &why).into_iter().for_each(warn);
            return Ok(Some(command));
        }
        let ended = supervise(command, &mut webhooks, &prepared.model, stop).await;
        match exit_code(ended?) {
            0 => Ok(None),
            code => Err(Exit(code).into()),
        }
    }

    /// Applies the CRDs: all of them, or those whose objects this machine converts.
    async fn prepare(
        &self,
        client: &Client,
        mut model: Model,
        webhooks: Option<&mut LocalWebhooks>,
    ) -> anyhow::Result<Prepared> {
        let flags = match webhooks {
            Some(webhooks) => webhooks.configure(&mut model).await?,
            None => Vec::new(),
        };
        let mut applied = model.clone();
        if !self.install {
            let converted_here = |definition: &Value| {
                let config = &definition["spec"]["conversion"]["webhook"]["clientConfig"];
                !config["url"].is_null()
            };
            applied.crds.retain(converted_here);
        }
        let json = self.output.is_json();
        let report = Report::new(json);
        let outcomes = Applier::new(client.clone(), &model.name, TIMEOUT, &report)
            .apply(definitions(&applied)?)
            .await?;
        if json {
            self.output.value(&Report::value(&outcomes))?;
        }
        Ok(Prepared { flags, model })
    }
}

/// An operator that is ready to run.
struct Prepared {
    /// The flags that make it serve its webhooks.
    flags: Vec<OsString>,
    model: Model,
}

/// Runs the operator until it ends or this process is interrupted. The cluster calls its webhooks meanwhile.
async fn supervise(
    mut command: Command,
    webhooks: &mut LocalWebhooks,
    model: &Model,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<ExitStatus> {
    // Closing its input stops the operator, also when this process is killed.
    command.arg("--until-stdin-closes").stdin(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            end(webhooks).await;
            return Err(not_run(&error).into());
        }
    };
    let status = tokio::select! {
        status = called(&mut child, webhooks, model) => Some(status),
        () = stop => None,
    };
    end(webhooks).await;
    drop(child.stdin.take());
    let status = match status {
        Some(status) => status,
        None => match tokio::time::timeout(GRACE, ended(&mut child)).await {
            Ok(status) => status,
            Err(_) => child.kill().and_then(|()| child.wait()),
        },
    };
    Ok(status?)
}

/// Registers the webhooks once the operator serves them, and waits until it ends.
async fn called(
    child: &mut Child,
    webhooks: &mut LocalWebhooks,
    model: &Model,
) -> std::io::Result<ExitStatus> {
    if model.serves_aggregated_apis() {
        while !is_served(webhooks.apis_endpoint()).await {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            tokio::time::sleep(EVERY).await;
        }
        match webhooks.register_apis(model).await {
            Ok(_) => warn(format_args!(
                "note: the cluster serves {} from this machine until the operator ends",
                api_names(model)
            )),
            Err(error) => warn(format_args!(
                "note: {} are not served: {error}",
                api_names(model)
            )),
        }
    }
    if !model.serves_webhooks() {
        return ended(child).await;
    }
    let url = loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        match webhooks.endpoint() {
            Some(endpoint) if endpoint.is_served().await => break endpoint.url(),
            _ => tokio::time::sleep(EVERY).await,
        }
    };
    match webhooks.register(model).await {
        Ok(_) => warn(format_args!(
            "note: the cluster calls the webhooks of the operator at {url} until it ends: {}",
            names(model)
        )),
        Err(error) => warn(format_args!("note: the webhooks are not called: {error}")),
    }
    ended(child).await
}

async fn is_served(endpoint: Option<&Endpoint>) -> bool {
    match endpoint {
        Some(endpoint) => endpoint.is_served().await,
        None => false,
    }
}

/// Waits until the operator has ended.
async fn ended(child: &mut Child) -> std::io::Result<ExitStatus> {
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(status),
            None => tokio::time::sleep(EVERY).await,
        }
    }
}

/// Removes everything that points to this machine from the cluster, and reports what could not be removed.
async fn end(webhooks: &mut LocalWebhooks) {
    for error in webhooks.end().await {
        warn(format_args!("note: {error}"));
    }
}

/// Returns the exit code that a shell would report.
fn exit_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = None;
    let code = status.code().or(signal.map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Returns the directory for the certificate of the operator: in the project, or a temporary one outside a project.
fn directory() -> PathBuf {
    match project() {
        Ok(project) => Session::directory(project.root()).join("run"),
        Err(_) => std::env::temp_dir().join(format!("kubewright-run-{}", std::process::id())),
    }
}
