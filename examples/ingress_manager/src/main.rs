//! A controller as a program.
//!
//! Without arguments it runs on a cluster in this process with an annotated Service, and prints the kubectl command to look at
//! it; with `--context` or `--kubeconfig` it runs on a cluster of your kubeconfig, and with `--in-cluster` on the cluster it is
//! deployed to (with the permissions in `config/rbac.yaml`). Ctrl-C stops it.
//!
//! ```text
//! cargo run -p ingress_manager
//! cargo run -p ingress_manager -- --context kind-kind --leader-elect
//! ```

use std::path::Path;

use anyhow::Context;
use clap::Parser;
use ingress_manager::ingress::ANNOTATION;
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use kube::{Api, Client, ResourceExt, api::PostParams};
use kubewright_controller::{
    Manager, Routes,
    flags::{LogFormat, ManagerFlags},
    leader_election::ElectionConfig,
};
use kubewright_testing::{Endpoint, TestCluster};
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

/// Maintains an Ingress for every Service with the annotation ingress/http.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    manager: ManagerFlags,

    /// Run on the cluster that the environment names: the one this program runs in, or the current context.
    #[arg(long)]
    in_cluster: bool,
}

/// The default of `--leader-election-id`.
const LEASE: &str = "ingress-manager";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Arguments {
        manager: flags,
        in_cluster,
    } = Arguments::parse();
    log(&flags)?;
    let elsewhere = in_cluster || flags.context.is_some() || flags.kubeconfig.is_some();
    if elsewhere {
        let config = flags.config().await.context("which cluster is meant?")?;
        return run(Client::try_from(config)?, &flags).await;
    }
    let cluster = TestCluster::start().await;
    let _endpoint = join_in(&cluster).await?;
    run(cluster.client(), &flags).await
}

/// Runs the controller until Ctrl-C.
async fn run(client: Client, flags: &ManagerFlags) -> anyhow::Result<()> {
    let home = client.default_namespace().to_owned();
    let mut builder = Manager::builder(client);
    if let Some(namespace) = &flags.namespace {
        builder = builder.namespaces([namespace]);
    }
    if flags.leader_elect {
        let lease = flags.leader_election_id.as_deref().unwrap_or(LEASE);
        let namespace = flags.leader_election_namespace.clone().unwrap_or(home);
        builder = builder.leader_election(ElectionConfig::new(lease, namespace));
    }
    let manager = builder.build()?;
    ingress_manager::builder()
        .warm_up(true)
        .build(&manager, ingress_manager::reconcile)?;

    if let Some(address) = flags.health_probe_bind_address() {
        let checks = (manager.healthz().clone(), manager.readyz().clone());
        let listener = bind(&address, "--health-probe-bind-address").await?;
        manager.serve(listener, Routes::new().health(checks.0, checks.1))?;
    }
    if let Some(address) = flags.metrics_bind_address() {
        let listener = bind(&address, "--metrics-bind-address").await?;
        manager.serve(listener, manager.routes())?;
    }
    manager
        .run(async {
            // Without a signal handler the program stops at once.
            let _ = tokio::signal::ctrl_c().await;
        })
        .await?;
    Ok(())
}

async fn bind(address: &str, flag: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}: choose another {flag}, or 0"))
}

/// Serves the cluster on a socket, creates a Service, and prints how to look at it.
async fn join_in(cluster: &TestCluster) -> anyhow::Result<Endpoint> {
    let services: Api<Service> = Api::default_namespaced(cluster.client());
    let mut web = Service::default();
    web.metadata.name = Some("web".into());
    web.annotations_mut()
        .insert(ANNOTATION.into(), "true".into());
    let port = ServicePort {
        port: 80,
        ..ServicePort::default()
    };
    web.spec = Some(ServiceSpec {
        ports: Some(vec![port]),
        ..ServiceSpec::default()
    });
    services.create(&PostParams::default(), &web).await?;
    let endpoint = cluster.listen().await?;
    let kubeconfig = Path::new("ingress_manager.kubeconfig");
    endpoint.write_kubeconfig(kubeconfig)?;
    println!(
        "try: kubectl --kubeconfig {} get services,ingresses",
        kubeconfig.display()
    );
    Ok(endpoint)
}

fn log(flags: &ManagerFlags) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&flags.log_level)?;
    let log = tracing_subscriber::fmt().with_env_filter(filter);
    match flags.log_format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
    Ok(())
}
