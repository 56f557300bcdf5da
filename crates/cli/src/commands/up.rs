//! `kubewright up`: the control plane on a socket, until Ctrl-C.
//!
//! Built-in controllers start when the server is ready, so that it is ready no later for them. They reach it without a
//! socket, with a token of their own.

use std::{
    fs,
    io::Write,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Instant, SystemTime},
};

use anyhow::Context;
use clap::Args;
use kubewright_apiserver::{
    auth::TokenFile,
    serve::{ServeOptions, certs::SelfSigned, kubeconfig::Kubeconfig, serve},
};
use kubewright_builtin_controllers::Controllers;
use kubewright_kube_apiserver::{FIRST_REVISION, KubeApiServer, PluginName, ServiceRange};
use kubewright_scaffold::Refusal;
use kubewright_store::{COMPACTION_INTERVAL, MemoryStore};
use serde_json::json;
use tokio::{net::TcpListener, sync::oneshot};

use super::{in_process, planned::Output};

#[derive(Args)]
pub(crate) struct Up {
    /// Where to listen. Port 0 lets the system choose.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6443")]
    listen: SocketAddr,

    /// Where to write the kubeconfig.
    #[arg(long, value_name = "FILE", default_value = "kubeconfig")]
    kubeconfig: PathBuf,

    /// Bearer tokens in kube-apiserver's CSV form: token,user,uid,"group1,group2". Without it, one token is made up.
    #[arg(long, value_name = "FILE")]
    token_auth_file: Option<PathBuf>,

    /// Built-in controllers: `default`, `none`, or a list such as `*,-garbagecollector` or `namespace,serviceaccount`.
    #[arg(
        long,
        value_name = "LIST",
        default_value = "default",
        allow_hyphen_values = true
    )]
    controllers: Controllers,

    /// Range that services get their cluster IPs from.
    #[arg(long, value_name = "CIDR", default_value_t)]
    service_cluster_ip_range: ServiceRange,

    /// Admission plugins to run besides the default ones, as a list of names such as `StorageObjectInUseProtection`.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = implemented_plugin)]
    enable_admission_plugins: Vec<PluginName>,

    /// Admission plugins not to run, as a list of names such as `LimitRanger,ResourceQuota`.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    disable_admission_plugins: Vec<PluginName>,

    /// Reserved for the durable store; this version keeps everything in memory.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

impl Up {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let began = Instant::now();
        let stop = interrupted()?;
        if let Some(dir) = &self.data_dir {
            return Err(Refusal::new(
                format_args!(
                    "--data-dir {} is reserved for the durable store, which this version does not have",
                    dir.display()
                ),
                "leave it out to keep everything in memory",
            )
            .into());
        }
        let listener = TcpListener::bind(self.listen).await.map_err(|e| {
            Refusal::new(
                format_args!("cannot listen on {}: {e}", self.listen),
                "choose another address with --listen, or port 0 to let the system choose",
            )
        })?;
        let address = listener.local_addr()?;
        let (mut tokens, token) = self.tokens()?;
        let own_token = in_process::token(&mut tokens);
        let store = MemoryStore::starting_at(FIRST_REVISION);
        let plane = KubeApiServer::builder()
            .store(Arc::new(store.clone()))
            .authenticator(Arc::new(tokens))
            .address(address.to_string())
            .service_cluster_ip_range(self.service_cluster_ip_range)
            .enable_admission_plugins(self.enable_admission_plugins.iter().copied())
            .disable_admission_plugins(self.disable_admission_plugins.iter().copied())
            .build()
            .await
            .context("the control plane did not start")?;
        let names = [
            address.ip().to_string(),
            "127.0.0.1".into(),
            "localhost".into(),
        ];
        let certificates = SelfSigned::generate(names, SystemTime::now())?;
        let tls = certificates.server_config()?;
        let mut kubeconfig =
            Kubeconfig::new("kubewright", format!("https://{}", reachable(address)));
        kubeconfig.ca_pem = Some(certificates.ca_pem.clone());
        kubeconfig.token = Some(token);
        write_private(&self.kubeconfig, &kubeconfig.to_yaml())?;
        let expiry = tokio::spawn(async move {
            let (upkeep, compaction) = (
                store.run_upkeep(),
                store.run_compaction(COMPACTION_INTERVAL),
            );
            tokio::join!(upkeep, compaction);
        });
        let (url, took) = (reachable(address), began.elapsed().as_millis());
        let file = self.kubeconfig.display();
        say(&match self.output.is_json() {
            true => json!({
                "what": "ready",
                "server": format!("https://{url}"),
                "kubeconfig": file.to_string(),
                "milliseconds": u64::try_from(took).unwrap_or(u64::MAX),
            })
            .to_string(),
            false => format!(
                "kubewright is ready at https://{url} in {took} ms; try: kubectl --kubeconfig {file} get namespaces"
            ),
        })?;
        let server = plane.server().clone();
        let client = in_process::client(server.clone(), &own_token)?;
        let controllers = self.controllers.root_ca(certificates.ca_pem);
        let (tell, told) = oneshot::channel::<()>();
        let controllers = tokio::spawn(async move {
            let told = async { drop(told.await) };
            controllers.run(client, told).await
        });
        let stop = async {
            stop.await;
            drop(tell);
        };
        serve(listener, Some(tls), server, ServeOptions::default(), stop).await?;
        controllers
            .await?
            .context("the built-in controllers failed")?;
        expiry.abort();
        say(&match self.output.is_json() {
            true => json!({"what": "stopped"}).to_string(),
            false => "kubewright has stopped".to_owned(),
        })?;
        Ok(())
    }

    /// The tokens that open the server, and the one for the kubeconfig.
    fn tokens(&self) -> anyhow::Result<(TokenFile, String)> {
        let text = match &self.token_auth_file {
            Some(path) => fs::read_to_string(path)
                .map_err(|e| Refusal::io("read the token file", path, &e))?,
            None => {
                let token = format!("{:032x}", rand::random::<u128>());
                format!("{token},admin,admin,\"system:masters\"\n")
            }
        };
        let unusable = |wrong: &dyn std::fmt::Display| {
            Refusal::new(
                format_args!("the token file cannot be used: {wrong}"),
                "write a line token,user,uid,\"group1,group2\" for each token",
            )
        };
        let tokens = TokenFile::parse(&text).map_err(|e| unusable(&e))?;
        let first = text
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty() && !line.starts_with('#'))
            .and_then(|line| line.split(',').next())
            .map(|token| token.trim_matches('"').to_owned())
            .ok_or_else(|| unusable(&"it has no token"))?;
        Ok((tokens, first))
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

/// Prints a line at once. Nobody listening any more is no reason to stop.
pub(super) fn say(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// An address that a client on this machine can connect to.
fn reachable(address: SocketAddr) -> SocketAddr {
    let mut reachable = address;
    if address.ip().is_unspecified() {
        reachable.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    reachable
}

/// Writes a file that only its owner can read: it holds a token.
pub(super) fn write_private(path: &Path, text: &str) -> Result<(), Refusal> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|e| Refusal::io("write", path, &e))
}

/// Ready when the process is told to stop: by Ctrl-C, or by the signal that service managers send. It listens from now on, so
/// that a signal that comes before anybody waits is not lost.
#[cfg(unix)]
pub(super) fn interrupted() -> anyhow::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for signals")?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Ready when the process is told to stop, by Ctrl-C.
#[cfg(not(unix))]
pub(super) fn interrupted() -> anyhow::Result<impl Future<Output = ()>> {
    Ok(async { drop(tokio::signal::ctrl_c().await) })
}
