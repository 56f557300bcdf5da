//! `kubewright up`: a cluster on a socket, until Ctrl-C.

use std::{net::SocketAddr, path::PathBuf, time::Instant};

use anyhow::Context;
use clap::Args;
use kubewright_cluster::{Cluster, ClusterUser, Error as ClusterError, Lab, Tokens, TokensError};
use kubewright_kube_apiserver::{PluginName, ServiceRange};
use kubewright_ledger::Ledger;
use kubewright_scaffold::Error;
use serde_json::json;

use crate::{
    cluster::{
        audit::AuditLog,
        authorization::Authorization,
        clock::ClockRate,
        console::{ConsoleArgs, Subject, Where, open_on_key},
        data::DataArgs,
        etcd::EtcdArgs,
        parts::Parts,
    },
    output::{Output, say_line, warn},
    signal::interrupted,
};

#[derive(Args)]
pub(crate) struct Up {
    /// Address to listen on; port 0 lets the system choose
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6443")]
    listen: SocketAddr,

    /// Kubeconfig file to write
    #[arg(long, value_name = "FILE", default_value = "kubeconfig")]
    kubeconfig: PathBuf,

    /// Bearer tokens in the CSV format of kube-apiserver: token,user,uid,"group1,group2" [default: one generated token]
    #[arg(long, value_name = "FILE")]
    token_auth_file: Option<PathBuf>,

    /// User to write a kubeconfig context for, besides the administrator: `alice`, `alice=group1,group2` or
    /// `system:serviceaccount:NAMESPACE:NAME`, which is created
    #[arg(long = "as", value_name = "USER")]
    users: Vec<ClusterUser>,

    #[command(flatten)]
    authorization: Authorization,

    #[command(flatten)]
    parts: Parts,

    #[command(flatten)]
    clock: ClockRate,

    /// CIDR range that services get their cluster IPs from
    #[arg(long, value_name = "CIDR", default_value_t)]
    service_cluster_ip_range: ServiceRange,

    /// Admission plugins to run besides the default ones
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = implemented_plugin)]
    enable_admission_plugins: Vec<PluginName>,

    /// Admission plugins not to run, e.g. `LimitRanger,StorageObjectInUseProtection`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    disable_admission_plugins: Vec<PluginName>,

    /// File with the audit policy, of audit.k8s.io/v1
    #[arg(long, value_name = "FILE", requires = "audit_log_path")]
    audit_policy_file: Option<PathBuf>,

    /// File to append audit events to, one JSON object on each line; `-` is standard output
    #[arg(long, value_name = "FILE", requires = "audit_policy_file")]
    audit_log_path: Option<PathBuf>,

    /// Do not record who wrote what and why
    #[arg(long)]
    no_ledger: bool,

    /// Add a page to the console with which faults are injected, the clock is moved and the cluster is forked
    #[arg(long, conflicts_with_all = ["no_console", "clock_rate"])]
    lab: bool,

    #[command(flatten)]
    data: DataArgs,

    #[command(flatten)]
    etcd: EtcdArgs,

    #[command(flatten)]
    console: ConsoleArgs,

    #[command(flatten)]
    output: Output,
}

impl Up {
    /// Returns the rate of the cluster's time, which decides on the runtime.
    pub(crate) fn clock(&self) -> ClockRate {
        self.clock
    }

    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let began = Instant::now();
        let stop = interrupted()?;
        let audit = match (&self.audit_policy_file, &self.audit_log_path) {
            (Some(policy), Some(log)) => Some(AuditLog::open(policy, log)?),
            _ => None,
        };
        let mut builder = Cluster::builder();
        if let Some(tokens) = self.tokens()? {
            builder = builder.tokens(tokens);
        }
        if let Some(directory) = self.data.directory() {
            builder = builder.data_dir(directory);
        }
        let mut builder = self.clock.add_to(self.etcd.add_to(builder).await?);
        let lab = self.lab.then(Lab::new);
        if let Some(lab) = &lab {
            builder = builder.lab(lab.clone());
        }
        let mut cluster = self
            .parts
            .add_to(builder, self.etcd.objects())
            .listen(self.listen)
            .authorization(self.authorization.modes()?)
            .ledger((!self.no_ledger).then(Ledger::new))
            .api_server(|server| {
                let server = match &audit {
                    Some(audit) => audit.record(server),
                    None => server,
                };
                server
                    .service_cluster_ip_range(self.service_cluster_ip_range)
                    .enable_admission_plugins(self.enable_admission_plugins.iter().copied())
                    .disable_admission_plugins(self.disable_admission_plugins.iter().copied())
            })
            .start()
            .await
            .map_err(|e| match e {
                ClusterError::Listen { .. } => Error::new(
                    e,
                    "choose another address with --listen; port 0 lets the system choose",
                )
                .into(),
                e => anyhow::Error::from(e),
            })?;
        let mut contexts = Vec::new();
        for user in &self.users {
            contexts.push(cluster.credential(user).await?);
        }
        let console = self
            .console
            .start(
                cluster.direct_client(),
                Subject::new("kubewright up", Where::Here(lab)),
            )
            .await?;
        let endpoint = cluster
            .endpoint_mut()
            .context("the cluster does not listen")?;
        contexts
            .into_iter()
            .for_each(|user| endpoint.add_user(user));
        if !endpoint.address().ip().is_loopback() {
            let whom = match self.authorization.is_open() {
                true => "anyone with a token of this cluster",
                false => "anyone with the token of its kubeconfig",
            };
            warn(format_args!(
                "warning: {} is reachable from other machines; {whom} has full access to it",
                endpoint.address()
            ));
        }
        let path = &self.kubeconfig;
        let written = endpoint.write_kubeconfig(path);
        written.map_err(|e| Error::io("write", path, &e))?;
        let (url, took) = (endpoint.url(), began.elapsed().as_millis());
        let file = path.display();
        say_line(&match self.output.is_json() {
            true => json!({
                "what": "ready",
                "server": url,
                "kubeconfig": file.to_string(),
                "milliseconds": u64::try_from(took).unwrap_or(u64::MAX),
                "console": console.as_ref().map(|console| console.url()),
            })
            .to_string(),
            false => format!(
                "kubewright is ready at {url} in {took} ms; try: kubectl --kubeconfig {file} get namespaces"
            ),
        })?;
        if let Some(console) = &console
            && !self.output.is_json()
        {
            say_line(&format!("console  {}", console.url()))?;
        }
        tokio::select! {
            () = stop => {}
            () = open_on_key(console.as_ref()) => {}
        }
        drop(console);
        cluster.stop().await?;
        if let Some(audit) = audit {
            audit.flush();
        }
        say_line(&match self.output.is_json() {
            true => json!({"what": "stopped"}).to_string(),
            false => "kubewright has stopped".to_owned(),
        })?;
        Ok(())
    }

    fn tokens(&self) -> anyhow::Result<Option<Tokens>> {
        let Some(path) = &self.token_auth_file else {
            return Ok(None);
        };
        let tokens = Tokens::read(path).map_err(|e| match e {
            TokensError::Read(e) => Error::io("read the token file", path, &e),
            e => Error::new(
                format_args!("invalid token file: {e}"),
                "use one line token,user,uid,\"group1,group2\" for each token",
            ),
        })?;
        Ok(Some(tokens))
    }
}

/// Parses the name of an admission plugin that this server has.
fn implemented_plugin(text: &str) -> Result<PluginName, String> {
    let name: PluginName = text.parse().map_err(|e| format!("{e}"))?;
    match name.is_implemented() {
        true => Ok(name),
        false => Err(format!("admission plugin {name} is not implemented")),
    }
}
