//! The program `kube-apiserver`: a cluster without controllers, configured by kube-apiserver's flags.

use kubewright_cluster::{Cluster, Error as ClusterError, Tokens};
use kubewright_scaffold::Error;

use super::{apiserver_flags, apiserver_options::Options, flags, flags::Flags};
use crate::{
    in_runtime,
    output::{say, say_line, warn},
    signal::interrupted,
};

const ABOUT: &str = "Stands in for kube-apiserver in tests: an API server of kubewright, which keeps its objects in memory.";

const VERSION: &str = concat!("Kubernetes v1.36.0+kubewright.", env!("CARGO_PKG_VERSION"));

pub(super) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let asks_for = |flags: &[&str]| arguments.iter().any(|a| flags.contains(&a.as_str()));
    if asks_for(&["--help", "-h"]) {
        return say(&flags::help(ABOUT, apiserver_flags::all()));
    }
    if asks_for(&["--version", "--version=true"]) {
        return say_line(VERSION);
    }
    let flags = Flags::parse("kube-apiserver", apiserver_flags::find, arguments);
    let flags = flags.map_err(|message| Error::new(message, "see kube-apiserver --help"))?;
    for warning in &flags.warnings {
        warn(format_args!("warning: {warning}"));
    }
    in_runtime(serve(Options::read(&flags)?))
}

async fn serve(options: Options) -> anyhow::Result<()> {
    let stop = interrupted()?;
    let address = options.address;
    let audit = options.audit;
    let cluster = Cluster::builder()
        .listen(address)
        .tokens(options.tokens.unwrap_or_else(Tokens::generate))
        .serving_certificate(options.certificate)
        .api_server(|server| {
            let server = (options.server)(server);
            match &audit {
                Some(audit) => audit.record(server),
                None => server,
            }
        })
        .start()
        .await
        .map_err(|e| match e {
            ClusterError::Listen { .. } => {
                anyhow::Error::from(Error::new(e, "choose another --secure-port"))
            }
            e => e.into(),
        })?;
    warn(format_args!(
        "kube-apiserver of kubewright: serving on {address}"
    ));
    stop.await;
    cluster.stop().await?;
    if let Some(audit) = audit {
        audit.flush();
    }
    Ok(())
}
